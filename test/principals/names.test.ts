// Every field that takes a name refuses characters that a reader does not see (HTTP-8), and a variant of an existing legal name is found (PRN-3).
import { beforeAll, describe, expect, it } from "vitest";
import { agentBody, createWorld, expectStatus, principalBody, type Reply, type World } from "../support/world.ts";

let world: World;
let principal_id: string;
beforeAll(async () => {
  world = await createWorld();
  principal_id = await world.principal();
});

const year = (years: number) => new Date(Date.now() + years * 360 * 86_400_000).toISOString();
const attested = (field: string, value: string) => ({
  verification_attestation: {
    attestation_id: "att_1",
    verifier_id: "ver_1",
    model: "kyb",
    issued_at: year(0),
    expires_at: year(1),
    [field]: value,
  },
});
const register = (overrides: Record<string, unknown>) =>
  world.call("POST", "/v1/principals", { body: principalBody(overrides) });
const agent = (overrides: Record<string, unknown>) =>
  world.call("POST", "/v1/agents", { body: { ...agentBody("CONSUMER"), principal_id, ...overrides } });
const scope = agentBody("CONSUMER")["scope"] as Record<string, unknown>;

const FIELDS: [string, (value: string) => Promise<Reply>][] = [
  ["legal_name", (value) => register({ legal_name: value })],
  ["external_ref", (value) => register({ external_ref: value })],
  ["verification_attestation.attestation_id", (value) => register(attested("attestation_id", value))],
  ["verification_attestation.verifier_id", (value) => register(attested("verifier_id", value))],
  ["profile.display_name", (value) => agent({ profile: { display_name: value, description: null } })],
  ["scope.capabilities.0", (value) => agent({ scope: { ...scope, capabilities: [value] } })],
];

describe.each(FIELDS)("%s", (field, send) => {
  it.each([
    ["a control character", "Ac\u0007me"],
    ["a line break", "Ac\nme"],
    ["a change of direction", "Ac\u202eme"],
    ["a zero-width space", "Ac\u200bme"],
    ["a soft hyphen", "Ac\u00adme"],
    ["a tag character", "Acme\u{e0041}"],
    ["nothing visible", "\u3164"],
    ["marks alone", "\u0301\u0301"],
    ["an empty Braille cell", "\u2800"],
    ["an empty Braille cell between words", "Acme\u2800Ltd"],
  ])("with %s is 422, and names nothing", async (_name, value) => {
    const reply = await send(value);
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(reply.body.field_errors).toMatchObject([{ field, code: "invalid_format" }]);
  });
});

describe("a text of several lines", () => {
  const describeAs = (description: string) => agent({ profile: { display_name: "Buyer", description } });

  it("keeps its line breaks and emoji, and takes neither control characters nor a change of direction", async () => {
    const description = "First.\nSecond: 👩\u200d🔬.";
    expect(expectStatus(await describeAs(description), 201).identity.profile.description).toBe(description);
    for (const bad of ["a\u0000b", "a\u202eb"]) {
      expect((await describeAs(bad)).body.field_errors).toMatchObject([{ field: "profile.description" }]);
    }
  });
});

describe("a variant of a legal name", () => {
  const suffix = () => crypto.randomUUID().slice(0, 8);

  it.each([
    ["of another width", "Acme", "Ａcme"],
    ["in capitals, with ß as SS", "Robotik Straße", "ROBOTIK STRASSE"],
    ["with the capital ẞ", "Robotik Straße", "ROBOTIK STRAẞE"],
    ["with a final sigma", "Σίσυφος", "ΣΊΣΥΦΟΣ"],
    ["with a ligature", "Office", "Oﬃce"],
    ["with its accent apart", "Café", "Cafe\u0301"],
    ["with a space that does not break", "Acme Robotics", "Acme\u00a0Robotics"],
  ])("%s is found: 409 external_ref_exists", async (_name, one, other) => {
    const end = suffix();
    const first = expectStatus(await register({ legal_name: `${one} ${end}` }), 201);
    const reply = await register({ legal_name: `${other} ${end}` });
    expect([reply.status, reply.body.code]).toEqual([409, "external_ref_exists"]);
    expect(reply.body.detail).toEqual({ principal_id: first.principal_id, matched: "legal_name_and_country" });
  });

  it("with an invisible character is refused as a name", async () => {
    const end = suffix();
    expectStatus(await register({ legal_name: `Acme ${end}` }), 201);
    expect((await register({ legal_name: `Ac\u200bme ${end}` })).status).toBe(422);
  });
});
