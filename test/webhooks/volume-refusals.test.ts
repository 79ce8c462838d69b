// While an account's volume of the day is used up, each of its calls that creates or changes something is refused, except those in one table
// (EVT-35).
import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/app.ts";
import type { Route } from "../../src/http/route.ts";
import { createWorld, env, type Json, type Reply, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
  const mark = { quota: "events", until: world.now() + 3_600_000 };
  await env.DB.prepare("update platforms set volume_marks = ? where platform_id = ?")
    .bind(JSON.stringify({ sandbox: mark }), world.platformId)
    .run();
});

/**
 * Operations that are still answered, because they stop or end something, protect the account, or change nothing; with the bodies for which they do.
 */
const ANSWERED: Readonly<Record<string, readonly Json[]>> = {
  logOut: [{}],
  endOtherSessions: [{}],
  endSession: [{}],
  confirmSession: [{}],
  setUpTotp: [{}],
  confirmTotp: [{}],
  removeTotp: [{}],
  changePassword: [{}],
  rotateKey: [{}],
  rotateWebhookSecret: [{}],
  rotateAgentKey: [{}],
  closePlatform: [{}],
  closePrincipal: [{}],
  suspendPrincipal: [{}],
  suspendCustomer: [{}],
  revokeAgent: [{}],
  patchAgentStatus: [{ status: "SUSPENDED" }, { status: "TERMINATED", reason: "Retired." }],
  deleteWebhook: [{}],
  deleteCustomer: [{}],
  removeAuthorizedMarket: [{}],
  evaluateSpendPolicy: [{}],
};
const REFUSED: Readonly<Record<string, readonly Json[]>> = {
  patchPlatform: [{}],
  changeEmail: [{}],
  promotePlatform: [{}],
  submitDocument: [{}],
  submitVerification: [{}],
  advanceSandboxClock: [{}],
  createWebhook: [{}],
  patchWebhook: [{ status: "disabled" }],
  testWebhook: [{}],
  redeliver: [{}],
  replayEvents: [{}],
  registerPrincipal: [{}],
  patchPrincipal: [{}],
  recordAttestation: [{}],
  reactivatePrincipal: [{}],
  createCustomer: [{}],
  patchCustomer: [{}],
  reactivateCustomer: [{}],
  registerAgent: [{}],
  patchAgent: [{}],
  activateAgent: [{}],
  reissueAgentCertificate: [{}],
  transferAgent: [{}],
  patchAgentScope: [{}],
  patchAgentStatus: [{ status: "ACTIVE" }, { status: "none" }],
  promoteAgent: [{}],
  authorizeMarkets: [{}],
  syncAgentEscrow: [{}],
  releaseAgentEscrow: [{}],
  fileDispute: [{}],
  respondToDispute: [{}],
  acceptOffer: [{}],
  concedeDispute: [{}],
  withdrawDispute: [{}],
  escalateDispute: [{}],
  addDisputeEvidence: [{}],
};

const isOfAccount = ({ surfaces }: Route): boolean => surfaces.includes("management") || surfaces.includes("session");
const changing = ROUTES.filter((route) => isOfAccount(route) && route.method !== "get");

/** Calls with the account's key if the route accepts it, and else with a person's session. The path names objects that do not exist. */
function call({ method, path, surfaces, multipart }: Route, body: Json): Promise<Reply> {
  const to = path.replace(/\{(\w+)\}/g, (_, name) =>
    name === "did" ? "did:aeap:00000000-0000-4000-8000-000000000000" : "none",
  );
  const sent =
    method === "delete" || method === "get"
      ? {}
      : multipart
        ? { rawBody: "nothing", headers: { "Content-Type": "multipart/form-data; boundary=x" } }
        : { body };
  const verb = method.toUpperCase();
  return surfaces.includes("management") ? world.call(verb, to, sent) : world.person(verb, to, sent);
}
const cases = (table: Readonly<Record<string, readonly Json[]>>) =>
  Object.entries(table).flatMap(([name, bodies]) => bodies.map((body) => [name, body] as const));
const routeOf = (name: string): Route => {
  const found = changing.find(({ operationId }) => operationId === name);
  if (!found) throw new Error(`no operation ${name}`);
  return found;
};

describe("every operation of an account that is not a read is listed as refused or as answered", () => {
  it("each operation of an account that is no reading is known as refused or as answered", () => {
    const known = new Set([...Object.keys(REFUSED), ...Object.keys(ANSWERED)]);
    expect(changing.map(({ operationId }) => operationId).filter((name) => !known.has(name))).toEqual([]);
  });

  it.each(cases(REFUSED))("%s %j is refused", async (name, body) => {
    const reply = await call(routeOf(name), body);
    expect([reply.status, reply.body.code, reply.body.detail?.quota]).toEqual([429, "rate_limited", "events"]);
  });

  it.each(cases(ANSWERED))("%s %j is answered", async (name, body) => {
    expect((await call(routeOf(name), body)).status).not.toBe(429);
  });

  it.each(ROUTES.filter((route) => isOfAccount(route) && route.method === "get").map(({ operationId }) => operationId))(
    "the read %s is answered",
    async (name) => {
      const found = ROUTES.find(({ operationId }) => operationId === name);
      if (!found) throw new Error("unreachable: it is one of them");
      expect((await call(found, {})).status).not.toBe(429);
    },
  );
});
