// How many forms an isolate holds at once, for one account and for all (HTTP-36): waiting forms are not read, and a place is always released.
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { afterEach, beforeAll, expect, it, vi } from "vitest";
import { documentParts, formBytes, formHeaders } from "../support/form.ts";
import { createWorld, env, ISSUER, type World } from "../support/world.ts";

vi.spyOn(console, "info").mockImplementation(() => undefined);

let accounts: { readonly world: World; readonly token: string }[];
beforeAll(async () => {
  const worlds = [await createWorld(), await createWorld(), await createWorld()];
  accounts = await Promise.all(worlds.map(async (world) => ({ world, token: await world.session() })));
});
afterEach(() => vi.restoreAllMocks());

/** Begins an upload of the n-th account, whose body arrives when the test says so. */
function begin(n: number) {
  const account = accounts[n];
  if (!account) throw new Error("no such account");
  const { world, token } = account;
  const asked = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<Uint8Array>();
  let isRead = false;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        isRead = true;
        asked.resolve();
        controller.enqueue(await sent.promise);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { ...formHeaders(), Authorization: `Bearer ${token}` };
  const request = new Request(`${ISSUER}/v1/platform/documents`, { method: "POST", headers, body });
  const context = createExecutionContext();
  const answered = world.serve(async () => {
    const response = await world.app.fetch(request, { ...env, DB: world.meter.d1 }, context);
    await response.arrayBuffer();
    await waitOnExecutionContext(context);
    return response.status;
  });
  return {
    context,
    answered,
    asked: asked.promise,
    isRead: () => isRead,
    send: () => sent.resolve(formBytes(documentParts("supporting"))),
    breakOff: () => sent.reject(new Error("Network connection lost.")),
  };
}

/** Resolves when the upload has found no place so often. */
function looksInVain(times: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const wait = scheduler.wait.bind(scheduler);
  let looks = 0;
  vi.spyOn(scheduler, "wait").mockImplementation((ms, options) => {
    looks += 1;
    if (looks === times) resolve();
    return wait(ms, options);
  });
  return promise;
}

it("gives an account two places, and reads its third upload when one of them has ended", async () => {
  const running = [begin(0), begin(0)];
  await Promise.all(running.map(({ asked }) => asked));
  const looked = looksInVain(3);
  const third = begin(0);
  await looked;
  expect(third.isRead()).toBe(false);
  running[0]?.send();
  await third.asked;
  expect(await running[0]?.answered).toBe(201);
  for (const { send } of [...running, third]) send();
  expect(await Promise.all([...running, third].map(({ answered }) => answered))).toEqual([201, 201, 201]);
});

it("gives an isolate four places: the fifth upload waits once for any of them, even if its account has places", async () => {
  const running = [begin(0), begin(0), begin(1), begin(1)];
  await Promise.all(running.map(({ asked }) => asked));
  const looked = looksInVain(3);
  const fifth = begin(2);
  await looked;
  expect(fifth.isRead()).toBe(false);
  running[3]?.send();
  await fifth.asked;
  for (const { send } of [...running, fifth]) send();
  expect(await Promise.all([...running, fifth].map(({ answered }) => answered))).toEqual([201, 201, 201, 201, 201]);
});

it("releases the place of an upload that breaks off", async () => {
  for (let round = 0; round < 3; round++) {
    const running = [begin(0), begin(0)];
    await Promise.all(running.map(({ asked }) => asked));
    for (const { breakOff } of running) breakOff();
    expect(await Promise.all(running.map(({ answered }) => answered))).toEqual([400, 400]);
  }
  const wait = vi.spyOn(scheduler, "wait");
  const next = begin(0);
  next.send();
  expect(await next.answered).toBe(201);
  expect(wait).not.toHaveBeenCalled();
});

it("makes the runtime wait for an upload whose client has left, so that it can end", async () => {
  const left = begin(1);
  await left.asked;
  let ended = false;
  const waited = waitOnExecutionContext(left.context).then(() => {
    ended = true;
  });
  await scheduler.wait(0);
  expect(ended).toBe(false);
  left.breakOff();
  await waited;
  expect(await left.answered).toBe(400);
});
