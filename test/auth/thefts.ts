// The acts that docs/security.md names, and the credentials that a thief may hold.
import { inject } from "vitest";
import { CONFIRMATION_MINUTES, MINUTE_MS } from "../../src/core/limits.ts";
import { accredited, inReview, type Person } from "../accounts/review-support.ts";
import { givePassword, nameOf } from "../cascades/account-support.ts";
import { credential } from "../cascades/revocation-support.ts";
import { arbitrated, PATH as DISPUTES, disputed, OPERATOR_PATH } from "../disputes/support.ts";
import { facilitated } from "../facilitation/support.ts";
import { market, marketsPath } from "../markets/support.ts";
import { livePrincipal, openLive } from "../promotion/support.ts";
import { account } from "../support/chain.ts";
import { type Agent, createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { attestedBody, drawKey, registerVerifier, type VerifierPair } from "../verifiers/support.ts";
import { type Attempt, bearer, type Headers, key, prove } from "./support.ts";

const PLATFORM = "/v1/platform";

// ---- The stage ----------------------------------------------------------------------------------------------------------------

type Attested = { readonly pair: VerifierPair; readonly attestation: Json };
export type Stage = {
  readonly world: World;
  readonly provider: Agent;
  readonly consumer: Agent;
  readonly spare: Agent;
  /** An unconfirmed purchase. */
  readonly task: string;
  /** A dispute that is filed against the provider, and a dispute that waits for its arbiter. */
  readonly filed: string;
  readonly waiting: string;
  readonly own: Attested;
  readonly foreign: Attested;
  readonly livePrincipal: string;
  /** An account that may be promoted, and an account in review. */
  readonly unpromoted: Person;
  readonly reviewed: Person;
};

export async function attestedBy(world: World): Promise<Attested> {
  const pair = await drawKey();
  const { verifier_id } = await registerVerifier(world, [pair.jwk]);
  const body = attestedBody(verifier_id);
  expectStatus(await world.call("POST", "/v1/principals", { body }), 201);
  return { pair, attestation: body.verification_attestation };
}

export async function setStage(): Promise<Stage> {
  const world = await createWorld();
  await givePassword(world);
  const { provider, consumer, task } = await facilitated(world);
  const pair = { provider, consumer };
  const filed = await disputed(world, { pair, amount: "1.00" });
  const waiting = await disputed(world, { pair, amount: "1.00" });
  await arbitrated(world, waiting);
  await openLive(world, provider.did);
  return {
    ...{ world, provider, consumer, spare: await world.consumer(), task, filed: filed.id, waiting: waiting.id },
    ...{ own: await attestedBy(world), foreign: await attestedBy(world), livePrincipal: await livePrincipal(world) },
    ...{ unpromoted: await accredited(world), reviewed: await inReview(world) },
  };
}

// ---- The acts -----------------------------------------------------------------------------------------------------------------

/**
 * `in`: production, `other` for the environment that is not the key's, or the sandbox. `of`: the account that may be promoted, or the stage's. `as`:
 * the agent that calls.
 */
export type Act = {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly in?: "production" | "other";
  readonly of?: "unpromoted";
  readonly as?: "provider";
};

const GUESS = { current_password: "what the thief guesses" };
const REASON = { reason: "So it was reported." };

const posting = (path: string, body: unknown = {}, more: Partial<Act> = {}): Act => ({
  ...{ method: "POST", path, body },
  ...more,
});
const reading = (path: string, more: Partial<Act> = {}): Act => ({ method: "GET", path, ...more });
const patching = (body: unknown): Act => ({ method: "PATCH", path: PLATFORM, body });

/** In the order in which they are played: acts that end a credential come last. */
export const ACTS: Readonly<Record<string, (stage: Stage, holder: string) => Act>> = {
  "read the account, its agents and its activity log": () => reading(`${PLATFORM}/activity`),
  "register customers, principals and agents": () => posting("/v1/customers", { name: "Client" }),
  "have every event sent to another URL": () =>
    posting("/v1/webhooks", { url: "https://thief.example/events", event_types: ["*"] }),
  "give an agent another key": ({ consumer }) => posting(`/v1/agents/${consumer.did}/rotate-key`, { grace_hours: 24 }),
  "give in to a dispute that was filed against an agent": ({ filed }) =>
    posting(`${DISPUTES}/${filed}/concede`, {}, { as: "provider" }),
  "revoke an agent": ({ spare }) => posting(`/v1/agents/${spare.did}/revoke`, REASON),
  "move where an agent is paid in production": ({ provider }) => {
    const markets = [market({ market: "GLOBAL-USDC", operational_wallet: account(7) })];
    return posting(marketsPath(provider.did), { markets }, { in: "production" });
  },
  "act in the other environment": (stage) => reading(`/v1/principals/${stage.livePrincipal}`, { in: "other" }),
  "propose another legal name": () => patching({ legal_name: "Thief Ltd" }),
  "name another contact for notices": () => patching({ admin_contact_email: "thief@thief.example" }),
  "change who may open production": () => patching({ promotion_by: "session" }),
  "open production": () => posting(`${PLATFORM}/promote`, {}, { of: "unpromoted" }),
  "replace the key": () => posting(`${PLATFORM}/keys/rotate`, { grace_hours: 24 }),
  "end the other sessions": () => ({ method: "DELETE", path: `${PLATFORM}/sessions?others=true` }),
  "change the password": () => posting(`${PLATFORM}/password`, { ...GUESS, new_password: "a password of the thief" }),
  "change the account's address": () => posting(`${PLATFORM}/email`, { ...GUESS, new_email: "thief@thief.example" }),
  "set up TOTP": () => posting(`${PLATFORM}/totp`, GUESS),
  "close the account": ({ world }) => posting(`${PLATFORM}/close`, { ...GUESS, confirmation: nameOf(world) }),
  "open a payment as an agent": ({ consumer, provider }) => {
    const sides = { consumer_did: consumer.did, provider_did: provider.did };
    return posting("/v1/payment-intents", { ...sides, amount: "1.00", currency: "USDC" });
  },
  "confirm a task as an agent": ({ task }) => posting(`/v1/tasks/${task}/confirm`, { outcome: "confirmed" }),
  "revoke an attestation of the Verifier": ({ own }, holder) => revoking(own, holder),
  "revoke an attestation of another Verifier": ({ foreign }, holder) => revoking(foreign, holder),
  "read the submitted documents": ({ reviewed }) => reading(`/v1/operator/platforms/${reviewed.platformId}/documents`),
  "decide a review": ({ reviewed }) =>
    posting(`/v1/operator/platforms/${reviewed.platformId}/decision`, { decision: "approve" }),
  "decide a dispute": ({ waiting }) =>
    posting(`${OPERATOR_PATH}/${waiting}/resolve`, { resolution: "upheld", ...REASON }),
  "register a Verifier": ({ own }) =>
    posting("/v1/operator/verifiers", { name: "Thief Verification", jwks: { keys: [own.pair.jwk] } }),
  "suspend an account": ({ world }) => posting(`/v1/operator/platforms/${world.platformId}/suspend`, REASON),
};
/** An operator names the Verifier; a Verifier's credential already names it. */
const revoking = ({ attestation: { attestation_id, verifier_id } }: Attested, holder: string): Act =>
  posting(`/v1/attestations/${attestation_id}/revoke`, holder === "operator's key" ? { verifier_id } : {});

// ---- The thieves --------------------------------------------------------------------------------------------------------------

export type Thief = (act: Act) => Headers | Promise<Headers>;

const attemptOf = ({ method, path, body }: Act): Attempt => ({ method, path, rawBody: bodyOf(body) });
export const bodyOf = (body: unknown): string => (body === undefined ? "" : JSON.stringify(body));

const byKey =
  ({ world, unpromoted }: Stage): Thief =>
  (act) => {
    if (act.of) return key(unpromoted.key);
    return key(act.in === "production" ? world.liveKey : world.key);
  };

const bySession =
  ({ unpromoted }: Stage, token: string): Thief =>
  (act) => ({
    ...bearer(act.of ? unpromoted.session : token),
    ...(act.in && { "Service-Environment": "production" }),
  });

async function withOlderSession(stage: Stage): Promise<Thief> {
  const { world, unpromoted } = stage;
  const confirmedAt = world.now() - CONFIRMATION_MINUTES * MINUTE_MS;
  const text = "update sessions set confirmed_at = ? where platform_id = ?";
  await env.DB.prepare(text).bind(confirmedAt, unpromoted.platformId).run();
  return bySession(stage, await world.session({ confirmedAt }));
}

async function withKeyInGrace(stage: Stage): Promise<Thief> {
  const { world, unpromoted } = stage;
  for (const old of [world.key, world.liveKey, unpromoted.key]) {
    const body = { grace_hours: 24 };
    expectStatus(await world.call("POST", `${PLATFORM}/keys/rotate`, { key: old, body }), 200);
  }
  return byKey(stage);
}

/** By the columns of the page. */
export const THIEVES: Readonly<Record<string, (stage: Stage) => Thief | Promise<Thief>>> = {
  key: byKey,
  "key in its grace": withKeyInGrace,
  "fresh session": async (stage) => bySession(stage, await stage.world.session()),
  "older session": withOlderSession,
  "agent's key": (stage) => (act) => prove(act.as ? stage.provider : stage.consumer, attemptOf(act)),
  "operator's key": () => () => bearer(inject("operatorKey")),
  "Verifier's key":
    ({ own }) =>
    async ({ path }) => {
      const sub = /attestations\/([^/]+)/.exec(path)?.[1] ?? own.attestation.attestation_id;
      return bearer(await credential(own.pair, own.attestation, { sub }));
    },
};
