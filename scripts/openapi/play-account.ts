// Plays the life of a separate account: sign-up, review, production and closing.
import { exportJWK, generateKeyPair } from "jose";
import { codeAt } from "../authenticator.ts";
import { operatorHeaders, pickValue } from "../client.ts";
import { requestMailedToken } from "../mail-links.ts";
import type { Stage } from "./stage.ts";

const DOCUMENTS = [
  "certificate_of_incorporation",
  "proof_of_registered_address",
  "director_identification",
  "ownership_and_control_structure",
] as const;
/** Seconds. */
const THREE_DAYS = 259_200;
const LEGAL_NAME = "Startup Robotics GmbH";
const PROFILE = {
  legal_name: LEGAL_NAME,
  registration_number: "HRB 815",
  country: "DE",
  registered_address: { line1: "Ringstraße 8", city: "Leipzig", postal_code: "04103", country: "DE" },
};
const PASSWORDS = [
  "correct horse battery staple",
  "a second staple for the horse",
  "the third staple is a charm",
] as const;

type Account = { readonly email: string; readonly platformId: string; readonly key: Record<string, string> };

export async function playAccount(stage: Stage): Promise<void> {
  const account = await signUp(stage);
  const session = await logIn(stage, account, PASSWORDS[0]);
  await review(stage, account, session);
  await goToProduction(stage, account);
  await readLog(stage, account);
  await stand(stage, account);
  await changeCredentials(stage, account, session);
  const last = await playSessions(stage, account, await logIn(stage, account, PASSWORDS[2]));
  await stage.show("closePlatform", {
    headers: last,
    body: { confirmation: LEGAL_NAME, current_password: PASSWORDS[2] },
  });
}

async function signUp(stage: Stage): Promise<Account> {
  const email = `founder.${Date.now().toString(36)}@startup.example`;
  const token = await requestMailedToken(stage.service, email, () =>
    stage.show("registerPlatform", { body: { email, password: PASSWORDS[0] } }),
  );
  await stage.show("resendVerification", { body: { email } });
  await refuse(stage);
  await stage.show("openVerificationPage", { query: { token } });
  const verified = await stage.show("verifyEmail", { body: { token, password: PASSWORDS[0] } });
  const key = { "Service-Api-Key": pickValue<string>(verified, "api_key.raw_key") };
  return { email, platformId: pickValue(verified, "platform_id"), key };
}

/** Refuses the link of an account that was registered with another person's address. */
async function refuse(stage: Stage): Promise<void> {
  const email = `bystander.${Date.now().toString(36)}@startup.example`;
  const token = await requestMailedToken(stage.service, email, () =>
    stage.show("registerPlatform", { body: { email, password: PASSWORDS[1] } }),
  );
  await stage.show("refuseVerification", { body: { token } });
}

async function logIn(stage: Stage, { email }: Account, password: string): Promise<Record<string, string>> {
  const session = await stage.show("logIn", { body: { email, password } });
  return { Authorization: `Bearer ${pickValue<string>(session, "session_token")}` };
}

async function review(stage: Stage, { platformId, key }: Account, session: Record<string, string>): Promise<void> {
  await stage.ask("patchPlatform", { headers: key, body: PROFILE });
  const document_ids: string[] = [];
  for (const type of DOCUMENTS) {
    const file = new File(["%PDF-1.4\n%%EOF\n"], `${type}.pdf`, { type: "application/pdf" });
    const document = await stage.show("submitDocument", { headers: session, form: { type, file } });
    document_ids.push(pickValue(document, "document_id"));
  }
  const [document_id = ""] = document_ids;
  await stage.show("listDocuments", { headers: session, query: { limit: "2" } });
  await stage.show("getDocument", { headers: session, params: { document_id } });
  await stage.show("submitVerification", { headers: session });
  const params = { platform_id: platformId, document_id };
  await stage.show("listPlatformDocuments", { params });
  await stage.show("readPlatformDocument", { params });
  await stage.show("getPlatformAccount", { params });
  await stage.show("decideVerification", {
    params,
    body: { decision: "approve", accreditation_tier: "TIER_2", reason: "All documents are in order." },
  });
  await stage.show("renewTenantAttestation", { params, body: {} });
}

async function goToProduction(stage: Stage, { key }: Account): Promise<void> {
  const headers = { ...key, "Idempotency-Key": crypto.randomUUID() };
  const promoted = await stage.show("promotePlatform", { headers });
  const live = { "Service-Api-Key": pickValue<string>(promoted, "api_key.raw_key") };
  await promoteAgent(stage, key, live);
  await stage.show("rotateKey", { headers: live, body: { grace_hours: 24 } });
  await stage.show("listKeys", { headers: key });
  await stage.show("advanceSandboxClock", { headers: key, body: { seconds: THREE_DAYS } });
  await stage.show("getSandboxClock", { headers: key });
}

/** Promotes an agent of the account's own company. */
async function promoteAgent(stage: Stage, key: Account["key"], live: Record<string, string>): Promise<void> {
  const account = await stage.ask("getPlatform", { headers: key });
  const body = {
    principal_id: pickValue<string>(account, "tenant_principal_id"),
    economic_role: "CONSUMER",
    profile: { display_name: "Procurement assistant", description: "Buys translations for the editorial office." },
    endpoint_url: "https://assistant.example/v1",
    scope: { authorized_actions: ["purchase"], capabilities: ["translation"], dispute_window_days: 14 },
  };
  const params = { did: pickValue<string>(await stage.ask("registerAgent", { headers: key, body }), "did") };
  await stage.ask("activateAgent", { headers: key, params });
  const headers = { ...live, "Idempotency-Key": crypto.randomUUID() };
  await stage.show("promoteAgent", { headers, params, body: { environment: "production" } });
}

async function readLog(stage: Stage, { key: headers }: Account): Promise<void> {
  await stage.show("listActivity", { headers, query: { limit: "2" } });
  await stage.show("listActivity", { headers: { ...headers, Accept: "text/csv" }, query: { limit: "2" } });
  await stage.show("verifyActivity", { headers });
  await stage.show("listActivityHeads", { headers });
}

/** Plays the operator's acts on the account. */
async function stand(stage: Stage, { platformId }: Account): Promise<void> {
  const params = { platform_id: platformId };
  await stage.show("suspendPlatform", { params, body: { reason: "A complaint is being looked into." } });
  await stage.show("reinstatePlatform", { params, body: { reason: "The complaint was unfounded." } });
  await stage.show("getPlatformUsage", { params });
  await stage.show("announceToAll", {
    body: {
      kind: "maintenance",
      subject: "Maintenance on Sunday",
      text: "The service is not available on Sunday from 02:00 to 02:15 UTC.",
    },
  });
  await playVerifiers(stage);
  await stage.show("listOperatorActivity", { headers: operatorHeaders(stage.service.operator_key) });
}

async function playVerifiers(stage: Stage): Promise<void> {
  const drawn = await Promise.all((["ES256", "EdDSA"] as const).map((alg) => generateKeyPair(alg)));
  const jwks = await Promise.all(drawn.map(({ publicKey }) => exportJWK(publicKey)));
  const keys = jwks.map((jwk, at) => ({ ...jwk, kid: `2026-${at + 1}` }));
  const body = { name: "Acme Verification", jwks: { keys } };
  const params = { verifier_id: pickValue<string>(await stage.show("registerVerifier", { body }), "verifier_id") };
  await stage.show("listVerifiers", { query: { limit: "2" } });
  await stage.show("getVerifier", { params });
  await stage.show("patchVerifier", { params, body: { status: "disabled" } });
}

/** Plays TOTP from its set-up to its removal, and the sessions of a person. */
async function playSessions(stage: Stage, account: Account, headers: Record<string, string>) {
  const [password] = PASSWORDS.slice(2);
  const other = await stage.show("logIn", { body: { email: account.email, password } });
  await stage.show("listSessions", { headers });
  await stage.show("endSession", { headers, params: { session_id: pickValue<string>(other, "session_id") } });
  await stage.show("endOtherSessions", { headers, query: { others: "true" } });
  await stage.show("confirmSession", { headers, body: { current_password: password } });
  const [code] = await setUpTotp(stage, headers, password);
  await stage.show("removeTotp", { headers, body: { current_password: password, code } });
  await setUpTotp(stage, headers, password);
  await stage.show("removePlatformTotp", {
    params: { platform_id: account.platformId },
    body: { reason: "The person has lost the phone and the recovery codes, and proved who he is by video." },
  });
  return logIn(stage, account, PASSWORDS[2]);
}

async function setUpTotp(stage: Stage, headers: Record<string, string>, current_password: string | undefined) {
  const made = await stage.show("setUpTotp", { headers, body: { current_password } });
  await stage.show("confirmTotp", { headers, body: { code: codeAt(pickValue(made, "secret"), Date.now()) } });
  return pickValue<readonly string[]>(made, "recovery_codes");
}

async function changeCredentials(stage: Stage, account: Account, session: Record<string, string>): Promise<void> {
  const { email } = account;
  const new_email = email.replace("founder", "office");
  await stage.show("changeEmail", { headers: session, body: { new_email, current_password: PASSWORDS[0] } });
  await stage.show("changePassword", {
    headers: session,
    body: { current_password: PASSWORDS[0], new_password: PASSWORDS[1] },
  });
  const token = await requestMailedToken(stage.service, email, () => stage.show("forgotPassword", { body: { email } }));
  await stage.show("openResetPage", { query: { token } });
  await stage.show("resetPassword", { body: { token, new_password: PASSWORDS[2] } });
  const other = await logIn(stage, account, PASSWORDS[2]);
  await stage.show("logOut", { headers: other });
}
