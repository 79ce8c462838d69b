// Lists of disputes (DSP-9): an agent's own, an account's by every filter and as CSV, and the operators' list of all; and the whole file of a dispute
// (DSP-16).
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { verifyReceipt } from "../../src/protocol/receipt.ts";
import { type Pair, pairOf } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { copyRow } from "../support/copies.ts";
import { type Agent, createWorld, expectStatus, ISSUER, type Json, type World } from "../support/world.ts";
import { act, arbitrated, byOperator, disputed, OPERATOR_PATH, PATH, pass, resolve } from "./support.ts";

const ids = (listed: Json): string[] => listed.data.map(({ dispute_id }: Json) => dispute_id);
const read = async (of: World, query = "", key = of.key): Promise<Json> =>
  expectStatus(await of.call("GET", `${PATH}?${query}`, { key }), 200);
const list = async (of: World, query = ""): Promise<string[]> => ids(await read(of, query));
const own = async (of: World, agent: Agent, query = ""): Promise<string[]> =>
  ids(expectStatus(await of.as(agent, "GET", `${PATH}?${query}`), 200));

/** `here`: an account whose agents trade with each other, and sell to an agent of `there`. */
let here: World;
let there: World;
let within: Pair;
let sold: Pair;
let first: string;
let second: string;
let third: string;
beforeAll(async () => {
  [here, there] = [await createWorld(), await createWorld()];
  within = await pairOf(here);
  sold = { consumer: await there.consumer(), provider: within.provider };
  first = (await disputed(here, { pair: within, amount: "1.00" })).id;
  // Resets the escrow, because the vault does not cover the disputed amount and the provider has to sell again.
  await rows("update escrows set disputed = 0, state = 'FUNDING' where did = ?", within.provider.did);
  await rows("update agents set escrow_states = '{}' where did = ?", within.provider.did);
  const bought = await facilitatedBy(there, sold);
  second = bought.id;
  await rows("update escrows set disputed = 0, state = 'FUNDING' where did = ?", within.provider.did);
  await rows("update agents set escrow_states = '{}' where did = ?", within.provider.did);
  const last = await disputed(here, { pair: within, amount: "2.00" });
  third = last.id;
  expectStatus(await act(here, last.consumer, third, "withdraw"), 200);
});
/** Disputes a purchase through the consumer's world. */
const facilitatedBy = (world: World, pair: Pair) => disputed(world, { pair, amount: "3.00" });

describe("an account", () => {
  it("lists the disputes of all its agents once, newest first, by every filter", async () => {
    expect(await list(here)).toEqual([third, second, first]);
    expect(await list(there)).toEqual([second]);
    expect(await list(here, "role=consumer")).toEqual([third, first]);
    expect(await list(there, "role=provider")).toEqual([]);
    expect(await list(here, `did=${within.consumer.did}`)).toEqual([third, first]);
    expect(await list(here, `did=${sold.consumer.did}`)).toEqual([]);
    expect(await list(here, "status=resolved")).toEqual([third]);
    expect(await list(here, "status=pre_arbitration")).toEqual([second, first]);
    expect(await list(here, "status=arbitration")).toEqual([]);
    const { data } = await read(here);
    expect(await list(here, `since=${data[1].filed_at}`)).toEqual([third, second]);
    expect(await list(here, `until=${data[1].filed_at}`)).toEqual([first]);
    expect((await read(here, "", here.liveKey)).data).toEqual([]);
  });

  it("lists them in pages", async () => {
    const page = await read(here, "limit=2");
    expect([ids(page), page.has_more]).toEqual([[third, second], true]);
    const rest = await read(here, `limit=2&cursor=${page.next_cursor}`);
    expect([ids(rest), rest.has_more, rest.next_cursor]).toEqual([[first], false, null]);
    const other = await here.call("GET", `${PATH}?limit=2&status=resolved&cursor=${page.next_cursor}`);
    expect([other.status, other.body.code]).toEqual([422, "validation_failed"]);
  });

  it("shows each in its effective status", async () => {
    await pass(second, 7);
    try {
      expect(await list(here, "status=arbitration")).toEqual([second]);
      expect(await list(here, "status=pre_arbitration")).toEqual([first]);
    } finally {
      await pass(second, -7);
    }
  });
});

describe("an account's CSV", () => {
  const csv = async (of: World, query = ""): Promise<string[][]> => {
    const reply = await of.call("GET", `${PATH}?${query}`, { headers: { Accept: "text/csv" } });
    expectStatus(reply, 200);
    expect(reply.headers.get("content-disposition")).toBe('attachment; filename="disputes.csv"');
    const lines = reply.text.split("\r\n");
    expect(lines.pop()).toBe("");
    return lines.map((line) => line.split(","));
  };
  const csvIds = async (of: World, query = "") => (await csv(of, query)).slice(1).map(([id]) => id);

  it("has a line for each dispute, with every member of the JSON except the words of the parties", async () => {
    const [names = [], ...lines] = await csv(here, "limit=1");
    const { data } = await read(here);
    const words = ["description", "resolution_sought"];
    expect(names).toEqual(Object.keys(data[0]).filter((name) => !words.includes(name)));
    const cells = data.map((row: Json) => names.map((name) => (row[name] === null ? "" : String(row[name]))));
    expect(lines).toEqual(cells);
    expect(lines).toHaveLength(3);
  });

  it("takes the same filters", async () => {
    const queries = ["role=consumer", `did=${within.consumer.did}`, "status=resolved", "status=pre_arbitration"];
    for (const query of queries) expect(await csvIds(here, query)).toEqual(await list(here, query));
    expect(await csvIds(there)).toEqual([second]);
    expect(await csvIds(here, `did=${sold.consumer.did}`)).toEqual([]);
  });

  it("covers 31 days: the last ones, those from an instant on, or those before one", async () => {
    const world = await createWorld();
    const { id } = await disputed(world);
    const copies = {
      dispute_id: "printf('dsp_%d', i)",
      transaction_id: "t.transaction_id || '-' || i",
      filed_at: `t.filed_at - i * ${10 * DAY_MS}`,
    };
    await copyRow("disputes", `dispute_id = '${id}'`, copies, { to: 6 });
    const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();
    expect(await csvIds(world)).toEqual([id, "dsp_1", "dsp_2", "dsp_3"]);
    expect(await csvIds(world, `since=${ago(15)}`)).toEqual([id, "dsp_1"]);
    expect(await csvIds(world, `until=${ago(25)}`)).toEqual(["dsp_3", "dsp_4", "dsp_5"]);
    expect(await csvIds(world, `since=${ago(45)}&until=${ago(15)}`)).toEqual(["dsp_2", "dsp_3", "dsp_4"]);
    const { next_cursor } = await read(world, "limit=1");
    for (const [query, field] of [
      [`since=${ago(32)}`, "since"],
      [`since=${ago(50)}&until=${ago(10)}`, "since"],
      [`cursor=${next_cursor}`, "cursor"],
    ]) {
      const { status, body } = await world.call("GET", `${PATH}?${query}`, { headers: { Accept: "text/csv" } });
      expect([status, body.code, body.field_errors[0].field]).toEqual([422, "validation_failed", field]);
    }
  });
});

describe("an agent", () => {
  it("lists its own disputes", async () => {
    expect(await own(here, within.consumer)).toEqual([third, first]);
    expect(await own(here, within.provider, "role=provider")).toEqual([third, second, first]);
    expect(await own(here, within.provider, "role=consumer")).toEqual([]);
    expect(await own(here, within.provider, "status=resolved")).toEqual([third]);
    const other = await here.as(within.consumer, "GET", `${PATH}?did=${within.provider.did}`);
    expect([other.status, other.body.code]).toEqual([422, "validation_failed"]);
  });

  it("lists the disputes that were filed from an instant on, and before one", async () => {
    const { data } = await read(here);
    const [newest, middle, oldest] = data.map(({ filed_at }: Json) => filed_at);
    const { consumer, provider } = within;
    expect(await own(here, provider, `since=${middle}`)).toEqual([third, second]);
    expect(await own(here, provider, `until=${middle}`)).toEqual([first]);
    expect(await own(here, provider, `since=${oldest}&until=${newest}`)).toEqual([second, first]);
    expect(await own(here, provider, `since=${newest}&until=${oldest}`)).toEqual([]);
    // A dispute of the other consumer stands between this agent's own.
    expect(await own(here, consumer, `since=${middle}`)).toEqual([third]);
    expect(await own(here, consumer, `until=${newest}&role=consumer&status=pre_arbitration`)).toEqual([first]);
    const page = expectStatus(await here.as(provider, "GET", `${PATH}?until=${newest}&limit=1`), 200);
    expect(await own(here, provider, `until=${newest}&limit=1&cursor=${page.next_cursor}`)).toEqual([first]);
    const turned = await here.as(provider, "GET", `${PATH}?since=${oldest}&limit=1&cursor=${page.next_cursor}`);
    expect([turned.status, turned.body.field_errors[0].field]).toEqual([422, "cursor"]);
  });

  it("gets JSON even if it asks for CSV", async () => {
    const reply = await here.as(within.consumer, "GET", PATH, undefined, { Accept: "text/csv" });
    expect([reply.headers.get("content-type"), ids(reply.body)]).toEqual(["application/json", [third, first]]);
  });
});

it("an unknown parameter is a fault of an account's, an agent's and the operators' list", async () => {
  const replies = [
    await here.call("GET", `${PATH}?state=resolved`),
    await here.call("GET", `${PATH}?state=resolved`, { headers: { Accept: "text/csv" } }),
    await here.as(within.consumer, "GET", `${PATH}?state=resolved`),
    await byOperator(here, "GET", `${OPERATOR_PATH}?state=resolved`),
  ];
  for (const { status, body } of replies)
    expect([status, body.field_errors.map(({ field, code }: Json) => [field, code])]).toEqual([
      422,
      [["state", "unknown_field"]],
    ]);
});

describe("an operator", () => {
  const all = async (query = ""): Promise<string[]> =>
    ids(expectStatus(await byOperator(here, "GET", `${OPERATOR_PATH}?limit=100&${query}`), 200));
  it("lists the disputes of all accounts, or of one", async () => {
    expect((await all()).filter((id) => [first, second, third].includes(id))).toEqual([third, second, first]);
    expect(await all(`platform_id=${there.platformId}`)).toEqual([second]);
    expect(await all(`platform_id=${here.platformId}&status=resolved`)).toEqual([third]);
    expect(await all(`platform_id=${here.platformId}&environment=production`)).toEqual([]);
    expect((await all("environment=production")).includes(first)).toBe(false);
  });

  it("reads the whole file, which a platform cannot read", async () => {
    const one = await disputed(here);
    const evidence = { description: "The note.", sha256: "AB".repeat(32), media_type: "text/plain" };
    expectStatus(await act(here, one.provider, one.id, "evidence", evidence), 201);
    await arbitrated(here, one);
    expectStatus(await resolve(here, one.id, { resolution: "rejected" }), 200);
    const file = expectStatus(await byOperator(here, "GET", `${OPERATOR_PATH}/${one.id}`), 200);
    expect(file).toMatchObject({
      dispute_id: one.id,
      resolution: "rejected",
      finding: "So it stands in the delivery note.",
      messages: [{ message: "It was delivered.", offer_amount: null }],
      evidence: [{ number: 1, submitted_by: "provider", sha256: "ab".repeat(32), uri: null, media_type: "text/plain" }],
      transaction: { transaction_id: one.fac.transaction_id, gross_amt: "10.00" },
      intent: { intent_id: one.intent.intent_id, status: "SETTLED" },
      task: { task_id: one.task, status: "confirmed", outcome: "confirmed" },
      ratings: { provider: 0.67, consumer: 0.33 },
    });
    const { keys } = expectStatus(await here.call("GET", "/.well-known/aeap-ca-jwks", { key: null }), 200);
    expect(await verifyReceipt(file.receipt, { keys }, { issuer: ISSUER })).toMatchObject({ ok: true });
    expect((await here.call("GET", `${OPERATOR_PATH}/${one.id}`)).status).toBe(401);
    expect((await byOperator(here, "GET", `${OPERATOR_PATH}/dsp_nothing`)).body.code).toBe("not_found");
    const log = expectStatus(await byOperator(here, "GET", "/v1/operator/activity?action=dispute.resolved"), 200);
    expect(log.data[0]).toMatchObject({ subject: { type: "dispute", id: one.id }, detail: { resolution: "rejected" } });
  });

  it.each<[Record<string, unknown>, string, string]>([
    [{ resolution: "settled" }, "resolution", "invalid_value"],
    [{ resolution: "partially_upheld" }, "refund_amount", "required"],
    [{ resolution: "rejected", refund_amount: "1" }, "refund_amount", "invalid_value"],
    [{ resolution: "upheld", refund_amount: "11" }, "refund_amount", "too_big"],
    [{ resolution: "upheld", refund_amount: "0" }, "refund_amount", "too_small"],
    [{ resolution: "upheld", reason: "" }, "reason", "too_short"],
  ])("%o is refused", async (body, field, code) => {
    const one = await disputed(here);
    await arbitrated(here, one);
    const reply = await resolve(here, one.id, body);
    expect([reply.status, reply.body.field_errors.map((fault: Json) => [fault.field, fault.code])]).toEqual([
      422,
      [[field, code]],
    ]);
  });
});
