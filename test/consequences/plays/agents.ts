// Plays of principals, agents and their signed documents.
import { eq, sql } from "drizzle-orm";
import { agents, certificates, statusLists } from "../../../src/db/tables/agents.ts";
import { toListedNumber } from "../../../src/identity/certificate-store.ts";
import { formatProofTimestamp, signProof } from "../../../src/protocol/proof.ts";
import { openIntent, seller } from "../../payments/support.ts";
import { agentBody, type World } from "../../support/world.ts";
import { customer } from "./customers.ts";
import { anHour, HOUR, must, ofAgent, ofNobody, type Play, type Plays, store } from "./stage.ts";

const consumer = async (world: World) => (await world.consumer()).did;
const draft = async (world: World) => (await world.draft("CONSUMER")).did;

const patch = (body: unknown) => (world: World, did: string) =>
  must(200, world.call("PATCH", `/v1/agents/${did}`, { body }));
const patchScope = (body: unknown) => (world: World, did: string) =>
  must(200, world.call("PATCH", `/v1/agents/${did}/scope`, { body }));
const widen = patchScope({ capabilities: ["translation", "summary"] });
const narrow = patchScope({ max_transaction_value: "5" });

const become = (status: string) => (world: World, did: string) =>
  must(200, world.call("PATCH", `/v1/agents/${did}/status`, { body: { status } }));

const rotate = (body?: unknown) => (world: World, did: string) =>
  must(200, world.call("POST", `/v1/agents/${did}/rotate-key`, body === undefined ? {} : { body }));
const revoke = (world: World, did: string) =>
  must(200, world.call("POST", `/v1/agents/${did}/revoke`, { body: { reason: "Sanctioned." } }));

/** A consumer with an open intent. */
async function buying(world: World): Promise<string> {
  const buyer = await world.consumer();
  await must(201, openIntent(world, buyer, await seller(world), "1.00"));
  return buyer.did;
}

async function suspended(world: World): Promise<string> {
  const did = await consumer(world);
  await become("SUSPENDED")(world, did);
  return did;
}

async function suspendedAndAttested(world: World): Promise<string> {
  const { did, principalId } = await world.consumer();
  await become("SUSPENDED")(world, did);
  const body = { placeholder: true };
  await must(201, world.call("POST", `/v1/principals/${principalId}/attestations`, { body }));
  return did;
}

/** The principal was suspended, and is ACTIVE again. */
async function suspendedAndWidened(world: World): Promise<string> {
  const { did, principalId } = await world.consumer();
  const onPrincipal = (verb: string) => must(200, world.call("POST", `/v1/principals/${principalId}/${verb}`));
  await onPrincipal("suspend");
  await widen(world, did);
  await onPrincipal("reactivate");
  return did;
}

const registering =
  (role: "CONSUMER" | "PROVIDER"): Play =>
  async ({ world }) => {
    const body = { ...agentBody(role), principal_id: await world.principal() };
    return async () => ({ agent: [(await must(201, world.call("POST", "/v1/agents", { body }))).did] });
  };

const provider = async (world: World) => (await world.agent("PROVIDER")).did;

async function stopped(world: World): Promise<string> {
  const { did, principalId } = await world.consumer();
  await must(200, world.call("POST", `/v1/principals/${principalId}/suspend`));
  return did;
}

/** The state that an unfunded promotion leaves. */
async function waiting(world: World): Promise<string> {
  const { did } = await world.agent("PROVIDER");
  await store(world, (db) => [
    db.update(agents).set({ status: "FUNDING" }).where(eq(agents.did, did)),
    db
      .update(certificates)
      .set({ listedStatus: toListedNumber("FUNDING") })
      .where(eq(certificates.did, did)),
  ]);
  return did;
}

async function waitingSuspended(world: World): Promise<string> {
  const did = await waiting(world);
  await become("SUSPENDED")(world, did);
  return did;
}

async function unattested(world: World): Promise<string> {
  const { did } = await world.consumer({ principal_id: await world.principal(anHour(world)) });
  world.advance(HOUR);
  return did;
}

/** Makes the document stale, as a change by another party does. */
async function stale(world: World): Promise<string> {
  const did = await consumer(world);
  await store(world, (db) =>
    db
      .update(agents)
      .set({ revision: sql`${agents.revision} + 1` })
      .where(eq(agents.did, did)),
  );
  return did;
}
const readAid = (world: World, did: string) => must(200, world.call("GET", `/v1/agents/${did}/aid`, { key: null }));

const unsigned = (world: World) => store(world, (db) => db.update(statusLists).set({ signedAt: null, signed: null }));
const readList = (world: World) => must(200, world.call("GET", "/.well-known/aeap-status-lists/1", { key: null }));

export const AGENT_PLAYS: Plays = {
  registerPrincipal: {
    "without a customer":
      async ({ world }) =>
      async () => ({ principal: [await world.principal()] }),
    "under a customer, which counts it": async ({ world }) => {
      const customer_id = await customer(world);
      return async () => ({ principal: [await world.principal({ customer_id })] });
    },
  },
  registerAgent: {
    "a consumer": registering("CONSUMER"),
    "a provider, which its principal counts": registering("PROVIDER"),
  },
  activateAgent: {
    always: ofAgent(draft, (world, did) => must(200, world.call("POST", `/v1/agents/${did}/activate`))),
  },
  reissueAgentCertificate: {
    always: ofAgent(consumer, (world, did) => must(200, world.call("POST", `/v1/agents/${did}/certificate`))),
  },
  rotateAgentKey: {
    "without a grace": ofAgent(consumer, rotate()),
    "with a grace of 24 hours": ofAgent(consumer, rotate({ grace_hours: 24 })),
  },
  revokeAgent: {
    "a consumer": ofAgent(consumer, revoke),
    "a provider, which its principal no longer counts": ofAgent(provider, revoke),
    "an agent with an open intent, which ends": ofAgent(buying, revoke),
    "a DRAFT": ofAgent(draft, revoke),
  },
  patchAgent: {
    "the profile or the address": ofAgent(consumer, patch({ endpoint_url: "https://moved.example/v1" })),
    "the reference or the metadata only": ofAgent(consumer, patch({ external_ref: "bot-7", metadata: { team: "b" } })),
    "the profile of a DRAFT": ofAgent(draft, patch({ profile: { display_name: "Renamed" } })),
  },
  patchAgentScope: {
    "not narrowed": ofAgent(consumer, widen),
    narrowed: ofAgent(consumer, narrow),
    "narrowed, the principal not ACTIVE": ofAgent(unattested, narrow),
    "a DRAFT": ofAgent(draft, narrow),
  },
  patchAgentStatus: {
    SUSPENDED: ofAgent(consumer, become("SUSPENDED")),
    "SUSPENDED, after its principal was suspended": ofAgent(stopped, become("SUSPENDED")),
    ACTIVE: ofAgent(suspended, become("ACTIVE")),
    "ACTIVE, under another attestation than before": ofAgent(suspendedAndAttested, become("ACTIVE")),
    "ACTIVE, with a scope that was changed while its principal was suspended": ofAgent(
      suspendedAndWidened,
      become("ACTIVE"),
    ),
    "SUSPENDED while it waits for its escrow": ofAgent(waiting, become("SUSPENDED")),
    "ACTIVE, suspended while it waited for its escrow": ofAgent(waitingSuspended, become("ACTIVE")),
    TERMINATED: ofAgent(consumer, become("TERMINATED")),
    "TERMINATED, a provider, which its principal no longer counts": ofAgent(provider, become("TERMINATED")),
    "TERMINATED, an agent with an open intent, which ends": ofAgent(buying, become("TERMINATED")),
    "TERMINATED, a DRAFT": ofAgent(draft, become("TERMINATED")),
  },
  verifyProof: {
    "a nonce is used up, in its object": async ({ world }) => {
      const { did, certificate, privateKey } = await world.consumer();
      const { nonce } = await must(200, world.call("GET", "/v1/verify/challenge", { key: null }));
      const timestamp = formatProofTimestamp(Date.now());
      const { proof } = await signProof({ kind: "challenge", timestamp, nonce, agentDid: did }, privateKey);
      const body = { proof_type: "challenge_response", certificate, nonce, proof, timestamp };
      const check = () => must(200, world.call("POST", "/v1/verify/proof", { key: null, body }));
      return async () => {
        const answers = [await check(), await check()].map(({ verified }) => verified);
        if (answers.join() !== "true,false") throw new Error(`the nonce was good ${answers.join()}`);
        return { agent: [did] };
      };
    },
  },
  getAgentAid: {
    "the document is stale": ofAgent(stale, readAid),
    "the document is signed": ofAgent(consumer, readAid),
  },
  getStatusList: {
    "the list was signed a minute ago or never": ofNobody(unsigned, readList),
    "the list was signed since": ofNobody(readList, readList),
  },
};
