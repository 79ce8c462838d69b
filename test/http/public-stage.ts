// A platform that has stated everything that it can about itself, its customers, principals and agents: agents of each role in each state. Its
// private words must not occur in any public answer.
import type { AgentStatus } from "../../src/core/vocabulary.ts";
import { confirm, facilitated } from "../facilitation/support.ts";
import { type Agent, env, expectStatus, type Json, principalBody, type World } from "../support/world.ts";
import { attestationBy, claimsOf, drawKey, registerVerifier, signClaims, withProof } from "../verifiers/support.ts";

type Role = "CONSUMER" | "PROVIDER";
/** `certificate` is absent for a DRAFT. */
export type Shown = {
  readonly name: string;
  readonly status: AgentStatus;
  readonly did: string;
  readonly certificate?: string;
};
export type Stage = { readonly shown: readonly Shown[]; readonly own: readonly string[]; readonly caller: Agent };

const NETWORK = { market: "GLOBAL-USDC", network: "base-sepolia" };

export async function openStage(world: World): Promise<Stage> {
  /** The platform's private words. */
  const own: string[] = [world.platformId, world.key, world.liveKey];
  const word = (name: string): string => {
    const drawn = `own-${name}-${crypto.randomUUID().slice(0, 13)}`;
    own.push(drawn);
    return drawn;
  };
  const kept = (name: string) => ({
    external_ref: word(`${name}-ref`),
    metadata: { [word(`${name}-key`)]: word(`${name}-value`) },
  });
  const patch = (path: string, body: Json) => world.call("PATCH", path, { body });
  const post = (path: string, body?: Json) => world.call("POST", path, body === undefined ? {} : { body });

  // The account's name is the name of its tenant principal, which is public.
  await env.DB.prepare("update platforms set admin_contact_email = ?, status = 'KYB_PENDING' where platform_id = ?")
    .bind(`${word("admin")}@platform.example`, world.platformId)
    .run();
  expectStatus(await patch("/v1/platform", { legal_name: "Tenant Robotics GmbH" }), 200);
  await env.DB.prepare("update platforms set status = 'ACCREDITED' where platform_id = ?").bind(world.platformId).run();

  const customer = async (): Promise<string> => {
    const body = { name: word("customer"), ...kept("customer") };
    const { customer_id } = expectStatus(await post("/v1/customers", body), 201);
    own.push(customer_id);
    return customer_id;
  };
  const pair = await drawKey();
  const { verifier_id } = await registerVerifier(world, [pair.jwk], { name: word("verifier") });
  const principal = async (customerId: string): Promise<string> => {
    const attestation = attestationBy(verifier_id, Date.now(), { tier: "TIER_3" });
    const about = { ...kept("principal"), customer_id: customerId, verification_attestation: attestation };
    const body = principalBody(about);
    const proof = await signClaims(pair, claimsOf(body));
    own.push(proof);
    return expectStatus(await post("/v1/principals", withProof(body, proof)), 201).principal_id;
  };
  const standing = async () => {
    const customerId = await customer();
    return { customerId, principalId: await principal(customerId) };
  };
  const saying = (role: Role, principalId: string, delegator?: string): Json => ({
    ...kept("agent"),
    principal_id: principalId,
    profile: {
      display_name: "Spokesman",
      description: "Says all that an agent may say.",
      ...(role === "PROVIDER" && { catalog_url: "https://agent.example/catalog.json" }),
    },
    scope: {
      authorized_actions: [role === "PROVIDER" ? "sell" : "purchase"],
      capabilities: ["translation"],
      dispute_window_days: 7,
      ...(role === "CONSUMER" && {
        max_transaction_value: "50.00",
        spending_limit: { amount: "400.00", currency: "USDC", window_days: 30 },
        minimum_counterparty_cert_tier: "TIER_1",
        minimum_counterparty_ar: 0,
        intents_from: "anyone",
      }),
    },
    ...(delegator && { delegated_by: delegator }),
  });

  // The delegators are the buyer and the seller of one purchase, so that there are a rating, a volume and an escrow.
  const firm = await standing();
  const buyer = await world.consumer({ principal_id: firm.principalId, delegated_by: null });
  const seller = await world.provider({ principal_id: (await standing()).principalId });
  const { task } = await facilitated(world, { consumer: buyer, provider: seller }, "10.50");
  expectStatus(await confirm(world, buyer, task, { outcome: "confirmed", note: word("note") }), 200);
  // One of two who have rated the buyer holds more than its share.
  const another = await world.provider({ principal_id: (await standing()).principalId });
  const { task: smaller } = await facilitated(world, { consumer: buyer, provider: another }, "1.00");
  expectStatus(await confirm(world, buyer, smaller), 200);
  const delegators: Readonly<Record<Role, Agent>> = { CONSUMER: buyer, PROVIDER: seller };

  const shown: Shown[] = [
    { name: "a buyer that has bought", status: "ACTIVE", ...buyer },
    { name: "a seller that has sold", status: "ACTIVE", ...seller },
  ];
  const agent = (role: Role, principalId: string, delegator?: string): Promise<Agent> =>
    world.agent(role, saying(role, principalId, delegator));
  const stored = (did: string, status: string) =>
    env.DB.prepare("update agents set status = ? where did = ?").bind(status, did).run();
  const statusOf = (did: string, status: string) =>
    patch(`/v1/agents/${did}/status`, { status, reason: word(status) }).then((reply) => expectStatus(reply, 200));

  type Of = { readonly agent: Agent; readonly principalId: string; readonly customerId: string };
  const STOPS: Readonly<Record<string, (of: Of) => Promise<unknown>>> = {
    ACTIVE: async () => undefined,
    "SUSPENDED by its platform": (of) => statusOf(of.agent.did, "SUSPENDED"),
    "SUSPENDED with its principal": (of) => post(`/v1/principals/${of.principalId}/suspend`, { reason: word("stop") }),
    "SUSPENDED with its customer": (of) => post(`/v1/customers/${of.customerId}/suspend`, { reason: word("stop") }),
    // No route leads to this state.
    FUNDING: (of) => stored(of.agent.did, "FUNDING"),
    TERMINATED: (of) => statusOf(of.agent.did, "TERMINATED"),
    REVOKED: (of) => post(`/v1/agents/${of.agent.did}/revoke`, { reason: word("revoke") }),
    "REVOKED with its principal": async (of) => {
      expectStatus(await post(`/v1/principals/${of.principalId}/suspend`, { reason: word("stop") }), 200);
      expectStatus(await post(`/v1/principals/${of.principalId}/close`, { reason: word("close") }), 200);
    },
  };
  for (const role of ["CONSUMER", "PROVIDER"] as const) {
    const { principalId } = await standing();
    const status = "DRAFT";
    shown.push({
      name: `a ${role} that is a DRAFT`,
      status,
      did: (await world.draft(role, saying(role, principalId))).did,
    });
    const delegate = await agent(role, delegators[role].principalId, delegators[role].did);
    shown.push({ name: `a ${role} that is delegated`, status: "ACTIVE", ...delegate });
    for (const [state, stop] of Object.entries(STOPS)) {
      const of = await standing();
      const stopped = await agent(role, of.principalId);
      if (role === "PROVIDER") {
        const markets = [{ ...NETWORK, operational_wallet: "0x00000000000000000000000000000000000000aa" }];
        await post(`/v1/agents/${stopped.did}/scope/authorized_markets`, { markets });
      }
      await stop({ ...of, agent: stopped });
      const [status] = state.split(" ");
      shown.push({ name: `a ${role} that is ${state}`, status: status as AgentStatus, ...stopped });
    }
  }
  const { did, certificate } = await agent("CONSUMER", world.tenantPrincipalId);
  shown.push({ name: "an agent of the platform itself", status: "ACTIVE", did, certificate });
  const rotated = await agent("CONSUMER", firm.principalId);
  expectStatus(await post(`/v1/agents/${rotated.did}/rotate-key`, { grace_hours: 1 }), 200);
  shown.push({ name: "an agent with two keys", status: "ACTIVE", ...rotated });
  // Every document is signed again at its next read, with everything that was stated since.
  const dids = JSON.stringify(shown.map((one) => one.did));
  const stale = "update agents set revision = revision + 1 where did in (select value from json_each(?))";
  await env.DB.prepare(stale).bind(dids).run();
  return { shown, own, caller: buyer };
}
