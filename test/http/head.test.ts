// On every route, HEAD is a GET without a body, its proof covers the same as a GET's proof (PRF-3), and a GET with effects takes no HEAD (HTTP-21).
import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/app.ts";
import { paymentIntents } from "../../src/db/tables/money.ts";
import { buyer, seller } from "../payments/support.ts";
import { send } from "../support/variants.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";

let world: World;
let consumer: Agent;
let provider: Agent;
let intent: Json;
beforeAll(async () => {
  world = await createWorld();
  [consumer, provider] = [await buyer(world), await seller(world)];
  intent = await world.intent(consumer, provider);
});

const concrete = (path: string) =>
  path
    .replace("{did}", consumer.did)
    .replace(/\{\w+_id\}/g, "abc_x")
    .replace(/\{\w+\}/g, "x");
const paths = [...new Set(ROUTES.map(({ path }) => path))].map((path) => {
  const methods = ROUTES.filter((route) => route.path === path);
  return [path, methods.find(({ method }) => method === "get") ?? null, methods] as const;
});
const key = () => ({ "Service-Api-Key": world.key });

describe("HEAD", () => {
  it.each(paths)("%s", async (path, reading, methods) => {
    const head = await send(world, concrete(path), { method: "HEAD", headers: key() });
    expect(head.body).toBe("");
    if (reading && !reading.effects) {
      const get = await send(world, concrete(path), { method: "GET", headers: key() });
      expect(head.response.status).toBe(get.response.status);
      expect(head.response.headers.get("content-type")).toBe(get.response.headers.get("content-type"));
    } else {
      expect(head.response.status).toBe(405);
      const allowed = methods.map(({ method }) => method.toUpperCase());
      expect(head.response.headers.get("allow")?.split(", ").sort()).toEqual(allowed.sort());
    }
  });

  it("is refused by the GETs that write something, also with a proof, and opens nothing", async () => {
    // The other GET records that an operator has read a file.
    expect(ROUTES.filter(({ effects }) => effects).map(({ path }) => path)).toEqual([
      "/v1/operator/platforms/{platform_id}/documents/{document_id}",
      "/v1/payment-address",
    ]);
    const parties = { consumer_did: consumer.did, provider_did: provider.did, amount: "1.0" };
    const query = new URLSearchParams({ market: "DE-USDC", network: "base-sepolia", ...parties });
    const path = `/v1/payment-address?${query}`;
    const count = async () => (await world.deps.db.select().from(paymentIntents)).length;
    const before = await count();
    const headers = await world.prove(consumer, "HEAD", path);
    const { response } = await send(world, path, { method: "HEAD", headers });
    expect([response.status, response.headers.get("allow"), await count()]).toEqual([405, "GET", before]);
    expectStatus(await world.as(consumer, "GET", path), 200);
    expect(await count()).toBe(before + 1);
  });
});

describe("the proof of a HEAD", () => {
  const path = () => `/v1/payment-intents/${intent.intent_id}`;
  const head = async (at: string, headers: Record<string, string>) =>
    (await send(world, at, { method: "HEAD", headers })).response.status;

  it("covers the query, like the proof of a GET", async () => {
    expect(await head(path(), await world.prove(consumer, "HEAD", path()))).toBe(200);
    expect(await head(`${path()}?x=1`, await world.prove(consumer, "HEAD", path()))).toBe(401);
    expect(await head(path(), await world.prove(consumer, "HEAD", `${path()}?x=1`))).toBe(401);
    // If the query is signed, the proof is accepted, and the fault of the query is answered.
    expect(await head(`${path()}?x=1`, await world.prove(consumer, "HEAD", `${path()}?x=1`))).toBe(422);
  });

  it("covers only its own method: a GET's proof opens no HEAD, and the other way round", async () => {
    expect(await head(path(), await world.prove(consumer, "GET", path()))).toBe(401);
    const headers = await world.prove(consumer, "HEAD", path());
    expect((await world.call("GET", path(), { key: null, headers })).status).toBe(401);
  });
});
