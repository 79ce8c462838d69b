// Calls with an Idempotency-Key, and a database that fails under one.
import { failingBatches, withDatabase } from "../support/variants.ts";
import { env, type Reply, type World } from "../support/world.ts";

type Options = { key?: string; rawBody?: string };
export const register = (of: World, idempotencyKey: string, body: unknown, { key = of.key, rawBody }: Options = {}) =>
  of.call("POST", "/v1/principals", {
    key,
    headers: { "Idempotency-Key": idempotencyKey },
    ...(rawBody === undefined ? { body } : { rawBody }),
  });

export const activate = (of: World, did: string, idempotencyKey: string, key = of.key) =>
  of.call("POST", `/v1/agents/${did}/activate`, { key, headers: { "Idempotency-Key": idempotencyKey } });

export const isReplay = (reply: Reply) => reply.headers.get("idempotent-replayed") === "true";

export const withRef = async (externalRef: unknown): Promise<number> => {
  const { results } = await env.DB.prepare("select principal_id from principals where external_ref = ?")
    .bind(externalRef)
    .all();
  return results.length;
};

/** Fails the database once, at the second batch, which is the commit of a call that has read. */
export const failingCommit = (world: World, moment: "before" | "after") =>
  withDatabase(
    world,
    failingBatches(env.DB, (batch) => (batch === 2 ? moment : "never")),
  );
