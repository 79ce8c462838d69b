// The object that records parts of what fell due in a sandbox (ACC-28).
import { buildDeps, type Env } from "../context.ts";
import { recordPart } from "../jobs/run.ts";
import { type DuePart, type RecordedPart, SandboxObject } from "../objects/sandbox-object.ts";
import { DUE_KINDS } from "./due-kinds.ts";

export class SandboxRecorder extends SandboxObject<Env> {
  async record({ recorder: name, ids, ahead }: DuePart): Promise<RecordedPart> {
    const kind = DUE_KINDS.find(({ recorder }) => recorder.name === name);
    // The call is of a version with other recorders.
    if (!kind) return { done: 0, failed: 0, left: [] };
    const deps = buildDeps(this.env, this.env.ISSUER, { now: () => Date.now() + ahead, ahead: () => ahead });
    const { done, failed, left } = await recordPart(deps, kind.recorder, ids);
    return { done, failed, left: [...left] };
  }
}
