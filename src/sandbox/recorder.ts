// The durable object that records parts of what fell due in a sandbox (ACC-28).
import { buildDeps, type Env } from "../context.ts";
import { recordPart } from "../jobs/run.ts";
import { type DuePart, SandboxObject } from "../objects/durable-objects.ts";
import { DUE_KINDS } from "./due.ts";

export class SandboxRecorder extends SandboxObject<Env> {
  async record({ recorder: name, ids, ahead }: DuePart): Promise<string[]> {
    const kind = DUE_KINDS.find(({ recorder }) => recorder.name === name);
    // The caller runs a version with other recorders.
    if (!kind) return [];
    const deps = buildDeps(this.env, this.env.ISSUER, { now: () => Date.now() + ahead, ahead: () => ahead });
    const record = (atOnce?: number) => recordPart(deps, kind.recorder, ids, atOnce);
    const { left } = kind.inOrder ? await this.inTurn(() => record(1)) : await record();
    return [...left];
  }
}
