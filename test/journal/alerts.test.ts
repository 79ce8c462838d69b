// Alerts (JOB-8 to JOB-11): raised, counted while they are open, listed, acknowledged, and mailed at most once an hour for each kind.
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import type { Deps } from "../../src/context.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { commit } from "../../src/db/batch.ts";
import { alertMails, alerts } from "../../src/db/tables/journal.ts";
import { mailAlertsJob } from "../../src/jobs/alerts.ts";
import { type Alert, raiseAlert } from "../../src/journal/alerts.ts";
import { stopped } from "../support/clock.ts";
import { type SentMail, watchMails } from "../support/mails.ts";
import { deliver } from "../support/queue.ts";
import { createWorld, env, expectStatus, type World } from "../support/world.ts";

/** The world's clock stands still. */
let world: World;
beforeEach(async () => {
  world = stopped(await createWorld());
  await world.deps.db.delete(alerts);
  await world.deps.db.delete(alertMails);
});
afterEach(() => world.deps.db.delete(alerts));

const PATH = "/v1/operator/alerts";
const gas: Alert = { kind: "low_gas", subject: "registrar on base", message: "The account holds 1 wei." };
const late: Alert = { kind: "job_lag", subject: "auto_confirm_tasks", message: "Due for 12 minutes." };
/** Raises alerts together, and lets a millisecond pass. */
async function raise(...found: Alert[]) {
  const { db } = world.deps;
  await commit(
    db,
    found.map((alert) => raiseAlert(db, alert, world.now())),
  );
  world.advance(1);
}
const asOperator = (method: string, path: string) =>
  world.call(method, path, { key: null, headers: { Authorization: `Bearer ${inject("operatorKey")}` } });
const list = async (query = "") => expectStatus(await asOperator("GET", `${PATH}${query}`), 200).data;

describe("the list of alerts", () => {
  it("shows the alerts that are not acknowledged, newest first", async () => {
    await raise(gas);
    await raise(late);
    const [newest, oldest] = await list();
    expect(oldest).toMatchObject({ ...gas, seen: 1, acknowledged_at: null, acknowledged_by: null });
    expect(oldest.last_seen_at).toBe(oldest.raised_at);
    expect(newest).toMatchObject(late);
  });

  it("counts an alert that is found again, with its latest message", async () => {
    await raise(gas);
    await raise({ ...gas, message: "The account holds nothing." });
    expect(await list()).toMatchObject([{ subject: gas.subject, seen: 2, message: "The account holds nothing." }]);
    await raise({ ...gas, subject: "registrar on base-sepolia" });
    expect(await list()).toHaveLength(2);
  });

  it("is read page by page, and its cursor is refused for another list", async () => {
    for (const subject of ["a", "b", "c"]) await raise({ ...gas, subject });
    const first = expectStatus(await asOperator("GET", `${PATH}?limit=2`), 200);
    expect(first).toMatchObject({ has_more: true, data: [{ subject: "c" }, { subject: "b" }] });
    const cursor = encodeURIComponent(first.next_cursor);
    expect(await list(`?limit=2&cursor=${cursor}`)).toMatchObject([{ subject: "a" }]);
    const other = await asOperator("GET", `${PATH}?status=acknowledged&cursor=${cursor}`);
    expect([other.status, other.body.code]).toEqual([422, "validation_failed"]);
  });

  it("is for operators only", async () => {
    const asked = [
      await world.call("GET", PATH),
      await world.call("GET", PATH, { key: null }),
      await world.call("POST", `${PATH}/alt_0/acknowledge`),
    ];
    expect(asked.map(({ status, body }) => [status, body.code])).toEqual(Array(3).fill([401, "invalid_credentials"]));
  });
});

describe("acknowledging an alert", () => {
  const acknowledge = (id: string) => asOperator("POST", `${PATH}/${id}/acknowledge`);

  it("removes it from the list and names the operator; a second time changes nothing", async () => {
    await raise(gas);
    const [{ alert_id }] = await list();
    const taken = expectStatus(await acknowledge(alert_id), 200);
    expect(taken).toMatchObject({ alert_id, acknowledged_at: expect.any(String), acknowledged_by: expect.any(String) });
    expect(expectStatus(await acknowledge(alert_id), 200)).toEqual(taken);
    expect(await list()).toEqual([]);
    expect(await list("?status=acknowledged")).toEqual([taken]);
  });

  it("ends it: another alert is raised if the same thing is found again", async () => {
    await raise(gas);
    const [{ alert_id }] = await list();
    await acknowledge(alert_id);
    await raise(gas);
    const [again] = await list();
    expect(again).toMatchObject({ subject: gas.subject, seen: 1 });
    expect(again.alert_id).not.toBe(alert_id);
  });

  it("counts once when ten operators do it at once", async () => {
    await raise(gas);
    const [{ alert_id }] = await list();
    const replies = await Promise.all(Array.from({ length: 10 }, () => acknowledge(alert_id)));
    expect(new Set(replies.map((reply) => expectStatus(reply, 200).acknowledged_at)).size).toBe(1);
  });

  it("answers 404 for an unknown alert", async () => {
    const reply = await acknowledge("alt_00000000000000000000000000");
    expect([reply.status, reply.body.code]).toEqual([404, "not_found"]);
  });
});

describe("mails of alerts", () => {
  const ADDRESS = "on-call@service.test";
  const REFUSING = {
    send: async () => {
      throw new Error("mail cannot be sent");
    },
  } as never;
  /** Runs the job as the cron does and returns the mails that it sent. With `refuses`, sending fails. */
  async function mailed(options: { address?: string; refuses?: boolean } = {}): Promise<SentMail[]> {
    const { address = ADDRESS, refuses = false } = options;
    const { sent, MAIL } = watchMails(env.MAIL);
    const bindings = { ...world.deps.env, OPERATOR_ALERT_EMAIL: address, MAIL: refuses ? REFUSING : MAIL };
    const deps: Deps = { ...world.deps, env: bindings };
    await world.run(mailAlertsJob, deps);
    return sent;
  }

  it("name all open alerts of a kind in one mail, and each alert once", async () => {
    await raise(gas, { ...gas, subject: "registrar on base-sepolia" }, late);
    const sent = await mailed();
    expect(sent.map(({ to, subject }) => [to, subject.replace(/^\[.*\] /, "")]).sort()).toEqual([
      [ADDRESS, "job lag: 1"],
      [ADDRESS, "low gas: 2"],
    ]);
    const mail = sent.find(({ subject }) => subject.endsWith("low gas: 2"));
    expect(mail?.from).toEqual({ name: world.deps.config.operatorName, email: world.deps.env.MAIL_FROM });
    for (const part of ["registrar on base", "registrar on base-sepolia", gas.message, PATH]) {
      for (const form of [mail?.text, mail?.html]) expect(form).toContain(part);
    }
    world.advance(HOUR_MS);
    expect(await mailed()).toEqual([]);
  });

  it("are sent at most once an hour for each kind; later alerts are in the next mail", async () => {
    await raise(gas);
    expect(await mailed()).toHaveLength(1);
    await raise({ ...gas, subject: "registrar on base-sepolia" });
    expect(await mailed()).toEqual([]);
    await raise(late);
    expect((await mailed()).map(({ subject }) => subject)).toEqual([expect.stringContaining("job lag: 1")]);
    // An hour has passed then since the mail about the gas, but not since the other one.
    world.advance(HOUR_MS - 3);
    expect(await mailed()).toEqual([]);
    world.advance(1);
    expect((await mailed()).map(({ text }) => text)).toEqual([expect.stringContaining("registrar on base-sepolia")]);
  });

  it("are sent once, also by concurrent runs", async () => {
    await raise(gas);
    const sent = await Promise.all([mailed(), mailed(), mailed()]);
    expect(sent.flat()).toHaveLength(1);
  });

  it("are retried in the next minute if they cannot be sent", async () => {
    await raise(gas);
    await expect(mailed({ refuses: true })).rejects.toThrow("mail cannot be sent");
    expect(await mailed()).toHaveLength(1);
  });

  it("are not sent for acknowledged alerts, nor without an address", async () => {
    await raise(gas);
    expect(await mailed({ address: "" })).toEqual([]);
    await world.deps.db.update(alerts).set({ acknowledgedAt: world.now() }).where(eq(alerts.kind, "low_gas"));
    expect(await mailed()).toEqual([]);
  });

  it("are recorded once the mail binding has accepted them", async () => {
    await raise(gas);
    expect(await mailed()).toHaveLength(1);
    expect(await world.deps.db.select().from(alerts)).toMatchObject([{ mailedAt: expect.any(Number) }]);
  });
});

describe("messages whose last attempt failed", () => {
  it("raise an alert for each kind of work", async () => {
    const job = { kind: "provision_market", did: "did:aeap:1", environment: "sandbox", network: "base" };
    const bodies = [job, { ...job, did: "did:aeap:2" }, { kind: "hand_on_events" }];
    await deliver(world, "agent-accountability-chain-dead", bodies);
    const found = await list();
    expect(found.map(({ kind, subject, seen }: (typeof found)[number]) => [kind, subject, seen]).sort()).toEqual([
      ["dead_letter", "agent-accountability-chain hand_on_events", 1],
      ["dead_letter", "agent-accountability-chain provision_market", 2],
    ]);
  });

  it("raise an alert for webhooks too, although the minute trigger delivers what they are about", async () => {
    const message = { kind: "deliver", webhookId: "whe_1" };
    await deliver(world, "agent-accountability-webhooks-dead", [message, message]);
    expect(await list()).toMatchObject([{ subject: "agent-accountability-webhooks deliver", seen: 2 }]);
  });
});
