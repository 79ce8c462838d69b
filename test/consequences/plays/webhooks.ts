// Plays of webhook endpoints. They select test events only, which are queued when they are made, so that other plays queue nothing for them. Their
// objects sleep, and the play does their work.
import { eq } from "drizzle-orm";
import { webhookDeliveries, webhookEndpoints } from "../../../src/db/tables/webhooks.ts";
import { deliverDue } from "../../../src/webhooks/deliver.ts";
import { replayJob } from "../../../src/webhooks/replay.ts";
import { fanOutJob, pruneDeliveries, resealSecrets, wakeEndpoints } from "../../../src/webhooks/sweep.ts";
import type { Parties } from "../../support/consequences.ts";
import type { Behaviour } from "../../support/receiver.ts";
import { withVars } from "../../support/variants.ts";
import { createWorld, type Json, type World } from "../../support/world.ts";
import { receiver, someEvents } from "../../webhooks/support.ts";
import { DAY, MINUTE, must, type Play, type Plays, store } from "./stage.ts";

const WEBHOOKS = { idFromName: () => null, get: () => ({ wake: () => undefined }) } as never;
const quiet = (world: World): World => withVars(world, { WEBHOOKS });

async function endpoint(world: World, url = "https://hooks.example.com/in", event_types = ["webhook.test"]) {
  const made = await must(201, quiet(world).call("POST", "/v1/webhooks", { body: { url, event_types } }));
  return `/v1/webhooks/${made.webhook_id}`;
}
const idOf = (path: string): string => path.split("/")[3] ?? "";

const ofAccount =
  <T>(prepare: (world: World) => Promise<T>, act: (world: World, prepared: T) => Promise<unknown>): Play =>
  async ({ world }) => {
    const prepared = await prepare(world);
    return async () => {
      await act(quiet(world), prepared);
      return { account: [world.platformId] };
    };
  };

const test = (world: World, path: string): Promise<Json> => must(200, quiet(world).call("POST", `${path}/test`));
const deliver = (world: World, path: string): Promise<unknown> => deliverDue(world.deps, idOf(path), () => true);

/** An endpoint with a waiting test event. */
async function waiting(world: World, behaviour: Behaviour): Promise<string> {
  const path = await endpoint(world, (await receiver(behaviour)).url);
  await test(world, path);
  return path;
}

const failedFor = async (world: World, path: string, ms: number): Promise<void> =>
  store(world, (db) =>
    db
      .update(webhookEndpoints)
      .set({ failingSince: world.now() - ms })
      .where(eq(webhookEndpoints.webhookId, idOf(path))),
  );

const disable = (world: World, path: string) =>
  must(200, quiet(world).call("PATCH", path, { body: { status: "disabled" } }));
async function disabledEndpoint(world: World): Promise<string> {
  const path = await endpoint(world);
  await disable(world, path);
  return path;
}
const remove = (world: World, path: string) => must(204, quiet(world).call("DELETE", path));

/** This many events of a new account that may have five a day, so that its calls are refused once they are counted. */
async function usedUp(world: World, count: number): Promise<() => Promise<Parties>> {
  await quiet(world).run(fanOutJob);
  const own = await createWorld({ WEBHOOKS, EVENTS_A_DAY: "sandbox=5,production=5" });
  await someEvents(own, count);
  return async () => {
    await own.run(fanOutJob);
    return { account: [own.platformId] };
  };
}

export const WEBHOOK_PLAYS: Plays = {
  createWebhook: {
    always: ofAccount(
      async () => undefined,
      (world) => endpoint(world),
    ),
  },
  patchWebhook: {
    "its address, its events and its description change": ofAccount(
      (world) => endpoint(world),
      (world, path) => {
        const body = { url: "https://two.example.com/", event_types: ["task.closed"], description: "Two" };
        return must(200, world.call("PATCH", path, { body }));
      },
    ),
    "it is disabled": ofAccount((world) => endpoint(world), disable),
    "it is enabled again": ofAccount(disabledEndpoint, (world, path) =>
      must(200, world.call("PATCH", path, { body: { status: "enabled" } })),
    ),
  },
  rotateWebhookSecret: {
    always: ofAccount(
      (world) => endpoint(world),
      (world, path) => must(200, world.call("POST", `${path}/rotate-secret`, { body: {} })),
    ),
  },
  deleteWebhook: {
    "it is enabled": ofAccount((world) => endpoint(world), remove),
    "it is disabled": ofAccount(disabledEndpoint, remove),
  },
  testWebhook: { always: ofAccount((world) => endpoint(world), test) },
  redeliver: {
    "it has ended": ofAccount(
      async (world) => {
        const path = await endpoint(world, (await receiver()).url);
        const { delivery_id } = await test(world, path);
        await deliver(world, path);
        return `${path}/deliveries/${delivery_id}/redeliver`;
      },
      (world, path) => must(200, world.call("POST", path)),
    ),
    "it was never tried": ofAccount(
      async (world) => {
        const path = await endpoint(world);
        return `${path}/deliveries/${(await test(world, path)).delivery_id}/redeliver`;
      },
      (world, path) => must(200, world.call("POST", path)),
    ),
  },
  replayEvents: {
    always: ofAccount(
      (world) => endpoint(world),
      (world, path) =>
        must(
          200,
          world.call("POST", `${path}/replay`, { body: { since: new Date(world.now() - MINUTE).toISOString() } }),
        ),
    ),
  },

  fan_out_events: {
    "no endpoint selects it": ofAccount(
      (world) => world.draft("CONSUMER"),
      (world) => world.run(fanOutJob),
    ),
    "80 % of a quota of the account is used": async ({ world }) => usedUp(world, 4),
    "a quota of the account is used up": async ({ world }) => usedUp(world, 5),
  },
  deliver_webhooks: {
    "deliveries are due, and it wakes their endpoints": ofAccount(
      async (world) => test(world, await endpoint(world)),
      (world) => world.run(wakeEndpoints),
    ),
  },
  replay_events: {
    // An account of its own, because the endpoint would get the events of later cases.
    "events follow its position": async ({ world }) => {
      const own = await createWorld();
      await own.draft("CONSUMER");
      const path = await endpoint(own, undefined, ["agent.registered"]);
      const body = { since: new Date(own.now() - DAY).toISOString() };
      await must(200, quiet(own).call("POST", `${path}/replay`, { body }));
      return async () => {
        await quiet(world).run(replayJob);
        return { account: [own.platformId] };
      };
    },
  },
  prune_deliveries: {
    "deliveries are older than 30 days": ofAccount(
      async (world) => {
        // The world's clock has moved on since earlier cases.
        await world.run(pruneDeliveries);
        const path = await waiting(world, {});
        await deliver(world, path);
        const own = eq(webhookDeliveries.webhookId, idOf(path));
        await store(world, (db) => db.update(webhookDeliveries).set({ deliveryId: "dlv_000" }).where(own));
      },
      (world) => world.run(pruneDeliveries),
    ),
  },
  reseal_webhook_secrets: {
    "a secret is sealed under an older key": ofAccount(
      (world) => endpoint(world),
      async (world) => {
        const older = String(world.deps.env.WEBHOOK_SEAL_KEYS);
        const newer = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
        const rotated = withVars(world, { WEBHOOK_SEAL_KEYS: `${newer},${older}` });
        await rotated.run(resealSecrets);
      },
    ),
  },

  deliver: {
    "the receiver accepts it": ofAccount((world) => waiting(world, {}), deliver),
    "the receiver fails for the first time": ofAccount((world) => waiting(world, { status: 500 }), deliver),
    "the receiver is gone": ofAccount((world) => waiting(world, { status: 410 }), deliver),
    "the receiver has failed for five days": ofAccount(async (world) => {
      const path = await waiting(world, { status: 500 });
      await failedFor(world, path, 5 * DAY);
      return path;
    }, deliver),
    "its endpoint was deleted": ofAccount(async (world) => {
      const path = await waiting(world, {});
      await remove(world, path);
      return path;
    }, deliver),
  },
};
