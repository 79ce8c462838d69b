// An operator suspends an account: from the first commit every surface shows it as suspended, before the rows of its agents have followed (ACC-25,
// PRN-16, PRN-17, CRED-11).
import { eq } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { PLATFORM_STATUSES } from "../../src/core/vocabulary.ts";
import { platforms } from "../../src/db/tables/accounts.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { operatorEntries } from "../../src/db/tables/journal.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { asClient, asConsumer, confirm, facilitated, paid } from "../facilitation/support.ts";
import { openIntent, seller } from "../payments/support.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, expectStatus, principalBody, type World } from "../support/world.ts";
import {
  accountOf,
  cascadesLeft,
  crowd,
  dieBefore,
  each,
  entriesOf,
  givePassword,
  inStatus,
  noticesOf,
  outcome,
  PASSWORD,
  principalsOf,
  publicly,
  storedAgent,
  suspend,
  suspensions,
} from "./account-support.ts";
import { withQueue } from "./customer-support.ts";
import { createSlicedWorld, SLICE, workCascades } from "./slices.ts";

const COUNT = 2 * SLICE + SLICE / 2;
const HOUR_MS = 3_600_000;

let world: World;
/** Another platform, whose agents trade with those of the suspended one. */
let other: World;
beforeAll(async () => {
  other = await createWorld();
});
beforeEach(async () => {
  world = await createSlicedWorld();
  // Removes cascades that an earlier test left unfinished.
  await world.deps.db.delete(walks);
});

describe("suspending an account", () => {
  it("answers with the account, and records the operator, the reason, and a notice", async () => {
    const answer = expectStatus(await suspend(world, "Chargebacks of a stolen card."), 200);
    expect(answer).toMatchObject({ platform_id: world.platformId, platform_status: "SUSPENDED" });
    expect(await accountOf(world)).toMatchObject({
      status: "SUSPENDED",
      suspendedFrom: "ACCREDITED",
      suspensionReason: "Chargebacks of a stolen card.",
    });
    expect(await entriesOf(world, "account.suspended")).toMatchObject([
      {
        actorType: "operator",
        subjectType: "platform",
        subjectId: world.platformId,
        changes: {
          platform_status: { from: "ACCREDITED", to: "SUSPENDED" },
          reason: { from: null, to: "Chargebacks of a stolen card." },
        },
      },
    ]);
    const acts = await world.deps.db
      .select()
      .from(operatorEntries)
      .where(eq(operatorEntries.platformId, world.platformId));
    expect(acts).toMatchObject([
      { action: "platform.suspended", subjectType: "platform", detail: { reason: "Chargebacks of a stolen card." } },
    ]);
    const [notice] = await noticesOf(world);
    expect(notice).toMatchObject({
      kind: "customer.account_suspended",
      recipient: (await accountOf(world))?.email,
      data: { reason: "Chargebacks of a stolen card." },
    });
  });

  it.each(PLATFORM_STATUSES)("follows the state machine if the account is %s", async (status) => {
    await world.deps.db.update(platforms).set({ status }).where(eq(platforms.platformId, world.platformId));
    const before = await dumpDatabase();
    const reply = await suspend(world);
    if (["EMAIL_PENDING", "SUSPENDED", "CLOSED"].includes(status)) {
      expect(outcome(reply)).toEqual([409, "invalid_status"]);
      expect(await dumpDatabase()).toEqual(before);
    } else {
      expect(reply.status).toBe(200);
      expect((await accountOf(world))?.suspendedFrom).toBe(status);
    }
  });

  it("needs a reason", async () => {
    const before = await dumpDatabase();
    const reply = await suspend(world, "  ");
    expect(outcome(reply)).toEqual([422, "validation_failed"]);
    expect(reply.body.field_errors[0]).toMatchObject({ field: "reason" });
    expect(await dumpDatabase()).toEqual(before);
  });

  it("refuses its keys, its sessions and a log-in from that commit on", async () => {
    await givePassword(world);
    await world.person("GET", "/v1/platform");
    expectStatus(await suspend(world), 200);
    const email = (await accountOf(world))?.email;
    const body = principalBody();
    for (const reply of [
      await world.call("GET", "/v1/platform"),
      await world.call("POST", "/v1/principals", { body }),
      await world.call("GET", "/v1/platform", { key: world.liveKey }),
      await world.person("GET", "/v1/platform"),
      await world.person("POST", "/v1/platform/close", { body: { confirmation: "x", current_password: PASSWORD } }),
      await world.call("POST", "/v1/platform/sessions", { key: null, body: { email, password: PASSWORD } }),
    ]) {
      expect(outcome(reply)).toEqual([403, "account_suspended"]);
    }
  });
});

describe("from the first commit, before any slice has followed", () => {
  it("every surface shows the agents suspended, even if their rows do not say so yet", async () => {
    const { dids, first } = await crowd(world, COUNT);
    const provider = await seller(world);
    const buyer = await other.consumer();
    const shop = await seller(other);
    const tag = (await world.call("GET", `/v1/agents/${provider.did}/aid`, { key: null })).headers.get("etag");
    dieBefore(world, 3);
    expectStatus(await suspend(world), 200);
    // Only one slice has followed. The provider and the activated agent are put back, as if it had left them.
    expect(await inStatus(world, "SUSPENDED")).toHaveLength(SLICE);
    await world.deps.db
      .update(agents)
      .set({ status: "ACTIVE", suspensionReason: null })
      .where(eq(agents.did, first.did));
    await world.deps.db
      .update(agents)
      .set({ status: "ACTIVE", suspensionReason: null })
      .where(eq(agents.did, provider.did));

    for (const { did } of [first, provider]) {
      expect((await storedAgent(world, did))?.status).toBe("ACTIVE");
      expect(await publicly(world, `/v1/agents/${did}/status`)).toMatchObject({
        status: "SUSPENDED",
        principal_status: "SUSPENDED",
      });
      expect((await publicly(world, `/v1/agents/${did}/aid`)).live).toMatchObject({ status: "SUSPENDED" });
    }
    const aid = await world.call("GET", `/v1/agents/${provider.did}/aid`, {
      key: null,
      headers: { "If-None-Match": tag ?? "" },
    });
    expect(aid.status).toBe(200);
    // A suspended agent still exists, so its key still resolves.
    expect((await publicly(world, `/v1/agents/${provider.did}/did.json`)).verificationMethod).toHaveLength(1);

    // Other agents cannot open intents with them, on either side.
    const asBuyer = await openIntent(other, buyer, provider, "10.00");
    expect(outcome(asBuyer)).toEqual([409, "agent_not_active"]);
    expect(asBuyer.body.detail).toEqual({ did: provider.did, status: "SUSPENDED", principal_status: "SUSPENDED" });
    const asSeller = await other.as(shop, "POST", "/v1/payment-intents", {
      consumer_did: first.did,
      provider_did: shop.did,
      amount: "10.00",
      currency: "USDC",
    });
    expect(outcome(asSeller)).toEqual([409, "agent_not_active"]);
    // Their own calls are refused.
    expect(outcome(await openIntent(world, first, shop, "10.00"))).toEqual([403, "account_suspended"]);

    expect(await cascadesLeft(world)).toMatchObject([
      {
        subject: world.platformId,
        trigger: "principal_stops",
        payload: { reason: "operator", actor: { type: "operator" } },
      },
    ]);
    expect(new Set((await principalsOf(world)).map(({ accountStopped }) => accountStopped))).toEqual(
      new Set(["SUSPENDED"]),
    );
    expect(dids).toHaveLength(COUNT);
  });

  it("leaves the principals of every other account as they are", async () => {
    await world.principal();
    await other.principal();
    expectStatus(await suspend(world), 200);
    expect((await principalsOf(world)).map(({ accountStopped }) => accountStopped)).toEqual(["SUSPENDED", "SUSPENDED"]);
    expect((await principalsOf(other)).filter(({ accountStopped }) => accountStopped !== null)).toEqual([]);
  });
});

describe("the rows of the agents", () => {
  const message = () => ({ kind: "record", job: finishCascades.name, ids: [world.platformId] }) as const;

  it.each([
    ["before the second slice is read", 3, SLICE],
    ["before the second slice is written", 4, SLICE],
    ["before the third slice is written", 6, 2 * SLICE],
  ])("follow by the job if the isolate dies %s, and each is reported once", async (_when, trip, before) => {
    const { dids } = await crowd(world, COUNT);
    dieBefore(world, trip);
    expectStatus(await suspend(world), 200);
    expect(await inStatus(world, "SUSPENDED")).toHaveLength(before);
    expect((await suspensions(world)).log).toEqual(await inStatus(world, "SUSPENDED"));
    expect(await world.run(finishCascades)).toBe(1);
    expect(await inStatus(world, "SUSPENDED")).toEqual(dids);
    expect(await suspensions(world)).toEqual(each(dids));
    expect(await cascadesLeft(world)).toEqual([]);
    expect(await world.run(finishCascades)).toBe(0);
    expect(await suspensions(world)).toEqual(each(dids));
  });

  it("follow by messages of the queue, even if several run at once, and each is reported once", async () => {
    const { dids } = await crowd(world, COUNT);
    dieBefore(world, 3);
    await suspend(world);
    await Promise.all([1, 2, 3].map(() => workCascades(world, [message(), message()])));
    expect(await suspensions(world)).toEqual(each(dids));
    expect(await cascadesLeft(world)).toEqual([]);
  });

  it("follow in one invocation as far as it has room, and then by the queue", async () => {
    const { dids } = await crowd(world, 4 * SLICE + 1);
    const { held, sent, drain } = withQueue(world);
    expectStatus(await suspend(held), 200);
    expect(await inStatus(world, "SUSPENDED")).toHaveLength(3 * SLICE);
    expect(sent).toEqual([{ ...message(), apart: true }]);
    await drain();
    expect(await suspensions(world)).toEqual(each(dids));
  });

  it("get the reason and the earlier status, but a DRAFT and an agent that was suspended before do not", async () => {
    const { first } = await crowd(world, 6);
    const [waiting = ""] = await inStatus(world, "FUNDING");
    const draft = await world.draft("CONSUMER");
    const paused = await world.consumer();
    await world.call("PATCH", `/v1/agents/${paused.did}/status`, { body: { status: "SUSPENDED", reason: "Ours." } });
    expectStatus(await suspend(world), 200);
    expect(await storedAgent(world, first.did)).toMatchObject({
      status: "SUSPENDED",
      suspensionReason: "operator",
      suspendedFrom: "ACTIVE",
    });
    const funding = await storedAgent(world, waiting);
    expect(funding).toMatchObject({ suspensionReason: "operator", suspendedFrom: "FUNDING" });
    expect((await storedAgent(world, draft.did))?.status).toBe("DRAFT");
    expect(await storedAgent(world, paused.did)).toMatchObject({ suspensionReason: "platform", statusNote: "Ours." });
    const [entry] = await entriesOf(world, "agent.suspended").then((all) =>
      all.filter(({ subjectId }) => subjectId === first.did),
    );
    expect(entry).toMatchObject({ actorType: "operator", changes: { status: { from: "ACTIVE", to: "SUSPENDED" } } });
  });

  it("take the same number of rows in every slice, however many slices came before", async () => {
    await crowd(world, 3 * SLICE);
    dieBefore(world, 3);
    await suspend(world);
    const read: number[] = [];
    for (let slice = 0; slice < 2; slice++) {
      world.meter.reset();
      dieBefore(world, 4);
      await world.run(finishCascades).catch(() => undefined);
      read.push(world.meter.reading.rowsRead);
    }
    expect(Math.abs((read[0] ?? 0) - (read[1] ?? 1))).toBeLessThan(20);
  });
});

describe("a purchase from before the suspension", () => {
  it("can still be facilitated by the other side, whichever side is suspended", async () => {
    const sold = await paid(world, { consumer: await other.consumer(), provider: await world.provider() });
    const bought = await paid(world, { consumer: await world.consumer(), provider: await other.provider() });
    expectStatus(await suspend(world), 200);
    // The other platform's consumer facilitates with its own proof, but the suspended provider cannot.
    expect(outcome(await asClient(world, sold))).toEqual([403, "account_suspended"]);
    const settled = expectStatus(await asConsumer(other, sold), 200);
    expect(settled).toMatchObject({ status: "settled", intent_id: sold.intent.intent_id });
    // The suspended consumer's proof does not count, but the other provider's does.
    expect(outcome(await asConsumer(world, bought))).toEqual([403, "account_suspended"]);
    expectStatus(await asClient(other, bought), 200);
  });

  it("is confirmed by the other side, or confirms itself", async () => {
    const provider = await world.provider();
    const confirmed = await facilitated(world, { consumer: await other.consumer(), provider });
    const waiting = await facilitated(world, { consumer: await other.consumer(), provider });
    const own = await facilitated(other, { consumer: await world.consumer(), provider: await other.provider() });
    expectStatus(await suspend(world), 200);
    expect(outcome(await confirm(world, own.consumer, own.task))).toEqual([403, "account_suspended"]);
    expectStatus(await confirm(other, confirmed.consumer, confirmed.task), 200);
    world.advance(73 * HOUR_MS);
    await world.run(autoConfirmTasks);
    other.advance(73 * HOUR_MS);
    for (const [{ task, consumer, provider: of }, reader] of [
      [waiting, waiting.consumer],
      [own, own.provider],
    ] as const) {
      const shown = expectStatus(await other.as(reader, "GET", `/v1/tasks/${task}`), 200);
      expect([shown.status, consumer.did, of.did]).toEqual(["auto_confirmed", consumer.did, of.did]);
    }
  });
});

describe("an attestation that ends while the account is suspended", () => {
  it("is recorded, and suspends no agent a second time", async () => {
    const verification_attestation = {
      attestation_id: "att_short",
      verifier_id: "ver_1",
      model: "kyb",
      issued_at: new Date(world.now() - HOUR_MS).toISOString(),
      expires_at: new Date(world.now() + HOUR_MS).toISOString(),
    };
    const principalId = await world.principal({ verification_attestation });
    const { did } = await world.consumer({ principal_id: principalId });
    expectStatus(await suspend(world), 200);
    world.advance(HOUR_MS);
    expect(await world.run(endAttestations)).toBe(1);
    const stored = (await principalsOf(world)).find((row) => row.principalId === principalId);
    expect(stored).toMatchObject({ status: "ATTESTATION_EXPIRED", accountStopped: "SUSPENDED" });
    expect((await suspensions(world)).log).toEqual([did]);
    expect(await storedAgent(world, did)).toMatchObject({ suspensionReason: "operator" });
    // SUSPENDED is shown before ATTESTATION_EXPIRED.
    expect(await publicly(world, `/v1/agents/${did}/status`)).toMatchObject({ principal_status: "SUSPENDED" });
    expect(await world.deps.db.select().from(walks)).toEqual([]);
  });
});
