// Public answers: every member of every public answer is in the lists of public-fields.ts, and none of them contains anything that a platform keeps
// for itself, neither in signed content nor in a header (HTTP-41).
import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/app.ts";
import { isFinal } from "../../src/core/vocabulary.ts";
import { toHonoPath } from "../../src/http/router.ts";
import { formatProofTimestamp, signProof } from "../../src/protocol/proof.ts";
import { freshAddress, freshClient, mailedToken, PASSWORD } from "../accounts/support.ts";
import { facilitated } from "../facilitation/support.ts";
import { follow, takenAway } from "../follower/support.ts";
import { isWhole } from "../support/scale.ts";
import { withEmptyCache } from "../support/variants.ts";
import { type CallOptions, createWorld, type Json, type Reply, type World } from "../support/world.ts";
import { BESIDE, COOKIE_BY, HEADERS, PROBLEM, PUBLIC, REFUSAL } from "./public-fields.ts";
import { foreignTo, membersOf, readable, type Seen, type Shape } from "./public-shapes.ts";
import { openStage, type Shown, type Stage } from "./public-stage.ts";

let world: World;
let stage: Stage;
beforeAll(async () => {
  world = await createWorld();
  stage = await openStage(world);
});

const open = ROUTES.filter(({ surfaces }) => surfaces.includes("public"));
const routeOf = (operationId: string) => {
  const route = open.find((one) => one.operationId === operationId);
  if (!route) throw new Error(`${operationId} is no public operation`);
  return route;
};
const isOfAgent = (path: string): boolean => /\{(did|identifier)\}/.test(path);

// ---- Comparing an answer with its list -----------------------------------------------------------------------------------

const seen = new Map<string, Seen>();
const seenOf = (name: string): Seen => {
  const found = seen.get(name) ?? new Set<string>();
  seen.set(name, found);
  return found;
};

/** The members of an answer that its list does not name. */
function foreignIn(operationId: string, { status, body, headers, text }: Reply): string[] {
  const strange = [...headers.keys()].filter(
    (name) => !HEADERS.includes(name) && !(name === "set-cookie" && operationId === COOKIE_BY),
  );
  const type = headers.get("content-type") ?? "";
  const { json, text: asText } = PUBLIC[operationId] ?? {};
  const compare = (name: string, shape: Shape | undefined, value: unknown): string[] =>
    shape === undefined ? [`${operationId}: no list for ${type}`] : foreignTo(shape, value, seenOf(name));
  const said: Json = typeof body === "string" && text.startsWith("{") ? JSON.parse(text) : body;
  // A resolver refuses in its own kind of result.
  if (status >= 400 && "request_id" in said) {
    const [name, shape] = type.startsWith("application/problem") ? ["problem", PROBLEM] : ["refusal", REFUSAL];
    return [...strange, ...compare(name as string, shape as Shape, said)];
  }
  if (status === 303) return strange;
  if (typeof said === "object") return [...strange, ...compare(`${operationId} json`, json, said)];
  if (asText === "page") return strange;
  return [...strange, ...compare(`${operationId} text`, asText, text)];
}

/** The platform's own words in an answer, in its signed content and in its headers. */
const ownIn = ({ text, headers }: Reply, but: readonly string[] = []): string[] => {
  const said = readable(`${text}\n${[...headers].flat().join("\n")}`);
  return stage.own.filter((word) => said.includes(word) && !but.includes(word));
};

const askAbout = (facilitationId: string) => ask("getFacilitationStanding", {}, "", facilitationId);

async function ask(operationId: string, options: CallOptions = {}, query = "", id = ""): Promise<Reply> {
  const { method, path } = routeOf(operationId);
  const whole = `${path.replace(/\{(did|identifier|facilitation_id)\}/, id).replace("{n}", "1")}${query}`;
  const headers = { ...freshClient(), ...options.headers };
  const reply = await world.call(method.toUpperCase(), whole, { ...options, key: null, headers });
  expect([foreignIn(operationId, reply), ownIn(reply)], `${operationId} ${whole}`).toEqual([[], []]);
  return reply;
}

// ---- The lists themselves ------------------------------------------------------------------------------------------------

describe("the lists", () => {
  it("name every public operation, and no other", () => {
    expect(Object.keys(PUBLIC).sort()).toEqual(open.map(({ operationId }) => operationId).sort());
  });

  it("name everything that the app answers without a route", () => {
    const routes = new Set(ROUTES.map((route) => `${route.method.toUpperCase()} ${toHonoPath(route)}`));
    const bound = world.app.routes.map(({ method, path }) => `${method} ${path}`);
    const beside = [...new Set(bound)].filter((one) => !one.startsWith("ALL ") && !routes.has(one));
    expect(beside.sort()).toEqual([...BESIDE]);
  });
});

// ---- Answers -------------------------------------------------------------------------------------------------------------

const ROLES_AND_STATES = 24;

describe("the public reads of an agent", () => {
  const readings = open.filter(({ path }) => isOfAgent(path)).map(({ operationId }) => operationId);

  const each = async (look: (shown: Shown) => Promise<unknown>): Promise<void> => {
    expect(stage.shown).toHaveLength(ROLES_AND_STATES);
    for (const shown of stage.shown) await look(shown);
  };

  /** The first agent in each state, and the one with two keys, which is the last; all in a whole run. */
  const someOf = (look: (shown: Shown) => Promise<unknown>): Promise<void> => {
    const states = new Set<string>();
    const last = stage.shown.at(-1);
    return each(async (shown) => {
      const isFirst = !states.has(shown.status);
      states.add(shown.status);
      if (isWhole() || isFirst || shown === last) await look(shown);
    });
  };

  it.each(readings)("%s shows of an agent in any state only the members that its list names", async (operationId) => {
    await each(async ({ name, status, did, certificate }) => {
      const reply = await ask(operationId, {}, "", did);
      const none = operationId === "getAgentCertificate" && !certificate;
      expect([name, reply.status]).toEqual([
        name,
        none ? 404 : operationId === "resolveDid" && isFinal(status) ? 410 : 200,
      ]);
      if (operationId === "getAgentStatus") expect([name, reply.body.status]).toEqual([name, status]);
    });
  });

  it("show nothing further in a document as a JWS, in an earlier version and in the present revision", async () => {
    await each(async ({ did, certificate }) => {
      const { body } = await ask("getAgentAid", {}, "", did);
      for (const query of ["", `?version=${body.version}`, `?revision=${body.revision}`, "?version=99"]) {
        for (const accept of ["application/json", "application/jwt"]) {
          const { status } = await ask("getAgentAid", { headers: { Accept: accept } }, query, did);
          const none = query === "?version=99" || (!certificate && (query !== "" || accept === "application/jwt"));
          expect([query, accept, status]).toEqual([query, accept, none ? 404 : 200]);
        }
      }
    });
  });

  it("show nothing further in a resolver's result, or in a part of a document", async () => {
    await someOf(async ({ did, status, certificate }) => {
      const { body: document } = await ask("getAgentDidDocument", {}, "", did);
      const ids: string[] = [...document.verificationMethod, ...(document.service ?? [])].map(({ id }) => id);
      expect(ids.length > 0).toBe(certificate !== undefined && !isFinal(status));
      const parts = [...ids.map((id) => `%23${id.split("#")[1]}`), "?service=endpoint", "?serviceType=NoSuchType", ""];
      for (const Accept of ["application/did-resolution", "application/did-url-dereferencing", "application/json"])
        for (const part of parts) await ask("resolveDid", { headers: { Accept } }, part, did);
    });
  });

  it("reveal in the checks of a certificate and a document only what these state", async () => {
    await each(async ({ did, status, certificate }) => {
      const { body: aid } = await ask("getAgentAid", {}, "", did);
      expect((await ask("verifyAid", { body: { aid } })).body.valid).toBe(certificate !== undefined);
      if (!certificate) return;
      expect((await ask("verifyCertificate", { body: { certificate } })).body.valid).toBe(!isFinal(status));
      const broken = { body: { certificate: `${certificate}x` } };
      expect((await ask("verifyCertificate", broken)).body).toMatchObject({ valid: false, claims: null });
    });
  });

  it("reveal the signer in the check of a proof", async () => {
    const { did, privateKey, certificate } = stage.caller;
    const { nonce } = (await ask("getChallenge")).body;
    const timestamp = formatProofTimestamp(Date.now());
    const { proof } = await signProof({ kind: "challenge", timestamp, nonce, agentDid: did }, privateKey);
    const body = { proof_type: "challenge_response", certificate, nonce, proof, timestamp };
    for (const verified of [true, false]) expect((await ask("verifyProof", { body })).body.verified).toBe(verified);
  });
});

describe("the service's statements about itself", () => {
  it.each(["getContext", "getCaJwks", "getCaJwksJson", "getDiscovery", "listMarkets", "getRatingMethod"])(
    "%s",
    async (operationId) => {
      expect((await ask(operationId)).status).toBe(200);
    },
  );

  it.each(["openVerificationPage", "openResetPage"])("%s says the same with any token", async (operationId) => {
    const [one, other] = [await ask(operationId), await ask(operationId, {}, "?token=token-of-another")];
    expect([one.status, other.text]).toEqual([200, one.text]);
  });

  it("reveal of a settlement only whether it stands", async () => {
    const { transaction_id: id } = (await facilitated(world)).fac;
    await follow(world);
    expect((await askAbout(id)).body).toEqual({ facilitation_id: id, status: "settled", reversed_at: null });
    await takenAway(world, id);
    expect((await askAbout(id)).body).toMatchObject({ status: "reversed", reversed_at: expect.any(String) });
    expect((await askAbout(id.replace(/.$/, id.endsWith("0") ? "1" : "0"))).status).toBe(404);
  });

  it("name no agent in a status list", async () => {
    world = await withEmptyCache(world);
    const { status, text } = await ask("getStatusList");
    expect(status).toBe(200);
    for (const { did } of stage.shown) expect(readable(text)).not.toContain(did.slice("did:aeap:".length));
  });

  it.each(BESIDE)("%s contains nothing of a platform", async (named) => {
    const [method = "", path = ""] = named.split(" ");
    const reply = await world.call(method, path.replace(":asset", "swagger-ui.css"), { key: null });
    expect([reply.status < 400, ownIn(reply)]).toEqual([true, []]);
    expect([...reply.headers.keys()].filter((name) => !HEADERS.includes(name))).toEqual([]);
  });
});

describe("the answers about an account, to a caller that holds its password or its link", () => {
  it("show the account's own data", async () => {
    const email = freshAddress();
    const account = { email, password: PASSWORD, legal_name: "Newcomer GmbH" };
    expect((await ask("registerPlatform", { body: account })).status).toBe(201);
    const token = mailedToken(world, email);
    expect((await ask("verifyEmail", { body: { token, password: PASSWORD } })).body.api_key.raw_key).toMatch(
      /^service_sandbox_/,
    );
    expect((await ask("resendVerification", { body: { email } })).status).toBe(202);
    expect((await ask("logIn", { body: { email, password: PASSWORD } })).status).toBe(201);
    expect((await ask("forgotPassword", { body: { email } })).status).toBe(202);
    const reset = { token: mailedToken(world, email), new_password: "another battery staple" };
    expect((await ask("resetPassword", { body: reset })).status).toBe(200);
  });

  it("reveal nothing of an existing account to a stranger", async () => {
    const email = `ops-${world.platformId}@platform.test`;
    const asked: [string, Json, number][] = [
      ["registerPlatform", { email, password: PASSWORD }, 409],
      ["logIn", { email, password: "a wrong password" }, 401],
      ["resendVerification", { email }, 202],
      ["forgotPassword", { email }, 202],
      ["verifyEmail", { token: "no-such-token" }, 422],
      ["refuseVerification", { token: "no-such-token" }, 422],
      ["resetPassword", { token: "no-such-token", new_password: PASSWORD }, 422],
    ];
    for (const [operationId, body, status] of asked)
      expect([operationId, (await ask(operationId, { body })).status]).toEqual([operationId, status]);
  });
});

// ---- Refusals ------------------------------------------------------------------------------------------------------------

describe.each(open.map(({ operationId }) => operationId))("the refusals of %s", (operationId) => {
  const { method, path } = routeOf(operationId);
  const wrong: [string, CallOptions, string][] =
    method === "post"
      ? [
          ["no body", {}, ""],
          ["no JSON", { rawBody: "{" }, ""],
          ["a body that is too deep", { rawBody: "[".repeat(40) }, ""],
          ["a body that is too large", { rawBody: `"${"a".repeat(300_000)}"` }, ""],
          ["unknown members", { body: { platform_id: true } }, ""],
          ["members of other types", { body: { certificate: 1, email: [], token: {}, password: null } }, ""],
        ]
      : [["an unknown parameter", {}, "?platform_id=plt_1"]];

  it.each([...wrong, ["an unknown object", {}, ""] as const])(
    "with %s name only their envelope",
    async (name, options, query) => {
      for (const accept of ["application/json", "application/problem+json"]) {
        const asked = { ...options, headers: { Accept: accept } };
        const { status, body } = await ask(operationId, asked, query, "did:aeap:00000000-0000-4000-8000-000000000000");
        const isThere = method === "get" && name === "an unknown object" && !/\{(?!n\})/.test(path);
        expect(status >= 400, `${path} ${JSON.stringify(body)}`).toBe(!isThere);
      }
    },
  );
});

it("saw every member that a list names", () => {
  const listed = Object.entries(PUBLIC).flatMap(([operationId, { json, text }]) => [
    ...(json ? [[`${operationId} json`, json] as const] : []),
    ...(text && text !== "page" ? [[`${operationId} text`, text] as const] : []),
  ]);
  const all = [...listed, ["refusal", REFUSAL] as const, ["problem", PROBLEM] as const];
  const unseen = all.flatMap(([name, shape]) =>
    membersOf(shape).flatMap((member) => (seenOf(name).has(member) ? [] : [`${name} ${member}`])),
  );
  expect(unseen).toEqual([]);
});
