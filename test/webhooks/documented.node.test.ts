// Runs the receivers that docs/webhooks.md prints: they accept what the service signs (EVT-20), handle each event once, and accept nothing else. The
// names and waits on the page are those of the code.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EXAMPLES } from "../../scripts/openapi/examples.ts";
import { createId } from "../../src/core/ids.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../src/core/limits.ts";
import { EVENT_TYPES } from "../../src/journal/events.ts";
import { drawWebhookSecret, signWebhook } from "../../src/protocol/webhook-signature.ts";
import { isAccepted, postDelivery, RETRY_WAITS_MS } from "../../src/webhooks/post.ts";
import { type Command, end, launch, root } from "../scripts/commands.ts";
import { untilListening } from "../scripts/processes.ts";
import { checkEvent } from "../support/openapi.ts";

const page = readFileSync(join(root, "docs/webhooks.md"), "utf8");
const block = (language: string): string => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? "";

const NODE = join(root, "node_modules/node/bin/node");
const RECEIVERS = [
  { language: "ts", file: "receiver.mts", program: NODE },
  { language: "python", file: "receiver.py", program: "python3" },
] as const;
const secret = drawWebhookSecret();

const { data: SALES } = (EXAMPLES["listTransactions"]?.response ?? {}) as { data?: readonly Record<string, unknown>[] };

type Sent = { readonly secrets?: readonly string[]; readonly age?: number; readonly headers?: Record<string, string> };
type Event = { readonly id: string; readonly body: string };

function eventOf(type: string): Event {
  const now = Date.now();
  const id = createId("evt", now);
  const object = { ...SALES?.[0], transaction_id: createId("fac", now), gross_amt: "10.00" };
  const occurred_at = new Date(now).toISOString();
  const event = { id, type, occurred_at, environment: "sandbox", api_version: "v1", data: { object } } as const;
  if (type === "transaction.settled") checkEvent(event);
  // A member of a later version, with characters beyond ASCII.
  return { id, body: JSON.stringify({ ...event, data: { object: { ...object, memo: "für Ü." } } }) };
}
const settled = (): Event => eventOf("transaction.settled");

/** The headers of a delivery, under both families' names. */
async function headersOf({ id, body }: Event, { secrets = [secret], age = 0 }: Sent = {}) {
  const timestamp = Math.floor(Date.now() / SECOND_MS) - age;
  const signature = await signWebhook(secrets, { id, timestamp, body });
  return {
    "Content-Type": "application/json",
    ...{ "Service-Event-Id": id, "Service-Timestamp": String(timestamp), "Service-Signature": signature },
    ...{ "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": signature },
  };
}

describe.each(RECEIVERS)("the receiver in $language", ({ language, file, program }) => {
  const isThere = program === NODE || spawnSync(program, ["--version"]).status === 0;
  describe.skipIf(!isThere)("while it runs", () => {
    let dir: string;
    let running: Command;
    let db: DatabaseSync;
    let url: string;

    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), "receiver-"));
      symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
      writeFileSync(join(dir, file), block(language));
      db = new DatabaseSync(join(dir, "receiver.db"));
      db.exec(block("sql"));
      const env = { WEBHOOK_SECRET: secret, PORT: "0", PYTHONPATH: join(root, "test/support/python") };
      running = launch(program, [file], { cwd: dir, env: { ...env, NODE_OPTIONS: "", PYTHONDONTWRITEBYTECODE: "1" } });
      url = `http://127.0.0.1:${await untilListening(running)}/`;
    });
    afterAll(async () => {
      await end(running, "SIGKILL");
      db.close();
      rmSync(dir, { recursive: true, force: true });
    });
    beforeEach(() => db.exec("DELETE FROM handled; DELETE FROM sales"));

    const send = async (event: Event, sent: Sent = {}): Promise<number> => {
      const headers = { ...(await headersOf(event, sent)), ...sent.headers };
      return (await fetch(url, { method: "POST", headers, body: event.body })).status;
    };
    const all = (table: string) => db.prepare(`SELECT * FROM ${table}`).all();
    const expectHandled = (...events: readonly Event[]) => {
      const parsed = events.map(({ body }) => JSON.parse(body) as { data: { object: Record<string, string> } });
      expect(all("handled").map((row) => ({ ...row }))).toEqual(events.map(({ id }) => ({ event_id: id })));
      expect(all("sales").map((row) => ({ ...row }))).toEqual(
        parsed.map(({ data }) => ({ transaction_id: data.object["transaction_id"], amount: data.object["gross_amt"] })),
      );
    };

    it("handles an event once that comes twice, and then the next event", async () => {
      const [first, second] = [settled(), settled()];
      expect(await send(first)).toBe(204);
      expectHandled(first);
      expect(await send(first, { age: 60 })).toBe(204);
      expectHandled(first);
      expect(await send(second)).toBe(204);
      expectHandled(first, second);
    });

    it("handles an event once that comes several times at once", async () => {
      const event = settled();
      const answers = await Promise.all(Array.from({ length: 8 }, () => send(event)));
      expect(new Set(answers)).toEqual(new Set([204]));
      expectHandled(event);
    });

    it("accepts what the service posts, and the service counts it as delivered", async () => {
      const event = settled();
      const attempt = await postDelivery({ url, secrets: [secret], eventId: event.id, body: event.body });
      expect(attempt).toMatchObject({ status: 204, error: null });
      expect(isAccepted(attempt)).toBe(true);
      expectHandled(event);
    });

    it("accepts deliveries during a rotation, signed with the old secret and with the new one", async () => {
      const [asOld, asNew] = [settled(), settled()];
      expect(await send(asOld, { secrets: [drawWebhookSecret(), secret] })).toBe(204);
      expect(await send(asNew, { secrets: [secret, drawWebhookSecret()] })).toBe(204);
      expectHandled(asOld, asNew);
    });

    it.each<[string, Sent]>([
      ["under another secret", { secrets: [drawWebhookSecret()] }],
      ["under two other secrets", { secrets: [drawWebhookSecret(), drawWebhookSecret()] }],
      ["ten minutes old", { age: 600 }],
      ["ten minutes ahead", { age: -600 }],
      ["under another event's id", { headers: { "webhook-id": createId("evt", Date.now()) } }],
      ["without an id", { headers: { "webhook-id": "" } }],
      ["with an invalid timestamp", { headers: { "webhook-timestamp": "now" } }],
      ["with a signature without base64", { headers: { "webhook-signature": "v1" } }],
      ["with an invalid signature", { headers: { "webhook-signature": "v1,%%%" } }],
    ])("refuses a delivery %s", async (_name, sent) => {
      expect(await send(settled(), sent)).toBe(400);
      expectHandled();
    });

    it("refuses an altered body", async () => {
      const event = settled();
      const headers = await headersOf(event);
      const body = event.body.replace("10.00", "99.00");
      expect(body).not.toBe(event.body);
      expect((await fetch(url, { method: "POST", headers, body })).status).toBe(400);
      // Not even a blank may be added, although it does not change the meaning.
      expect((await fetch(url, { method: "POST", headers, body: `${event.body} ` })).status).toBe(400);
      expectHandled();
      expect((await fetch(url, { method: "POST", headers, body: event.body })).status).toBe(204);
      expectHandled(event);
    });

    it.each(["webhook.test", "task.opened", "agent.of_a_later_version", "constructor"])("ignores %s", async (type) => {
      expect(await send(eventOf(type))).toBe(204);
      expectHandled();
    });

    it("keeps nothing of an event that fails, and handles it at the next attempt", async () => {
      const event = settled();
      const attempt = () => postDelivery({ url, secrets: [secret], eventId: event.id, body: event.body });
      db.exec("ALTER TABLE sales RENAME TO away");
      try {
        expect(isAccepted(await attempt())).toBe(false);
        expect(all("handled")).toEqual([]);
      } finally {
        db.exec("ALTER TABLE away RENAME TO sales");
      }
      expect(isAccepted(await attempt())).toBe(true);
      expectHandled(event);
    });
  });
});

describe("the page", () => {
  const rowsBehind = (head: string): string[] => {
    const [, rows = ""] = page.split(`| ${head} |\n`);
    return rows
      .slice(0, rows.indexOf("\n\n"))
      .split("\n")
      .filter((row) => !row.startsWith("|---"));
  };
  const names = (text: string): string[] => [...text.matchAll(/`([\w.-]+)`/g)].map(([, name = ""]) => name);

  it("names the types of events", () => {
    const named = rowsBehind("`data.object` | Types").flatMap((row) => names(row.split("|")[2] ?? ""));
    expect(named.toSorted()).toEqual([...EVENT_TYPES].toSorted());
    for (const [, type] of page.matchAll(/"type": "([\w.]+)"/g)) expect(EVENT_TYPES).toContain(type);
  });

  it("names the headers that are sent", async () => {
    const { promise, resolve } = Promise.withResolvers<IncomingHttpHeaders>();
    const server = createServer(({ headers }, response) => {
      resolve(headers);
      response.writeHead(204).end();
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;
    const { id, body } = settled();
    await postDelivery({ url: `http://127.0.0.1:${port}/`, secrets: [secret], eventId: id, body });
    server.close();
    const sent = await promise;
    const pairs = rowsBehind("Header | The same as | Value").map((row) => names(row).slice(0, 2));
    expect(pairs.map(([own = "", standard = ""]) => sent[own.toLowerCase()] === sent[standard])).toEqual([
      true,
      true,
      true,
    ]);
    const signing = Object.keys(sent).filter((name) => /^(service|webhook)-/.test(name));
    expect(
      pairs
        .flat()
        .map((name) => name.toLowerCase())
        .sort(),
    ).toEqual(signing.sort());
  });

  it("names the waits between attempts", () => {
    const UNITS: Record<string, number> = { s: SECOND_MS, min: MINUTE_MS, h: HOUR_MS };
    const list = /comes after ([\d a-z,]+), each/.exec(page)?.[1] ?? "";
    const waits = list.split(", ").map((wait) => {
      const [count, unit = ""] = wait.split(" ");
      return Number(count) * (UNITS[unit] ?? 0);
    });
    expect(waits).toEqual([...RETRY_WAITS_MS]);
  });
});
