// The demo's part about the account: from sign-up to the sandbox key, and from the profile to production.
import { type Json, must, pickValue } from "./client.ts";
import { requestMailedToken } from "./mail-links.ts";
import type { ServiceDescription } from "./stack.ts";

export type Request = (path: string, call?: RequestOptions) => Promise<Json>;
export type RequestOptions = {
  method?: string;
  body?: Json;
  headers?: Record<string, string>;
  expect?: number;
};
export type Step = <T>(title: string, work: () => Promise<T>) => Promise<T>;

/** The means by which the demo makes its calls. */
export type Player = { readonly service: ServiceDescription; readonly request: Request; readonly step: Step };

export type DemoAccount = {
  readonly key: string;
  readonly session: Record<string, string>;
  readonly password: string;
  readonly legalName: string;
};

const DOCUMENTS = [
  "certificate_of_incorporation",
  "proof_of_registered_address",
  "director_identification",
  "ownership_and_control_structure",
] as const;
/** A PDF of one empty page. */
const PDF =
  "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n";

/** Opens an account: the link comes by mail, the sandbox key with the verification. */
export async function signUp({ service, request, step }: Player): Promise<DemoAccount> {
  const unique = Date.now().toString(36);
  const legalName = `Demo Startup ${unique} GmbH`;
  const [email, password] = [`founder-${unique}@startup.example`, crypto.randomUUID()];
  const token = await step(`POST /v1/platform/register        ${email}: a link is mailed`, () =>
    requestMailedToken(service, email, () =>
      request("/v1/platform/register", { method: "POST", expect: 201, body: { email, password } }),
    ),
  );
  const verified = await step("POST /v1/platform/verify-email    link and password: the sandbox key, once", () =>
    request("/v1/platform/verify-email", { method: "POST", body: { token, password } }),
  );
  const session = await step("POST /v1/platform/sessions        a person logs in", () =>
    request("/v1/platform/sessions", { method: "POST", expect: 201, body: { email, password } }),
  );
  return {
    key: pickValue(verified, "api_key.raw_key"),
    session: { Authorization: `Bearer ${pickValue<string>(session, "session_token")}` },
    password,
    legalName,
  };
}

/** Takes the account to production: profile, documents, review, promotion. */
export async function goToProduction(player: Player, { session, password, legalName }: DemoAccount): Promise<void> {
  const { service, request, step } = player;
  const address = { line1: "Hauptstraße 1", city: "Berlin", postal_code: "10115", country: "DE" };
  const body = { legal_name: legalName, registration_number: "HRB 4711", country: "DE", registered_address: address };
  const profile = await step("PATCH /v1/platform                the company's profile", () =>
    request("/v1/platform", { method: "PATCH", headers: session, body }),
  );
  const platformId = pickValue<string>(profile, "platform_id");
  await step("POST /v1/platform/documents       the four that a review needs", () => upload(player, session));
  await step("POST /v1/platform/verification    submitted for review", () =>
    request("/v1/platform/verification", { method: "POST", headers: session }),
  );
  const operator = { Authorization: `Bearer ${service.operator_key}` };
  const decided = await step("POST …/platforms/{id}/decision    an operator approves", () =>
    request(`/v1/operator/platforms/${platformId}/decision`, {
      method: "POST",
      headers: operator,
      body: { decision: "approve", reason: "All documents are in order." },
    }),
  );
  must(decided["platform_status"] === "ACCREDITED", "the account is ACCREDITED");
  await step("POST …/sessions/current/confirm   the person proves himself again", () =>
    request("/v1/platform/sessions/current/confirm", {
      method: "POST",
      headers: session,
      body: { current_password: password },
    }),
  );
  const promoted = await step("POST /v1/platform/promote         the production key, once", () =>
    request("/v1/platform/promote", {
      method: "POST",
      headers: { ...session, "Idempotency-Key": crypto.randomUUID() },
    }),
  );
  const live = pickValue<string>(promoted, "api_key.raw_key");
  const account = await step("GET  /v1/platform                 with the production key", () =>
    request("/v1/platform", { headers: { "Service-Api-Key": live } }),
  );
  must(account["environment"] === "production", "the key is production's");
}

async function upload({ service }: Player, session: Record<string, string>): Promise<void> {
  for (const type of DOCUMENTS) {
    const form = new FormData();
    form.set("type", type);
    form.set("file", new File([PDF], `${type}.pdf`, { type: "application/pdf" }));
    const url = new URL("/v1/platform/documents", service.base_url);
    const response = await fetch(url, { method: "POST", headers: session, body: form });
    must(response.status === 201, `POST /v1/platform/documents answered ${response.status}: ${await response.text()}`);
  }
}
