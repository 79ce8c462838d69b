// Every account code of the specification's table of errors, by name: each is provoked over HTTP with its status there (HTTP-14).
import { beforeAll, describe, expect, it } from "vitest";
import { DOCUMENT_MAX_BYTES } from "../../src/core/limits.ts";
import { close, givePassword, holdsMoney } from "../cascades/account-support.ts";
import { documentParts, pdf } from "../support/form.ts";
import { dumpDatabase } from "../support/variants.ts";
import { agentBody, createWorld, expectStatus, principalBody, type Reply, type World } from "../support/world.ts";
import { ask, complete, decide, inReview, operate, type Person, patchProfile, sendForm } from "./review-support.ts";
import { freshAddress, freshClient, logIn, PASSWORD, post, register, signUp } from "./support.ts";

let world: World;
/** Without a company. */
let begun: Person;
/** With a company, and without documents. */
let completed: Person;
let reviewed: Person;
let accredited: Person;
let promoted: Person;
let suspended: Person;
beforeAll(async () => {
  world = await createWorld();
  begun = await person();
  completed = await complete(world);
  reviewed = await inReview(world);
  accredited = await approved();
  promoted = await approved();
  expectStatus(await promote(promoted), 200);
  suspended = await person();
  const path = `/v1/operator/platforms/${suspended.platformId}/suspend`;
  expectStatus(await operate(world, "POST", path, { reason: "Chargebacks." }), 200);
});

async function person(): Promise<Person> {
  const account = await signUp(world);
  return { ...account, session: await logIn(world, account.email) };
}
async function approved(): Promise<Person> {
  const one = await inReview(world);
  expectStatus(await decide(world, one, { decision: "approve", accreditation_tier: "TIER_2" }), 200);
  return one;
}

const FILE = "certificate_of_incorporation";
const WRONG = "wrong horse battery staple";
const promote = ({ key }: Person): Promise<Reply> => world.call("POST", "/v1/platform/promote", { key });
const verify = (one: Person): Promise<Reply> => ask(world, one, "POST", "/v1/platform/verification");
const enter = (email: string, password = PASSWORD): Promise<Reply> =>
  post(world, "/v1/platform/sessions", { email, password }, freshClient());
const moveTo = (one: Person, new_email: string): Promise<Reply> =>
  ask(world, one, "POST", "/v1/platform/email", {
    body: { new_email, current_password: PASSWORD },
    headers: freshClient(),
  });
const rotate = (body: object, { key }: Person): Promise<Reply> =>
  world.call("POST", "/v1/platform/keys/rotate", { key, body });

/** Prepares the state, and returns the call that is refused. */
type Provoke = () => Promise<{ readonly refused: () => Promise<Reply> }>;
const at =
  (refused: () => Promise<Reply>): Provoke =>
  async () => ({ refused });

/** The call that provokes each code. */
const PROVOKED: Readonly<Record<string, Provoke>> = {
  invalid_credentials: at(() => enter(begun.email, WRONG)),
  email_not_verified: async () => {
    const { email } = await register(world);
    return { refused: () => enter(email) };
  },
  account_suspended: at(() => world.call("GET", "/v1/platform", { key: suspended.key })),
  tier_exceeds_accreditation: async () => {
    const { key } = accredited;
    const principal = await world.call("POST", "/v1/principals", { key, body: principalBody() });
    const { principal_id } = expectStatus(principal, 201);
    const body = { ...agentBody("PROVIDER"), principal_id, cert_tier: "TIER_3" };
    return { refused: () => world.call("POST", "/v1/agents", { key, body }) };
  },
  forbidden: at(() => rotate({ environment: "production" }, promoted)),
  production_locked: at(() =>
    ask(world, accredited, "GET", "/v1/agents", { headers: { "Service-Environment": "production" } }),
  ),
  email_exists: at(() => post(world, "/v1/platform/register", { email: begun.email, password: PASSWORD })),
  email_already_in_use: at(() => moveTo(begun, completed.email)),
  kyb_in_progress: at(() => verify(reviewed)),
  verification_already_accredited: at(() => verify(accredited)),
  not_accredited: at(() => promote(reviewed)),
  already_promoted: at(() => promote(promoted)),
  key_not_provisioned: at(() =>
    ask(world, accredited, "POST", "/v1/platform/keys/rotate", { body: { environment: "production" } }),
  ),
  close_blocked_escrow: async () => {
    const rich = await createWorld();
    await givePassword(rich);
    await holdsMoney(rich, "production", 1);
    // The session begins with its first call.
    expectStatus(await rich.person("GET", "/v1/platform"), 200);
    return { refused: () => close(rich) };
  },
  confirmation_mismatch: at(() =>
    ask(world, begun, "POST", "/v1/platform/close", { body: { confirmation: "x", current_password: PASSWORD } }),
  ),
  current_password_invalid: at(() =>
    ask(world, begun, "POST", "/v1/platform/password", {
      body: { current_password: WRONG, new_password: "another battery staple" },
      headers: freshClient(),
    }),
  ),
  document_type_invalid: at(() => sendForm(world, begun, documentParts("passport"))),
  file_too_large: at(() => sendForm(world, begun, documentParts(FILE, pdf(DOCUMENT_MAX_BYTES + 1)))),
  unsupported_file_type: at(() => sendForm(world, begun, documentParts(FILE, new TextEncoder().encode("GIF89a")))),
  missing_fields: at(() => verify(completed)),
  no_changes_requested: at(() => patchProfile(world, completed, { legal_name: `Company ${completed.platformId}` })),
  rate_limited: async () => {
    expectStatus(await moveTo(begun, freshAddress()), 202);
    return { refused: () => moveTo(begun, freshAddress()) };
  },
};

/** The codes that concern accounts in section 7 of the specification, with their statuses, in its order. */
const SPECIFIED: readonly (readonly [string, number])[] = [
  ["invalid_credentials", 401],
  ["email_not_verified", 403],
  ["account_suspended", 403],
  ["tier_exceeds_accreditation", 403],
  ["forbidden", 403],
  ["production_locked", 409],
  ["email_exists", 409],
  ["email_already_in_use", 409],
  ["kyb_in_progress", 409],
  ["verification_already_accredited", 409],
  ["not_accredited", 409],
  ["already_promoted", 409],
  ["key_not_provisioned", 409],
  ["close_blocked_escrow", 409],
  ["close_blocked_open_disputes", 409],
  ["tenant_principal_field_locked", 409],
  ["no_changes_requested", 400],
  ["confirmation_mismatch", 422],
  ["current_password_invalid", 422],
  ["document_type_invalid", 422],
  ["file_too_large", 422],
  ["unsupported_file_type", 422],
  ["missing_fields", 422],
  ["rate_limited", 429],
];
/** No call provokes these yet: no dispute can be filed, and no route edits the tenant principal or groups it. */
const EXCEPTIONS = ["close_blocked_open_disputes", "tenant_principal_field_locked"];
/** Occurs only in `field_errors`. */
const IN_FIELDS = "missing_fields";

describe("every account code of section 7", () => {
  it("is provoked, except the named exceptions", () => {
    const wanted = SPECIFIED.map(([code]) => code).filter((code) => !EXCEPTIONS.includes(code));
    expect(Object.keys(PROVOKED).sort()).toEqual(wanted.sort());
  });

  const cases = SPECIFIED.flatMap(([code, status]) => {
    const provoke = PROVOKED[code];
    return provoke ? [[code, status, provoke] as const] : [];
  });
  it.each(cases)("%s is %i, and changes nothing", async (code, status, provoke) => {
    const { refused } = await provoke();
    const before = await dumpDatabase();
    const reply = await refused();
    const expected = code === IN_FIELDS ? "validation_failed" : code;
    expect([reply.status, reply.body.status, reply.body.code]).toEqual([status, status, expected]);
    if (code === IN_FIELDS) {
      const codes = reply.body.field_errors.map((fault: { code: string }) => fault.code);
      expect(new Set(codes)).toEqual(new Set([IN_FIELDS]));
    }
    expect(await dumpDatabase()).toEqual(before);
  });
});
