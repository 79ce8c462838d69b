// Signs heads of the directory's feeds, in each minute in which something has changed, and reads them (DIR-14).
import type { ManagementCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { isAfterPosition } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { SECOND_MS } from "../core/limits.ts";
import { ENVIRONMENTS, type Environment, isEnvironment } from "../core/vocabulary.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { EachJob, Recorded } from "../jobs/job.ts";
import { hashLog } from "../journal/running-log.ts";
import { signDirectoryHead } from "../protocol/directory-head.ts";
import { buildFeedLog } from "./follow.ts";
import { REAL_TIME, toHeadView } from "./list.ts";
import type { DirectoryHead } from "./responses.ts";
import type { HeadQuery } from "./schema.ts";
import { findFeed, findHead, findUnsignedSince, insertDirectoryHead } from "./store.ts";

export const signDirectoryHeads: EachJob = {
  kind: "each",
  name: "sign_directory_heads",
  // A feed that was never hashed sends some forty statements (JOB-12).
  part: 1,
  find: async ({ db }, after) => {
    const { sandbox, production } = await readBatch(db, {
      sandbox: findUnsignedSince(db, "sandbox"),
      production: findUnsignedSince(db, "production"),
    });
    const since = { sandbox, production };
    return ENVIRONMENTS.flatMap((id) => (since[id] === null ? [] : [{ at: since[id], id }])).filter(
      isAfterPosition(after),
    );
  },
  record: (deps, id) => (isEnvironment(id) ? signHead(deps, id) : Promise.resolve(false)),
};

/** Throws if the feed has a gap, after it has signed the records before the gap. */
async function signHead(deps: Deps, environment: Environment): Promise<Recorded> {
  const { db, clock, config } = deps;
  // Taken before the records are read: the head covers all records that were committed by this instant.
  const now = clock.now();
  const { seq, hash, more, missing } = await hashLog(deps, buildFeedLog(environment));
  if (more) return "more";
  const { feed } = await readBatch(db, { feed: findFeed(db, environment) });
  const headSeq = feed?.headSeq ?? 0;
  if (seq > headSeq) {
    const { signing } = await deps.ca();
    const claims = { iss: config.issuer, environment, seq, hash, iat: Math.floor(now / SECOND_MS) };
    const head = { environment, seq, hash, signedAt: now, jws: await signDirectoryHead(claims, signing) };
    await commit(db, insertDirectoryHead(db, head, headSeq));
  }
  if (missing !== null) throw new Error(`record ${missing} of the ${environment} directory's feed is missing`);
  return seq > headSeq;
}

export async function getDirectoryHead(call: ManagementCall, { seq }: HeadQuery): Promise<DirectoryHead> {
  const { head } = await call.read({ head: findHead(call.db, call.environment, seq) }, REAL_TIME);
  if (!head) throw new ServiceError("not_found", { message: "No such head has been signed yet." });
  return toHeadView(head);
}
