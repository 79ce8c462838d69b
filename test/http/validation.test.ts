// Faulty values are 422 and named together (HTTP-8, HTTP-11, HTTP-12), and refusals keep their order: 401 before 404, 404 before 422 (HTTP-18).
import { beforeAll, describe, expect, it } from "vitest";
import { generateManagementKey } from "../../src/accounts/keys.ts";
import {
  agentBody,
  BRANDS,
  createWorld,
  expectStatus,
  type Json,
  principalBody,
  type Reply,
  type World,
} from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

type Fault = { field: string; code: string };
const faultsOf = (reply: Reply): [string, string][] =>
  reply.body.field_errors.map(({ field, code }: Fault) => [field, code]).sort();

async function expectFaults(
  reply: Promise<Reply>,
  faults: [string, string][],
  code = "validation_failed",
): Promise<void> {
  const answered = await reply;
  expect([answered.status, answered.body.code]).toEqual([422, code]);
  expect(faultsOf(answered)).toEqual([...faults].sort());
  for (const fault of answered.body.field_errors) expect(fault.message).toMatch(/\.$/);
}

const register = (body: unknown, query = "") => world.call("POST", `/v1/principals${query}`, { body });
const registerRaw = (rawBody: string) => world.call("POST", "/v1/principals", { rawBody });
const count = async (): Promise<number> => {
  const { results } = await world.deps.env.DB.prepare("select count(*) as n from principals").all<{ n: number }>();
  return results[0]?.n ?? -1;
};

describe("the faults of a request", () => {
  it("are all named at once, in the body, inside its objects, and in the query; and nothing is registered", async () => {
    const before = await count();
    const body = {
      legal_name: 5,
      country: "de",
      external_ref: "",
      nickname: "x",
      customer_id: "c".repeat(101),
      verification_attestation: { placeholder: true, colour: "red", tier: "TIER_9" },
    };
    await expectFaults(register(body, "?expand=all"), [
      ["legal_name", "invalid_type"],
      ["country", "invalid_format"],
      ["entity_type", "required"],
      ["external_ref", "too_short"],
      ["nickname", "unknown_field"],
      ["customer_id", "too_long"],
      ["verification_attestation.colour", "unknown_field"],
      ["verification_attestation.tier", "invalid_value"],
      ["expand", "unknown_field"],
    ]);
    expect(await count()).toBe(before);
  });

  it("in an attestation name its fields", async () => {
    const verification_attestation = { attestation_id: "a", verifier_id: "", model: "kyx", issued_at: "yesterday" };
    await expectFaults(register(principalBody({ verification_attestation })), [
      ["verification_attestation.verifier_id", "too_short"],
      ["verification_attestation.model", "invalid_value"],
      ["verification_attestation.issued_at", "invalid_format"],
      ["verification_attestation.expires_at", "required"],
    ]);
  });

  it.each([
    ["none", undefined, "required"],
    ["null", null, "invalid_type"],
    ["text", "kyb", "invalid_type"],
  ])("in an attestation that is %s name the attestation", async (_name, verification_attestation, code) => {
    await expectFaults(register(principalBody({ verification_attestation })), [["verification_attestation", code]]);
  });

  it.each(["[]", "null", "5", '"text"', "true"])("include %s as the body of this call", async (rawBody) => {
    await expectFaults(registerRaw(rawBody), [["", "invalid_type"]]);
  });

  it.each(["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"])(
    "include a field named %s as an unknown one, at any depth and in the query",
    async (name) => {
      const { legal_name, verification_attestation: _attestation, ...rest } = principalBody();
      const tail = JSON.stringify(rest).slice(1);
      const polluted = `{"${name}":{"legal_name":${JSON.stringify(legal_name)}},"verification_attestation":{"placeholder":true,"${name}":1},${tail}`;
      await expectFaults(registerRaw(polluted), [
        [name, "unknown_field"],
        ["legal_name", "required"],
        [`verification_attestation.${name}`, "unknown_field"],
      ]);
      await expectFaults(world.call("GET", `/v1/principals?${name}=1`), [[name, "unknown_field"]]);
      expect(({} as Json).legal_name).toBeUndefined();
    },
  );

  it("include those of a rule across fields together with those of the schema", async () => {
    const body = {
      ...agentBody("PROVIDER"),
      principal_id: await world.principal(),
      endpoint_url: "ftp://x",
      cert_tier: "TIER_1",
      scope: {
        authorized_actions: ["purchase"],
        capabilities: ["a,b"],
        dispute_window_days: 366,
        max_transaction_value: "1",
      },
    };
    await expectFaults(world.call("POST", "/v1/agents", { body }), [
      ["endpoint_url", "invalid_format"],
      ["cert_tier", "cert_tier_role_mismatch"],
      ["scope.authorized_actions", "authorized_action_role_mismatch"],
      ["scope.capabilities.0", "invalid_format"],
      ["scope.dispute_window_days", "too_big"],
      ["scope.max_transaction_value", "field_not_allowed_for_role"],
    ]);
  });
});

describe("the message of a fault states what is expected", () => {
  const principal = (field: string, value: unknown) =>
    world.call("POST", "/v1/principals", { body: principalBody({ [field]: value }) });
  const words = (count: number) => Array.from({ length: count }, (_, i) => `word ${i}`);
  const agent = (changed: Record<string, unknown>) => {
    const body = agentBody("CONSUMER");
    const principal_id = world.tenantPrincipalId;
    const scope = { ...(body["scope"] as object), ...changed };
    return world.call("POST", "/v1/agents", { body: { ...body, principal_id, scope } });
  };
  const openMarkets = async (markets: unknown[]) => {
    const { did } = await world.draft("PROVIDER");
    return world.call("POST", `/v1/agents/${did}/scope/authorized_markets`, { body: { markets } });
  };
  it.each<[string, () => Promise<Reply>, string]>([
    ["a country", () => principal("country", "de"), "Must be two capital letters of ISO 3166-1 alpha-2, such as DE."],
    ["an entity type", () => principal("entity_type", "gmbh"), "Must be one of company, individual."],
    ["a name", () => principal("legal_name", "x".repeat(301)), "Must be at most 300 characters."],
    ["an empty name", () => principal("legal_name", ""), "Must be at least 1 character."],
    [
      "a certificate",
      () => world.call("POST", "/v1/verify/certificate", { body: { certificate: "x".repeat(40_001) } }),
      "Must be at most 40000 characters.",
    ],
    ["an empty list", () => openMarkets([]), "Must be at least 1 entry."],
    ["a long list", () => agent({ capabilities: words(51) }), "Must be at most 50 entries."],
    ["a name's type", () => principal("legal_name", 7), "Must be a string."],
    ["a list's type", () => agent({ capabilities: "translation" }), "Must be a list."],
    ["a number's type", () => agent({ dispute_window_days: "14" }), "Must be a number."],
    ["a whole number's type", () => agent({ dispute_window_days: 1.5 }), "Must be a whole number."],
    ["a body", () => world.call("POST", "/v1/principals", { body: [] }), "Must be a JSON object."],
    ["a page", () => world.call("GET", "/v1/agents?limit=0"), "Must be at least 1."],
    [
      "a key",
      () => world.call("POST", "/v1/principals", { body: principalBody(), headers: { "Idempotency-Key": "" } }),
      "Must be 1 to 255 printable ASCII characters.",
    ],
  ])("%s", async (_name, ask, message) => {
    const { status, body } = await ask();
    expect([status, body.field_errors.map((fault: { message: string }) => fault.message)]).toEqual([422, [message]]);
  });

  it("names the position in a body that cannot be read", async () => {
    const ask = async (rawBody: string) => (await world.call("POST", "/v1/principals", { rawBody })).body.message;
    expect(await ask('{"a": 1,\n "b" 2}')).toBe("The body is not valid JSON: see line 2 column 6.");
    expect(await ask('{"a": 1, "a": 2}')).toBe('An object in the body has the key "a" twice.');
  });
});

describe("a query", () => {
  it.each<[string, [string, string][]]>([
    ["limit=101", [["limit", "too_big"]]],
    ["limit=0", [["limit", "too_small"]]],
    ["limit=-1", [["limit", "too_small"]]],
    ["limit=1.5", [["limit", "invalid_type"]]],
    ["limit=many", [["limit", "invalid_type"]]],
    ["limit=0x10", [["limit", "invalid_type"]]],
    ["limit=1e1", [["limit", "invalid_type"]]],
    ["limit=%205", [["limit", "invalid_type"]]],
    ["limit=", [["limit", "invalid_type"]]],
    ["limit=5&limit=6", [["limit", "invalid_value"]]],
    ["sort=name", [["sort", "unknown_field"]]],
    ["cursor=%25%25", [["cursor", "invalid_format"]]],
    ["cursor=", [["cursor", "too_short"]]],
    ["status=GONE", [["status", "invalid_value"]]],
    [
      "limit=101&sort=name&status=GONE&status=ACTIVE",
      [
        ["limit", "too_big"],
        ["sort", "unknown_field"],
        ["status", "invalid_value"],
        ["status", "invalid_value"],
      ],
    ],
  ])("?%s is a fault", async (query, faults) => {
    for (const path of ["/v1/principals", "/v1/agents"])
      await expectFaults(world.call("GET", `${path}?${query}`), faults);
  });

  it("may have a limit of a hundred", async () => {
    expect((await world.call("GET", "/v1/principals?limit=100")).status).toBe(200);
  });

  it("is a fault on a route that takes none, with and without a credential", async () => {
    await expectFaults(world.call("GET", "/v1/platform?verbose=1"), [["verbose", "unknown_field"]]);
    await expectFaults(world.call("GET", "/.well-known/aeap?verbose=1", { key: null }), [["verbose", "unknown_field"]]);
  });
});

describe("an id in the path that is not a DID", () => {
  it("is 404, like an unknown DID", async () => {
    const reply = await world.call("POST", "/v1/agents/prn_x/scope/authorized_markets", { body: { markets: [] } });
    expect(reply.body).toMatchObject({ code: "not_found", status: 404 });
  });
});

describe("a caller without a credential", () => {
  it("with an unknown key gets no fault of its cursor", async () => {
    const { rawKey } = await generateManagementKey("sandbox", BRANDS);
    for (const path of ["/v1/agents?cursor=x", "/v1/principals?cursor=x"]) {
      expect((await world.call("GET", path, { key: rawKey })).body.code).toBe("invalid_credentials");
    }
  });

  it("is 401 before a fault of the path, the query or the body is named", async () => {
    const reply = await world.call("POST", "/v1/principals?x=1", { key: null, body: { nonsense: true } });
    expect([reply.status, reply.body.code, reply.body.field_errors]).toEqual([401, "invalid_credentials", undefined]);
  });

  it("is 401 before a fault of the Idempotency-Key is named", async () => {
    const headers = { "Idempotency-Key": "é" };
    const reply = await world.call("POST", "/v1/principals", { key: null, body: principalBody(), headers });
    expect([reply.status, reply.body.code]).toEqual([401, "invalid_credentials"]);
  });
});

describe("a DID in a path", () => {
  it("may be percent-encoded", async () => {
    const { did } = await world.consumer();
    const encoded = did.replaceAll(":", "%3A");
    expect(expectStatus(await world.call("GET", `/v1/agents/${encoded}`), 200).did).toBe(did);
    expect(expectStatus(await world.call("GET", `/v1/agents/${encoded}/status`, { key: null }), 200).did).toBe(did);
  });

  it.each(["%E0%A4%A", "%00", "%zz", "a".repeat(3000), "did:aeap:%F0%9F%A4%96"])("that is %s is 404", async (did) => {
    expect((await world.call("GET", `/v1/agents/${did}`)).status).toBe(404);
    expect((await world.call("GET", `/v1/agents/${did}/status`, { key: null })).status).toBe(404);
    expect((await world.call("POST", `/v1/agents/${did}/activate`)).status).toBe(404);
  });
});

describe("an amount", () => {
  const limited = (amount: string) => {
    const scope = `{"authorized_actions":["purchase"],"capabilities":[],"max_transaction_value":${amount}}`;
    return async () => {
      const rest = { ...agentBody("CONSUMER"), principal_id: await world.principal(), scope: undefined };
      return world.call("POST", "/v1/agents", { rawBody: `${JSON.stringify(rest).slice(0, -1)},"scope":${scope}}` });
    };
  };

  it.each([
    ["0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"],
    ["1e-06", "0.000001"],
    ["1.0", "1.00"],
    ["12.5e1", "125.00"],
    ['"10.50"', "10.50"],
    ["9007199254.740993", "9007199254.740993"],
  ])("%s is read as decimal text, never as a float, and answered in plain decimals", async (sent, read) => {
    const aid = expectStatus(await limited(sent)(), 201);
    expect(aid.identity.scope.max_transaction_value).toBe(read);
  });

  it.each(["-1", '"1,5"', '""', '"Infinity"', "true", "{}", "1e999"])("%s is refused", async (sent) => {
    const reply = await limited(sent)();
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(reply.body.field_errors[0].field).toBe("scope.max_transaction_value");
  });
});
