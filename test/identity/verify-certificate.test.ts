// `POST /v1/verify/certificate` also checks, besides signature and dates, whether the certificate is still valid (IDN-25).
import { eq } from "drizzle-orm";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { HOUR_MS } from "../../src/core/limits.ts";
import { certificates } from "../../src/db/tables/agents.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterEach(() => {
  vi.useRealTimers();
});

const check = async (certificate: string): Promise<Json> =>
  expectStatus(await world.call("POST", "/v1/verify/certificate", { key: null, body: { certificate } }), 200);
const NOTHING = { valid: false, agent_id: null, cert_tier: null, economic_role: null, claims: null };
const send = async (method: string, path: string, body?: Json): Promise<Json> =>
  expectStatus(await world.call(method, path, body === undefined ? {} : { body }), 200);

describe("a certificate", () => {
  it("that is still valid passes, in one trip and three rows", async () => {
    const agent = await world.consumer();
    world.meter.reset();
    expect(await check(agent.certificate)).toMatchObject({ valid: true, reason: null, agent_id: agent.did });
    const { trips, rowsRead, rowsWritten } = world.meter.reading;
    expect([trips, rowsWritten]).toEqual([1, 0]);
    expect(rowsRead).toBeLessThanOrEqual(3);
  });

  it.each<[string, (agent: Agent) => Promise<unknown>]>([
    ["suspended", ({ did }) => send("PATCH", `/v1/agents/${did}/status`, { status: "SUSPENDED" })],
    ["suspended with its principal", ({ principalId }) => send("POST", `/v1/principals/${principalId}/suspend`)],
    ["given another certificate for its key", ({ did }) => send("POST", `/v1/agents/${did}/certificate`)],
  ])("of an agent that was %s is valid", async (_what, act) => {
    const agent = await world.consumer();
    await act(agent);
    expect(await check(agent.certificate)).toMatchObject({ valid: true, reason: null });
  });

  it.each<[string, string, (agent: Agent) => Promise<unknown>]>([
    ["revoked", "was revoked", ({ did }) => send("POST", `/v1/agents/${did}/revoke`, { reason: "Sanctioned." })],
    ["revoked", "was terminated", ({ did }) => send("PATCH", `/v1/agents/${did}/status`, { status: "TERMINATED" })],
    [
      "revoked",
      "ended with its principal",
      async ({ principalId }) => {
        await send("POST", `/v1/principals/${principalId}/suspend`);
        await send("POST", `/v1/principals/${principalId}/close`);
      },
    ],
    ["replaced", "has another key", ({ did }) => send("POST", `/v1/agents/${did}/rotate-key`)],
    ["unknown", "is not its own", ({ did }) => world.deps.db.delete(certificates).where(eq(certificates.did, did))],
  ])("is %s, when its agent %s", async (reason, _what, act) => {
    const agent = await world.consumer();
    await act(agent);
    expect(await check(agent.certificate)).toEqual({ ...NOTHING, reason });
  });

  it("is valid to the last second of its grace, and then replaced", async () => {
    const agent = await world.consumer();
    const { previous_key_expires_at } = await send("POST", `/v1/agents/${agent.did}/rotate-key`, { grace_hours: 1 });
    const until = Date.parse(previous_key_expires_at);
    vi.useFakeTimers({ toFake: ["Date"], now: until - 1 });
    expect(await check(agent.certificate)).toMatchObject({ valid: true });
    vi.setSystemTime(until);
    expect(await check(agent.certificate)).toEqual({ ...NOTHING, reason: "replaced" });
  });

  it("is expired after its last second, even if it was replaced before", async () => {
    const verification_attestation = {
      attestation_id: `att_${crypto.randomUUID()}`,
      verifier_id: "acme-verification",
      model: "kyb",
      issued_at: new Date(world.now() - HOUR_MS).toISOString(),
      expires_at: new Date(world.now() + HOUR_MS).toISOString(),
    };
    const agent = await world.consumer({ principal_id: await world.principal({ verification_attestation }) });
    await send("POST", `/v1/agents/${agent.did}/rotate-key`);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * HOUR_MS });
    expect(await check(agent.certificate)).toEqual({ ...NOTHING, reason: "expired" });
  });
});
