// The transfer of an agent to another principal of its platform (AGT-33).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { agents, certificates } from "../../src/db/tables/agents.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { operator } from "../cascades/account-support.ts";
import { asConsumer, facilitated, paid, pairOf } from "../facilitation/support.ts";
import { delegateOf, openIntent, seller } from "../payments/support.ts";
import { playEveryOrder } from "../support/orders.ts";
import { isWhole } from "../support/scale.ts";
import { dumpDatabase } from "../support/variants.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { agentIn, readAgent, STATES } from "./support.ts";

const AT_ONCE = isWhole() ? 50 : 10;

let world: World;
let shop: Agent;
beforeAll(async () => {
  world = await createWorld();
  shop = await seller(world);
});

const transfer = (did: string, principal_id: unknown, of = world, key = of.key): Promise<Reply> =>
  of.call("POST", `/v1/agents/${did}/transfer`, { body: { principal_id }, key });
const publicly = async (path: string): Promise<Json> => expectStatus(await world.call("GET", path, { key: null }), 200);
const outcome = ({ status, body }: Reply): [number, string] => [status, body?.code];
const faultsOf = ({ body }: Reply) =>
  Object.fromEntries(body.field_errors.map(({ field, code }: Json) => [field, code]));
const onPrincipal = async (principalId: string, verb: string): Promise<Json> =>
  expectStatus(await world.call("POST", `/v1/principals/${principalId}/${verb}`), 200);
const admitted = async (agent: Agent): Promise<boolean> =>
  (await world.as(agent, "GET", "/v1/payment-intents/pin_none")).status === 404;
const claimsOf = (certificate: string): Json =>
  JSON.parse(atob((certificate.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")));
const providersOf = async (principalId: string): Promise<number | undefined> =>
  (await world.deps.db.select().from(principals).where(eq(principals.principalId, principalId)))[0]?.providers;

describe("a transfer", () => {
  it("keeps the DID and the key; the document and a new certificate name the new principal", async () => {
    const agent = await world.consumer();
    const before = await readAgent(world, agent.did);
    const to = await world.principal({ legal_name: `Successor ${crypto.randomUUID()}`, country: "FR" });
    const answer = expectStatus(await transfer(agent.did, to), 200);
    expect(answer).toMatchObject({
      did: agent.did,
      principal_id: to,
      key_id: before.key_id,
      version: before.version + 1,
      status: "ACTIVE",
      warnings: [],
    });
    const { certificate, warnings: _, ...shown } = answer;
    expect(await readAgent(world, agent.did)).toEqual(shown);
    const aid = await publicly(`/v1/agents/${agent.did}/aid`);
    expect([aid.identity.principal.id, aid.identity.principal.country, aid.identity.certificate]).toEqual([
      to,
      "FR",
      certificate,
    ]);
    expect(claimsOf(certificate).aeap).toMatchObject({ principal_id: to, principal_country: "FR" });
    // The old certificate ends at once; the key stays valid with the new one.
    expect([await admitted(agent), await admitted({ ...agent, certificate })]).toEqual([false, true]);
    expectStatus(await openIntent(world, { ...agent, certificate }, shop, "1.00"), 201);
    const listed = expectStatus(await world.call("GET", `/v1/agents?principal_id=${to}`), 200).data;
    expect(listed.map(({ did }: Json) => did)).toEqual([agent.did]);
    const old = expectStatus(await world.call("GET", `/v1/agents?principal_id=${agent.principalId}`), 200).data;
    expect(old).toEqual([]);
  });

  it("keeps everything open with the agent: an intent, a payment, a task", async () => {
    const pair = await pairOf(world);
    const purchase = await paid(world, pair);
    const to = await world.principal();
    const { certificate } = expectStatus(await transfer(pair.consumer.did, to), 200);
    const consumer = { ...pair.consumer, certificate };
    const settled = expectStatus(await asConsumer(world, { ...purchase, consumer }), 200);
    const open = await facilitated(world, { ...pair, consumer });
    expectStatus(await transfer(pair.provider.did, await world.principal()), 200);
    for (const task of [settled.task_id, open.task]) {
      const path = `/v1/tasks/${task}/confirm`;
      expectStatus(await world.as(consumer, "POST", path, { outcome: "confirmed" }), 200);
    }
    expect((await readAgent(world, pair.provider.did)).escrow).toHaveLength(1);
  });

  it("moves the count of selling agents, and the required tier with it", async () => {
    const { did, principalId } = await world.agent("PROVIDER");
    const to = await world.principal();
    const counts = async () => [await providersOf(principalId), await providersOf(to)];
    expect(await counts()).toEqual([1, 0]);
    expectStatus(await transfer(did, to), 200);
    expect(await counts()).toEqual([0, 1]);
    await onPrincipal(principalId, "close");
    expect((await readAgent(world, did)).status).toBe("ACTIVE");
  });

  it.each(STATES.map((state) => [state, state === "REVOKED" || state === "TERMINATED" ? 409 : 200] as const))(
    "of an agent that is %s answers %i and keeps its status",
    async (state, status) => {
      const did = await agentIn(world, state);
      const to = await world.principal();
      const before = await dumpDatabase();
      const reply = await transfer(did, to);
      expect(reply.status).toBe(status);
      if (status === 200) {
        expect([reply.body.status, reply.body.principal_id]).toEqual([state, to]);
        expect(reply.body.certificate === undefined).toBe(state === "DRAFT");
      } else {
        expect(reply.body).toMatchObject({ code: "agent_status_not_mutable", detail: { status: state } });
        expect(await dumpDatabase()).toEqual(before);
      }
    },
  );

  it("leaves an agent that was suspended with its principal SUSPENDED, and its platform can reactivate it", async () => {
    const agent = await world.consumer();
    await onPrincipal(agent.principalId, "suspend");
    await world.run(finishCascades);
    expect(expectStatus(await transfer(agent.did, await world.principal()), 200).status).toBe("SUSPENDED");
    const returned = await world.call("PATCH", `/v1/agents/${agent.did}/status`, { body: { status: "ACTIVE" } });
    expect(expectStatus(returned, 200).status).toBe("ACTIVE");
  });

  it("is refused while the attestation of the agent's principal is revoked, even if the revocation comes between its two trips", async () => {
    const [caught, racing] = [await world.consumer(), await world.consumer()];
    const to = await world.principal();
    const revoke = async ({ principalId }: Agent) => {
      const held = expectStatus(await world.call("GET", `/v1/principals/${principalId}`), 200).verification_attestation;
      const body = { verifier_id: held.verifier_id };
      const path = `/v1/attestations/${held.attestation_id}/revoke`;
      expectStatus(await world.call("POST", path, { key: null, headers: operator(), body }), 200);
    };
    await revoke(caught);
    const refused = await transfer(caught.did, to);
    expect(outcome(refused)).toEqual([409, "invalid_status"]);
    expect(refused.body.detail).toEqual({
      principal_status: "ATTESTATION_EXPIRED",
      status_reason: "attestation_revoked",
    });
    const suspended = { body: { status: "SUSPENDED" } };
    expectStatus(await world.call("PATCH", `/v1/agents/${racing.did}/status`, suspended), 200);
    world.meter.beforeBatch(2, () => revoke(racing));
    expect(outcome(await transfer(racing.did, to))).toEqual([409, "invalid_status"]);
    expect((await readAgent(world, racing.did)).principal_id).toBe(racing.principalId);
    const again = { placeholder: true };
    expectStatus(await world.call("POST", `/v1/principals/${caught.principalId}/attestations`, { body: again }), 201);
    expect(expectStatus(await transfer(caught.did, to), 200).principal_id).toBe(to);
  });

  it("is refused while the agent's row does not show its principal's stop yet", async () => {
    const agent = await world.consumer();
    const to = await world.principal();
    await world.deps.db
      .update(principals)
      .set({ attestationExpiresAt: world.now() - HOUR_MS })
      .where(eq(principals.principalId, agent.principalId));
    const refused = await transfer(agent.did, to);
    expect([...outcome(refused), refused.headers.get("retry-after")]).toEqual([409, "invalid_status", "5"]);
    expect(refused.body.detail).toEqual({ status: "SUSPENDED", principal_status: "ATTESTATION_EXPIRED" });
  });

  it("is refused to a principal that is not ACTIVE, and to the present one", async () => {
    const agent = await world.consumer();
    const [suspended, closed] = [await world.principal(), await world.principal()];
    await onPrincipal(suspended, "suspend");
    await onPrincipal(closed, "close");
    for (const [to, standing] of [
      [suspended, "SUSPENDED"],
      [closed, "CLOSED"],
    ] as const) {
      const refused = await transfer(agent.did, to);
      expect([...outcome(refused), refused.body.detail]).toEqual([
        409,
        "invalid_status",
        { principal_status: standing },
      ]);
    }
    expect(outcome(await transfer(agent.did, agent.principalId))).toEqual([400, "no_changes_requested"]);
  });

  it("accepts only a principal of the platform and the environment, and no other field", async () => {
    const { did } = await world.consumer();
    const other = await createWorld();
    const foreign = await other.principal();
    for (const to of ["prn_none", foreign]) {
      const refused = await transfer(did, to);
      expect([refused.status, faultsOf(refused)]).toEqual([422, { principal_id: "not_found" }]);
    }
    const faulty = await world.call("POST", `/v1/agents/${did}/transfer`, { body: { colour: "red" } });
    expect([faulty.status, faultsOf(faulty)]).toEqual([422, { principal_id: "required", colour: "unknown_field" }]);
    expect(outcome(await transfer(did, foreign, other))).toEqual([404, "not_found"]);
    expect(outcome(await transfer(did, await world.principal(), world, world.liveKey))).toEqual([404, "not_found"]);
  });

  it("is refused for an agent in a delegation: its delegator and its delegates are named", async () => {
    const head = await world.consumer();
    const delegate = await delegateOf(world, head);
    const to = await world.principal();
    const [above, below] = [await transfer(head.did, to), await transfer(delegate.did, to)];
    expect([...outcome(above), above.body.detail]).toEqual([
      409,
      "invalid_status",
      { status: "ACTIVE", delegates: [delegate.did] },
    ]);
    expect(below.body.detail).toEqual({ status: "ACTIVE", delegator: head.did });
    expectStatus(
      await world.call("PATCH", `/v1/agents/${delegate.did}/status`, { body: { status: "TERMINATED" } }),
      200,
    );
    expectStatus(await transfer(head.did, to), 200);
  });

  it("returns the same answer under its Idempotency-Key, and transfers nothing again", async () => {
    const { did } = await world.consumer();
    const body = { principal_id: await world.principal() };
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const send = () => world.call("POST", `/v1/agents/${did}/transfer`, { body, headers });
    const [first, again] = [await send(), await send()];
    expect(expectStatus(again, 200)).toEqual(expectStatus(first, 200));
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await world.deps.db.select().from(certificates).where(eq(certificates.did, did))).toHaveLength(2);
  });
});

describe("at the same moment", () => {
  it("transfers to many principals leave the agent with one of them, under one valid certificate", async () => {
    const agent = await world.consumer();
    const to = await Promise.all(Array.from({ length: AT_ONCE }, () => world.principal()));
    const answers = await Promise.all(to.map((principalId) => transfer(agent.did, principalId)));
    expect(answers.map(({ status }) => status)).toEqual(to.map(() => 200));
    const { principal_id, version } = await readAgent(world, agent.did);
    expect(version).toBe(2 + AT_ONCE);
    const live = await world.deps.db.select().from(certificates).where(eq(certificates.did, agent.did));
    expect(live.filter(({ replacedAt }) => replacedAt === null)).toHaveLength(1);
    const last = answers.find(({ body }) => body.principal_id === principal_id);
    expect(await admitted({ ...agent, certificate: last?.body.certificate })).toBe(true);
  });

  it.each([
    ["the next principal", "the suspension"],
    ["the next principal", "the transfer"],
    ["the former principal", "the suspension"],
    ["the former principal", "the transfer"],
  ] as const)(
    "a suspension of %s leaves no agent running under it, whatever %s is played between",
    async (victim, between) => {
      type Stage = { readonly agent: Agent; readonly to: string };
      const acts = {
        "the suspension": (of: World, { agent, to }: Stage) => {
          const id = victim === "the next principal" ? to : agent.principalId;
          return of.call("POST", `/v1/principals/${id}/suspend`);
        },
        "the transfer": (of: World, { agent, to }: Stage) => transfer(agent.did, to, of),
      };
      await playEveryOrder(world, between, acts, {
        set: async (): Promise<Stage> => ({ agent: await world.consumer(), to: await world.principal() }),
        check: async ({ agent, to }, { "the transfer": moved, "the suspension": suspended }) => {
          expect(suspended.status).toBe(200);
          expect([200, 409]).toContain(moved.status);
          await world.run(finishCascades);
          const [row] = await world.deps.db.select().from(agents).where(eq(agents.did, agent.did));
          const [owner] = await world.deps.db
            .select()
            .from(principals)
            .where(eq(principals.principalId, row?.principalId ?? ""));
          expect(row?.principalId).toBe(moved.status === 200 ? to : agent.principalId);
          // An agent that was suspended with the former principal stays so under the next one.
          const allowed = ["ACTIVE under ACTIVE", "SUSPENDED under SUSPENDED", "SUSPENDED under ACTIVE"];
          expect(allowed).toContain(`${row?.status} under ${owner?.status}`);
        },
      });
    },
  );
});
