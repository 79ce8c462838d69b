// Addresses, names and words as they are accepted and stored (HTTP-8).
import { beforeAll, describe, expect, it } from "vitest";
import { faultsOf } from "../agents/support.ts";
import {
  agentBody,
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

async function expectFault(call: Promise<Reply>, field: string, code: string): Promise<void> {
  const reply = await call;
  expect([reply.status, faultsOf(reply)]).toEqual([422, [[field, code]]]);
}

describe("an address of an agent", () => {
  const register = async (url: string) => {
    const principal_id = await world.principal();
    return world.call("POST", "/v1/agents", { body: { ...agentBody("PROVIDER"), principal_id, endpoint_url: url } });
  };

  it.each([
    " https://a.example",
    "https://a.example/\n<script>",
    "ht\ntps://a.example",
    "https://a.example/\u0000",
    "https://a.example\\@b.example",
    "https://a.example/<script>",
    "https://a.example/\u202emoc.knab//:sptth",
    "https://a.example/\u{e0061}x",
    "https://a.example/x\u200b",
    "https:a.example",
    "https:///a.example",
    "javascript:alert(1)",
    "https://user:word@a.example/",
    "https://bücher.example/",
    "https://a\u00ad.example/",
    "https://a\u200b.example/",
    "https://ａ.example/",
    "https://\u212a.example/",
    "https://a%2eexample/",
    "https://0x7f.1/",
    "https://127.1/",
    "https://2130706433/",
    "https://[::0001]/",
    "https://a。example/",
  ])("%j is refused, because a parser would correct it, but it is signed as it is written", async (url) => {
    await expectFault(register(url), "endpoint_url", "invalid_format");
  });

  it.each([
    "HTTPS://A.example",
    "http://127.0.0.1:8080/x?y=[1]#z",
    "https://xn--bcher-kva.example/ä",
    "https://a.example:443/",
    "https://a.example.?x",
    "https://[::1]/",
  ])("%s is accepted as it is written, and the DID document names the same host", async (url) => {
    const { did, identity } = expectStatus(await register(url), 201);
    expect(identity.endpoint_url).toBe(url);
    expectStatus(await world.call("POST", `/v1/agents/${did}/activate`), 200);
    const { service } = expectStatus(await world.call("GET", `/v1/agents/${did}/did.json`, { key: null }), 200);
    const { serviceEndpoint } = service.find(({ type }: Json) => type === "AgentEndpoint");
    expect(new URL(serviceEndpoint).host).toBe(new URL(url).host);
  });
});

describe("a name", () => {
  const register = (legal_name: string) =>
    world.call("POST", "/v1/principals", { body: { ...principalBody(), legal_name } });

  it.each(["Acme\n", "\tAcme", "\u200bAcme", "Acme\ufeff", "Acme\u202e", "\u2028Acme", "Acme\u200c"])(
    "%j is refused, because only spaces are trimmed at its ends",
    async (legalName) => expectFault(register(legalName), "legal_name", "invalid_format"),
  );

  it("loses spaces at its ends, and is otherwise stored as it is written", async () => {
    const tail = crypto.randomUUID();
    const { legal_name } = expectStatus(await register(`  می\u200cخواهم ${tail}  `), 201);
    expect(legal_name).toBe(`می\u200cخواهم ${tail}`);
    const double = await register(`میخواهم ${tail}`);
    expect([double.status, double.body.code]).toEqual([409, "external_ref_exists"]);
  });
});

describe("capabilities in two forms of one text", () => {
  const [composed, decomposed] = ["café", "cafe\u0301"];
  const register = async (capabilities: string[]) => {
    const principal_id = await world.principal();
    const body = agentBody("CONSUMER");
    const scope = { ...(body["scope"] as Json), capabilities };
    return world.call("POST", "/v1/agents", { body: { ...body, principal_id, scope } });
  };

  it("are the same, in a list, in a patch and in the directory", async () => {
    await expectFault(register([composed, decomposed]), "scope.capabilities", "invalid_value");
    const { did, identity } = expectStatus(await register([decomposed]), 201);
    expect(identity.scope.capabilities).toEqual([composed]);
    const same = await world.call("PATCH", `/v1/agents/${did}/scope`, { body: { capabilities: [decomposed] } });
    expect([same.status, same.body.code]).toEqual([400, "no_changes_requested"]);
    expectStatus(await world.call("POST", `/v1/agents/${did}/activate`), 200);
    for (const word of [composed, decomposed]) {
      const query = `capabilities=${encodeURIComponent(word)}`;
      const { data } = expectStatus(await world.call("GET", `/v1/directory/agents?${query}`), 200);
      expect(data.map((entry: Json) => entry.did)).toEqual([did]);
    }
  });
});
