// A route with large bodies knows its caller before it reads a body (HTTP-36).
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { drawSessionToken } from "../../src/accounts/links.ts";
import { readBody } from "../../src/http/json.ts";
import { formHeaders } from "../support/form.ts";
import { createWorld, env, ISSUER, type World } from "../support/world.ts";

let world: World;
vi.spyOn(console, "info").mockImplementation(() => undefined);
beforeAll(async () => {
  world = await createWorld();
});

/** Sends a body that never ends, and returns how much of it was read. */
async function upload(headers: Record<string, string>): Promise<{ status: number; pulled: number }> {
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(1_024));
      },
    },
    { highWaterMark: 0 },
  );
  const request = new Request(`${ISSUER}/v1/platform/documents`, {
    method: "POST",
    headers: { ...formHeaders(), ...headers },
    body,
  });
  const context = createExecutionContext();
  const response = await world.serve(async () => world.app.fetch(request, { ...env, DB: world.meter.d1 }, context));
  await response.arrayBuffer();
  await waitOnExecutionContext(context);
  return { status: response.status, pulled };
}

describe("the body of an upload is not read", () => {
  it.each([
    ["without a credential", async () => ({})],
    ["with a management key", async () => ({ "Service-Api-Key": world.key })],
    ["with an unknown session", async () => ({ Authorization: `Bearer ${(await drawSessionToken()).token}` })],
    [
      "with a session that has ended",
      async () => ({
        Authorization: `Bearer ${await world.session({ expiresAt: Date.now() })}`,
      }),
    ],
  ] as const)("%s", async (_what, headers) => {
    expect(await upload(await headers())).toEqual({ status: 401, pulled: 0 });
  });
});

describe("the body of an upload that does not arrive", () => {
  it("is abandoned when its time is over, and the rest of it is not read", async () => {
    let given = 0;
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (given === 3) return new Promise(() => undefined);
        given += 1;
        controller.enqueue(new Uint8Array(10));
      },
      cancel() {
        cancelled = true;
      },
    });
    const request = new Request(ISSUER, { method: "POST", body });
    const limit = { maxBytes: 1_000, tooLarge: () => new Error("too large") as never };
    const message = "The body did not arrive within 0.1 seconds.";
    const refusal = expect.objectContaining({ code: "invalid_request", message });
    await expect(readBody(request, { ...limit, seconds: 0.1 })).rejects.toEqual(refusal);
    expect([given, cancelled]).toEqual([3, true]);
  });

  it("is refused as a fault of the client when it breaks off", async () => {
    const body = new ReadableStream({ start: (controller) => controller.error(new Error("Network connection lost.")) });
    const limit = { maxBytes: 1_000, tooLarge: () => new Error("too large") as never, seconds: 5 };
    const refusal = expect.objectContaining({ code: "invalid_request", message: "The body is incomplete." });
    await expect(readBody(new Request(ISSUER, { method: "POST", body }), limit)).rejects.toEqual(refusal);
  });

  it("is complete when it arrives in time", async () => {
    const request = new Request(ISSUER, { method: "POST", body: "x".repeat(100_000) });
    const bytes = await readBody(request, {
      maxBytes: 100_000,
      tooLarge: () => new Error("too large") as never,
      seconds: 5,
    });
    expect(new TextDecoder().decode(bytes)).toBe("x".repeat(100_000));
  });
});
