// An owner closes the account: it ends at once and for good, with its principals and agents; its history stays (ACC-27).
import { eq } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  accountLinks,
  managementKeys,
  passwords,
  platforms,
  seenDevices,
  sessions,
} from "../../src/db/tables/accounts.ts";
import { agents, certificates } from "../../src/db/tables/agents.ts";
import { events } from "../../src/db/tables/journal.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { CERTIFICATE_STATUS } from "../../src/protocol/status-list.ts";
import {
  accountOf,
  close,
  entriesOf,
  givePassword,
  holdsMoney,
  inStatus,
  nameOf,
  noticesOf,
  outcome,
  PASSWORD,
  principalsOf,
  publicly,
  revocations,
  storedAgent,
} from "../cascades/account-support.ts";
import { facilitated } from "../facilitation/support.ts";
import { setEscrow } from "../payments/support.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { bearer, logIn, post, signUp } from "./support.ts";

let world: World;
let other: World;
beforeAll(async () => {
  other = await createWorld();
});
beforeEach(async () => {
  world = await createWorld();
  await givePassword(world);
  // Rows that an earlier test left unfinished.
  await world.deps.db.delete(walks);
});

/** The refusal, after which only the last use of the session has changed. */
async function refused(act: () => Promise<{ status: number; body: { code?: string } }>, status: number, code: string) {
  await world.person("GET", "/v1/platform");
  const before = await dumpDatabase();
  const reply = await act();
  expect([reply.status, reply.body.code]).toEqual([status, code]);
  expect(await dumpDatabase()).toEqual(before);
  return reply;
}

const ofAccount = <T extends { platformId: string }>(rows: readonly T[]): T[] =>
  rows.filter(({ platformId }) => platformId === world.platformId);

describe("closing an account", () => {
  it("ends the account, its keys, sessions, devices, links and password, in one commit", async () => {
    const { db } = world.deps;
    const { email } = (await accountOf(world)) ?? { email: "" };
    const token = await world.session();
    await db.insert(accountLinks).values({
      tokenHash: crypto.randomUUID(),
      platformId: world.platformId,
      kind: "reset_password",
      email,
      createdAt: world.now(),
      expiresAt: world.now() + 1_000,
    });
    const seen = { network: "local", device: "Firefox on Linux", seenAt: world.now() };
    await db.insert(seenDevices).values({ platformId: world.platformId, ...seen });
    const answer = expectStatus(await close(world), 200);
    const row = await accountOf(world);
    expect(row).toMatchObject({ status: "CLOSED" });
    const closed_at = new Date(row?.closedAt ?? 0).toISOString();
    expect(answer).toEqual({ platform_id: world.platformId, platform_status: "CLOSED", closed_at });
    for (const table of [managementKeys, sessions, accountLinks, passwords, seenDevices]) {
      expect(ofAccount(await db.select().from(table))).toEqual([]);
    }
    for (const reply of [
      await world.call("GET", "/v1/platform"),
      await world.call("GET", "/v1/platform", { key: world.liveKey }),
      await world.person("GET", "/v1/platform"),
      await world.call("GET", "/v1/platform", { key: null, headers: bearer(token) }),
      await close(world),
      await post(world, "/v1/platform/sessions", { email, password: PASSWORD }),
    ]) {
      expect(outcome(reply)).toEqual([401, "invalid_credentials"]);
    }
  });

  it("is in the log with the person's address, and in a last notice to both addresses", async () => {
    const adminContactEmail = "admin@contact.test";
    await world.deps.db.update(platforms).set({ adminContactEmail }).where(eq(platforms.platformId, world.platformId));
    expectStatus(await close(world), 200);
    expect(await entriesOf(world, "account.closed")).toMatchObject([
      {
        actorType: "dashboard_admin",
        actorId: (await accountOf(world))?.email,
        subjectType: "platform",
        changes: { platform_status: { from: "ACCREDITED", to: "CLOSED" } },
      },
    ]);
    const notices = await noticesOf(world);
    expect(notices.map(({ recipient }) => recipient).toSorted()).toEqual(
      [adminContactEmail, `ops-${world.platformId}@platform.test`].toSorted(),
    );
    for (const { kind, data } of notices) {
      expect([kind, data]).toMatchObject(["customer.account_closed", { retentionYears: 5 }]);
    }
  });

  it("revokes the agents of both environments in every state that is not final, with their certificates", async () => {
    const running = await world.consumer();
    const paused = await world.consumer();
    const gone = await world.consumer();
    const promoted = await world.consumer();
    const draft = await world.draft("CONSUMER");
    for (const [{ did }, status] of [
      [paused, "SUSPENDED"],
      [gone, "TERMINATED"],
    ] as const) {
      expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status } }), 200);
    }
    await world.deps.db.update(agents).set({ environment: "production" }).where(eq(agents.did, promoted.did));
    expectStatus(await close(world), 200);
    const dids = [running, paused, promoted, draft].map(({ did }) => did).sort();
    expect(await inStatus(world, "REVOKED")).toEqual(dids);
    expect(await inStatus(world, "TERMINATED")).toEqual([gone.did]);
    expect(await storedAgent(world, paused.did)).toMatchObject({ suspensionReason: null, suspendedFrom: null });
    const issued = await world.deps.db.select().from(certificates).where(eq(certificates.did, running.did));
    expect(issued.map(({ listedStatus }) => listedStatus)).toEqual([CERTIFICATE_STATUS.invalid]);
    const certified = [running, paused, promoted, gone].map(({ did }) => did).sort();
    // A DRAFT is in no directory; the terminated agent ended before.
    expect(await revocations(world)).toEqual({ log: dids, outbox: dids, feed: certified });
  });

  it("closes the principals of both environments, including the tenant principal, and reports each once", async () => {
    const { db } = world.deps;
    await world.principal();
    const expired = await world.principal();
    const promoted = await world.principal();
    await db.update(principals).set({ status: "ATTESTATION_EXPIRED" }).where(eq(principals.principalId, expired));
    await db.update(principals).set({ environment: "production" }).where(eq(principals.principalId, promoted));
    expectStatus(await close(world), 200);
    const rows = await principalsOf(world);
    expect(rows).toHaveLength(4);
    for (const row of rows) {
      expect(row).toMatchObject({ status: "CLOSED", statusReason: "account_closed", accountStopped: "CLOSED" });
    }
    const ids = rows.map(({ principalId }) => principalId).sort();
    const entries = await entriesOf(world, "principal.closed");
    expect(entries.map(({ subjectId }) => subjectId).sort()).toEqual(ids);
    expect(entries.find(({ subjectId }) => subjectId === expired)?.changes).toEqual({
      status: { from: "ATTESTATION_EXPIRED", to: "CLOSED" },
    });
    const sent = ofAccount(await db.select().from(events).where(eq(events.type, "principal.status_changed")));
    expect(sent.map(({ object }) => object["principal_id"]).sort()).toEqual(ids);
    expect(new Set(sent.map(({ object }) => object["status"]))).toEqual(new Set(["CLOSED"]));
  });

  it.each(["PROFILE_PENDING", "KYB_PENDING", "IN_REVIEW", "ACCREDITED"] as const)(
    "is possible when the account is %s",
    async (status) => {
      await world.deps.db.update(platforms).set({ status }).where(eq(platforms.platformId, world.platformId));
      expect((await close(world)).status).toBe(200);
    },
  );

  it("refuses a management key", async () => {
    const body = { confirmation: nameOf(world), current_password: PASSWORD };
    await refused(() => world.call("POST", "/v1/platform/close", { body }), 401, "invalid_credentials");
  });

  it("is done by one of ten simultaneous calls", async () => {
    await world.person("GET", "/v1/platform");
    const replies = await Promise.all(Array.from({ length: 10 }, () => close(world)));
    const codes = replies.map(({ status }) => status).sort();
    expect(codes.filter((status) => status === 200)).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set([200, 401]));
    expect(await entriesOf(world, "account.closed")).toHaveLength(1);
    expect(await noticesOf(world)).toHaveLength(1);
  });
});

describe("the confirmation", () => {
  it.each([
    ["in another case", (name: string) => name.toLowerCase()],
    ["in part", (name: string) => name.slice(0, -1)],
    ["of the address instead", () => "ops@platform.test"],
  ])("is refused %s, before the password is judged", async (_how, make) => {
    const body = { confirmation: make(nameOf(world)), current_password: "a wrong password" };
    const reply = await refused(() => close(world, body), 422, "confirmation_mismatch");
    expect(reply.body).toMatchObject({ field_errors: [{ field: "confirmation", code: "confirmation_mismatch" }] });
  });

  it("is the legal name in either form of Unicode, without the white space around it", async () => {
    const legalName = "Café Zürich GmbH".normalize("NFC");
    await world.deps.db.update(platforms).set({ legalName }).where(eq(platforms.platformId, world.platformId));
    expect((await close(world, { confirmation: `  ${legalName.normalize("NFD")} ` })).status).toBe(200);
  });

  it("is the address while the account has no legal name", async () => {
    await world.deps.db.update(platforms).set({ legalName: null }).where(eq(platforms.platformId, world.platformId));
    const { email } = (await accountOf(world)) ?? { email: "" };
    await refused(() => close(world, { confirmation: nameOf(world) }), 422, "confirmation_mismatch");
    expect((await close(world, { confirmation: email.toUpperCase() })).status).toBe(200);
  });
});

describe("the current password", () => {
  it("is refused when it is wrong, before any escrow is judged, and counts as a failed log-in", async () => {
    await holdsMoney(world, "production", 1);
    const wrong = { current_password: "a wrong password" };
    const headers = { "CF-Connecting-IP": "203.0.113.77" };
    const attempt = () =>
      world.person("POST", "/v1/platform/close", { body: { confirmation: nameOf(world), ...wrong }, headers });
    const reply = await refused(attempt, 422, "current_password_invalid");
    expect(reply.body).toMatchObject({
      field_errors: [{ field: "current_password", code: "current_password_invalid" }],
    });
    for (let failed = 1; failed < 10; failed++) expect((await attempt()).status).toBe(422);
    const limited = await attempt();
    expect(outcome(limited)).toEqual([429, "rate_limited"]);
    expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
    const { email } = (await accountOf(world)) ?? { email: "" };
    const body = { email, password: PASSWORD };
    const log = await world.call("POST", "/v1/platform/sessions", { key: null, body, headers });
    expect(outcome(log)).toEqual([429, "rate_limited"]);
    // A stranger's failures lock out only the stranger.
    const elsewhere = { "CF-Connecting-IP": "198.51.100.7" };
    expectStatus(await world.call("POST", "/v1/platform/sessions", { key: null, body, headers: elsewhere }), 201);
  });

  it("does not count as a failure when it is right", async () => {
    await holdsMoney(world, "production", 1);
    for (let tried = 0; tried < 12; tried++) {
      expect(outcome(await close(world))).toEqual([409, "close_blocked_escrow"]);
    }
  });
});

describe("an escrow", () => {
  it("that holds funds in production blocks the closing, and is named in the refusal", async () => {
    const did = await holdsMoney(world, "production", 1);
    const reply = await refused(() => close(world), 409, "close_blocked_escrow");
    expect(reply.body).toMatchObject({ detail: { did, network: "base-sepolia" } });
  });

  it("of test money, without funds, or of another account does not block the closing", async () => {
    await holdsMoney(world, "sandbox", 20_000_000);
    await holdsMoney(world, "production", 0);
    const { did } = await other.agent("PROVIDER");
    await setEscrow(other, did, "FUNDING");
    await other.deps.db.update(escrows).set({ environment: "production", balance: 5 }).where(eq(escrows.did, did));
    expect((await close(world)).status).toBe(200);
  });
});

describe("after the closing", () => {
  it("the address is free for a new account", async () => {
    const { email, platformId } = await signUp(world);
    const token = await logIn(world, email, PASSWORD);
    const body = { confirmation: email, current_password: PASSWORD };
    expectStatus(await post(world, "/v1/platform/close", body, bearer(token)), 200);
    const again = await signUp(world, email);
    expect(again.platformId).not.toBe(platformId);
    expectStatus(await world.call("GET", "/v1/platform", { key: again.key }), 200);
    expect(await logIn(world, email, PASSWORD)).toMatch(/^ses_/);
  });

  it("the other side can still read what was settled", async () => {
    const sold = await facilitated(world, { consumer: await other.consumer(), provider: await world.provider() });
    expectStatus(await close(world), 200);
    const { consumer, intent, task, fac } = sold;
    const shown = expectStatus(await other.as(consumer, "GET", `/v1/payment-intents/${intent.intent_id}`), 200);
    expect(shown).toMatchObject({ status: "SETTLED", provider_did: sold.provider.did });
    expectStatus(await other.as(consumer, "GET", `/v1/tasks/${task}`), 200);
    // The paying side still judges the delivery.
    const confirmed = await other.as(consumer, "POST", `/v1/tasks/${task}/confirm`, { outcome: "confirmed" });
    expect(confirmed.status).toBe(200);
    expect(fac.status).toBe("settled");
    expect(await publicly(other, `/v1/agents/${sold.provider.did}/aid?version=2`)).toHaveProperty("did");
  });
});
