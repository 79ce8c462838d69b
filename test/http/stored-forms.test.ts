// The service changes some fields when it stores them. The field itself, and every call that uses it, accepts the stored form (HTTP-8, AGT-9).
// Amounts are tested in payments/ceilings, instants in http/instants.
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { emailInput, passwordInput } from "../../src/accounts/schema.ts";
import { agentInput } from "../../src/agents/schema.ts";
import { toIso } from "../../src/core/clock.ts";
import { DAY_MS } from "../../src/core/limits.ts";
import { buildNameSchema, buildNormalizedSchema, buildTextSchema, referenceInput } from "../../src/http/schemas.ts";
import { account } from "../support/chain.ts";
import { runs } from "../support/scale.ts";
import {
  type Agent,
  agentBody,
  createWorld,
  expectStatus,
  type Json,
  principalBody,
  type World,
} from "../support/world.ts";

const { capabilities, authorized_actions } = agentInput.shape.scope.shape;

// ---- Each field alone ----------------------------------------------------------------------------------------------------

/** Texts of people and attackers: letters in both forms, joiners, spaces of all kinds, controls and marks. */
const PIECES = [
  ...'aZ9,@.-"<&é ',
  ...["e\u0301", "\u1f82", "\ufdfa", "\ufb01", "\uff21", "\u212b", "ß", "\u0130", "\u05d0", "\u4e2d\u{e0100}"],
  ...["\u200c", "\u200d", "\u0645\u200c\u0645", "\u0915\u094d\u200d", "\u00a0", "\u3000", "\ufeff", "\u00ad", "\u202e"],
  ...["\t", "\n", "\r\n", "\u0000", "\u2028", "\u{1f469}\u200d\u{1f4bb}", "\u0316\u0301", "\ud800", "a@b.example"],
];
const written = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => pieces.join(""));

describe.each([
  ["a name", buildNameSchema(20)],
  ["a reference", referenceInput],
  ["a text", buildTextSchema(20)],
  ["a capability", capabilities.element],
  ["an action", authorized_actions.element],
  ["an email address", emailInput],
  ["a password", passwordInput],
])("%s", (_name, field) => {
  it("is accepted again in its stored form, and stays unchanged", () => {
    fc.assert(
      fc.property(written, (given) => {
        const stored = field.safeParse(given);
        if (stored.success) expect(field.safeParse(stored.data)).toEqual({ success: true, data: stored.data });
      }),
      { ...runs(20_000), examples: [["  a  "], ["e\u0301"], ["  a@b.example "], [" \u0645\u200c\u0645 "]] },
    );
  });
});

describe("a normalized text", () => {
  const field = buildNormalizedSchema("NFC", 10).max(10, { abort: true });

  it("is judged by its length in its form", () => {
    expect(field.safeParse("\u03b1\u0313\u0300\u0345".repeat(10)).data).toBe("\u1f82".repeat(10));
    expect(field.safeParse(`${"\u03b1\u0313\u0300\u0345".repeat(10)}a`).success).toBe(false);
  });

  it("may be five times as long as its form", () => {
    const long = "\u{1d6fc}\u0313\u0300\u0345".repeat(10);
    expect(buildNormalizedSchema("NFKC", 10).max(10).parse(long)).toBe("\u1f82".repeat(10));
  });

  it("is not normalized if it is too long in every form", () => {
    const disordered = "\u0301\u0316".repeat(26);
    expect(buildNormalizedSchema("NFC", 10).parse(disordered)).toBe(disordered);
    expect(buildNormalizedSchema("NFC", 26).parse(disordered)).not.toBe(disordered);
  });
});

// ---- Over HTTP -----------------------------------------------------------------------------------------------------------

let world: World;
let principalId: string;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld();
  principalId = await world.principal();
  provider = await world.agent("PROVIDER", { principal_id: principalId });
});

const unchanged = async (path: string, body: Json): Promise<void> => {
  const again = await world.call("PATCH", path, { body });
  expect([again.status, again.body.code], JSON.stringify(body)).toEqual([400, "no_changes_requested"]);
};
const found = async (path: string, query: Record<string, string>): Promise<Json[]> =>
  expectStatus(await world.call("GET", `${path}?${new URLSearchParams(query)}`), 200).data;

describe("an external_ref with spaces around it", () => {
  it.each([
    ["/v1/principals", (ref: string) => principalBody({ external_ref: ref }), "principal_id", 409],
    ["/v1/customers", (ref: string) => ({ name: "Group", external_ref: ref }), "customer_id", 409],
    [
      "/v1/agents",
      (ref: string) => ({ ...agentBody("CONSUMER"), principal_id: principalId, external_ref: ref }),
      "did",
      409,
    ],
  ] as const)(
    "at %s is stored without them, and found and accepted in both spellings",
    async (path, bodyOf, id, taken) => {
      const made = expectStatus(await world.call("POST", path, { body: bodyOf("  ref 1 ") }), 201);
      const own = `${path}/${made[id]}`;
      const { external_ref } = expectStatus(await world.call("GET", own), 200);
      expect(external_ref).toBe("ref 1");
      for (const spelling of [external_ref, "  ref 1 "]) {
        expect((await found(path, { external_ref: spelling })).map((one) => one[id])).toEqual([made[id]]);
        expect((await world.call("POST", path, { body: bodyOf(spelling) })).status).toBe(taken);
        await unchanged(own, { external_ref: spelling });
      }
    },
  );
});

describe("words in two forms", () => {
  const [NFC, NFD] = ["\u00fcbersetzen", "u\u0308bersetzen"];

  it("are stored in one form, and searched, delegated and sent again in both", async () => {
    const scope = { authorized_actions: ["purchase", NFD], capabilities: [NFD], dispute_window_days: 14 };
    const agent = await world.agent("CONSUMER", { principal_id: principalId, scope });
    const { identity } = expectStatus(await world.call("GET", `/v1/agents/${agent.did}/aid`, { key: null }), 200);
    expect(identity.scope).toMatchObject({ authorized_actions: ["purchase", NFC], capabilities: [NFC] });
    for (const word of [NFC, NFD]) {
      await unchanged(`/v1/agents/${agent.did}/scope`, {
        authorized_actions: ["purchase", word],
        capabilities: [word],
      });
      expect((await found("/v1/directory/agents", { capabilities: word })).map(({ did }) => did)).toEqual([agent.did]);
      const within = { ...scope, authorized_actions: ["purchase", word], capabilities: [word] };
      await world.agent("CONSUMER", { principal_id: principalId, scope: within, delegated_by: agent.did });
      const delegates = await found("/v1/agents", { principal_id: principalId });
      for (const { did, delegated_by } of delegates)
        if (delegated_by === agent.did)
          await world.call("POST", `/v1/agents/${did}/revoke`, { body: { reason: "Done." } });
    }
  });
});

describe("a market's wallet and network", () => {
  it("may be sent again as they are shown, in capitals, and by CAIP-2", async () => {
    const markets = `/v1/agents/${provider.did}/scope/authorized_markets`;
    const wallet = `0x${account(8).slice(2).toUpperCase()}`;
    const first = { market: "GLOBAL-USDC", network: "eip155:84532", operational_wallet: wallet };
    const [entry] = expectStatus(await world.call("POST", markets, { body: { markets: [first] } }), 200).markets;
    expect(entry).toMatchObject({
      network: "base-sepolia",
      operational_wallet: wallet.toLowerCase(),
      status: "ACTIVE",
    });
    const { market, network, operational_wallet, caip2 } = entry;
    for (const spelling of [network, caip2]) {
      const body = { markets: [{ market, network: spelling, operational_wallet }] };
      expect(expectStatus(await world.call("POST", markets, { body }), 200).markets).toEqual([entry]);
    }
    expect((await found(markets, {})).length).toBe(1);
    const gone = await world.call("DELETE", `${markets}/${market}?network=${encodeURIComponent(caip2)}`);
    expect([gone.status, await found(markets, {})]).toEqual([204, []]);
  });
});

describe("a name, a text and an address", () => {
  it("of an account, an agent and a webhook may be sent again as they are shown", async () => {
    const legal_name = "  M\u00fcller & S\u00f6hne ";
    const principal = await world.principal({ legal_name });
    const shown = expectStatus(await world.call("GET", `/v1/principals/${principal}`), 200);
    expect(shown.legal_name).toBe(legal_name.trim());
    expect(
      (await world.call("POST", "/v1/principals", { body: principalBody({ legal_name: shown.legal_name }) })).status,
    ).toBe(409);

    const profile = { display_name: "  Polyglot ", description: " Two\n lines. \n" };
    const { did } = await world.draft("CONSUMER", { principal_id: principal, profile });
    const agent = expectStatus(await world.call("GET", `/v1/agents/${did}`), 200);
    expect(agent.profile).toMatchObject({ display_name: "Polyglot", description: "Two\n lines." });
    await unchanged(`/v1/agents/${did}`, { profile: { display_name: "Polyglot", description: "Two\n lines." } });

    const endpoint = { url: "https://HOOKS.example.com/In", event_types: ["*"], description: " Mine " };
    const made = expectStatus(await world.call("POST", "/v1/webhooks", { body: endpoint }), 201);
    expect(made.description).toBe("Mine");
    await unchanged(`/v1/webhooks/${made.webhook_id}`, { url: made.url, description: made.description });
  });

  it("with instants at an offset are shown in UTC", async () => {
    const issued_at = toIso(Date.now() - DAY_MS).replace("Z", "+00:00");
    const expires_at = toIso(Date.now() + 100 * DAY_MS).replace("Z", "+00:00");
    const attestation = { attestation_id: "att-forms", verifier_id: "ver-forms", model: "kyb" };
    const id = await world.principal({ verification_attestation: { ...attestation, issued_at, expires_at } });
    const [shown] = await found(`/v1/principals/${id}/attestations`, {});
    const again = {
      ...attestation,
      attestation_id: "att-forms-2",
      issued_at: shown.issued_at,
      expires_at: shown.expires_at,
    };
    const recorded = await world.call("POST", `/v1/principals/${id}/attestations`, { body: again });
    expect(recorded.status).toBe(201);
  });
});
