// Acts on a principal, and other calls at the same moment (PRN-16, PRN-18): no agent is active under a principal that is not.
import { eq } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { openIntent, seller } from "../payments/support.ts";
import { isWhole } from "../support/scale.ts";
import { agentBody, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { inStatus, outcome, storedAgent } from "./account-support.ts";

const RACES = isWhole() ? 50 : 12;

let world: World;
let other: World;
beforeAll(async () => {
  other = await createWorld();
});
beforeEach(async () => {
  world = await createWorld();
  // Removes cascades that an earlier test left unfinished.
  await world.deps.db.delete(walks);
});

const act = (principalId: string, verb: string, body?: unknown, of = world): Promise<Reply> =>
  of.call("POST", `/v1/principals/${principalId}/${verb}`, body === undefined ? {} : { body });
const read = async (principalId: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/principals/${principalId}`), 200);
const principalOf = async (did: string): Promise<string> => (await storedAgent(world, did))?.principalId ?? "";

describe("at the same moment", () => {
  it(`${RACES} suspensions and activations leave no agent ACTIVE under a principal that is not`, async () => {
    const principalId = await world.principal();
    const body = { ...agentBody("CONSUMER"), principal_id: principalId };
    const drafts = await Promise.all(
      Array.from(
        { length: RACES / 2 },
        async () => expectStatus(await world.call("POST", "/v1/agents", { body }), 201).did,
      ),
    );
    const verbs = Array.from({ length: RACES / 2 }, (_, n) => (n % 2 === 0 ? "suspend" : "reactivate"));
    await Promise.all([
      ...drafts.map((did: string) => world.call("POST", `/v1/agents/${did}/activate`)),
      ...verbs.map((verb) => act(principalId, verb)),
    ]);
    await act(principalId, "suspend");
    await world.run(finishCascades);
    expect((await read(principalId)).status).toBe("SUSPENDED");
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual([]);
    const stored = await world.deps.db.select().from(agents).where(eq(agents.principalId, principalId));
    for (const { status } of stored) expect(["DRAFT", "SUSPENDED"]).toContain(status);
  });

  it(`${RACES} registrations and a closing leave no agent of it that is not REVOKED`, async () => {
    const principalId = await world.principal();
    const body = { ...agentBody("CONSUMER"), principal_id: principalId };
    const [closing, ...replies] = await Promise.all([
      act(principalId, "close"),
      ...Array.from({ length: RACES }, () => world.call("POST", "/v1/agents", { body })),
    ]);
    expect(closing?.status).toBe(200);
    await world.run(finishCascades);
    const stored = await world.deps.db.select().from(agents).where(eq(agents.principalId, principalId));
    expect(stored.length).toBe(replies.filter(({ status }) => status === 201).length);
    expect(stored.filter(({ status }) => status !== "REVOKED")).toEqual([]);
  });

  it("an intent that was decided before the suspension is refused, and holds nothing", async () => {
    const [consumer, provider] = [await world.consumer(), await seller(other)];
    const principalId = await principalOf(consumer.did);
    world.meter.beforeBatch(2, async () => void expectStatus(await act(principalId, "suspend"), 200));
    expect(outcome(await openIntent(world, consumer, provider, "10.00"))).toEqual([409, "agent_not_active"]);
  });
});
