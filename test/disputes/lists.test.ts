// Lists of disputes (DSP-9): an agent's own, an account's by every filter and as CSV, the operator's of all; and the whole file of one (DSP-16).
import { beforeAll, describe, expect, it } from "vitest";
import { verifyReceipt } from "../../src/protocol/receipt.ts";
import { type Pair, pairOf } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, createWorld, expectStatus, ISSUER, type Json, type World } from "../support/world.ts";
import { act, arbitrated, byOperator, disputed, OPERATOR_PATH, PATH, pass, resolve } from "./support.ts";

const ids = (listed: Json): string[] => listed.data.map(({ dispute_id }: Json) => dispute_id);
const read = async (of: World, query = "", key = of.key): Promise<Json> =>
  expectStatus(await of.call("GET", `${PATH}?${query}`, { key }), 200);
const list = async (of: World, query = ""): Promise<string[]> => ids(await read(of, query));
const own = async (of: World, agent: Agent, query = ""): Promise<string[]> =>
  ids(expectStatus(await of.as(agent, "GET", `${PATH}?${query}`), 200));

/** An account whose agents trade with each other, and that sells to another's. */
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
  // The vault has to cover what is disputed, so that the provider sells on.
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
/** By the consumer's world. */
const facilitatedBy = (world: World, pair: Pair) => disputed(world, { pair, amount: "3.00" });

describe("an account", () => {
  it("lists those of all its agents once, newest first, by every filter", async () => {
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

  it("in pages", async () => {
    const page = await read(here, "limit=2");
    expect([ids(page), page.has_more]).toEqual([[third, second], true]);
    const rest = await read(here, `limit=2&cursor=${page.next_cursor}`);
    expect([ids(rest), rest.has_more, rest.next_cursor]).toEqual([[first], false, null]);
    const other = await here.call("GET", `${PATH}?limit=2&status=resolved&cursor=${page.next_cursor}`);
    expect([other.status, other.body.code]).toEqual([422, "validation_failed"]);
  });

  it("as CSV, without the words of the parties", async () => {
    const { text } = await here.call("GET", PATH, { headers: { Accept: "text/csv" } });
    const [head, ...lines] = text.trim().split("\r\n");
    expect(head).not.toContain("description");
    expect(lines.map((line) => line.split(",")[0])).toEqual([third, second, first]);
  });

  it("each in the state that counts at this instant", async () => {
    await pass(second, 7);
    try {
      expect(await list(here, "status=arbitration")).toEqual([second]);
      expect(await list(here, "status=pre_arbitration")).toEqual([first]);
    } finally {
      await pass(second, -7);
    }
  });
});

it("an agent lists its own", async () => {
  expect(await own(here, within.consumer)).toEqual([third, first]);
  expect(await own(here, within.provider, "role=provider")).toEqual([third, second, first]);
  expect(await own(here, within.provider, "role=consumer")).toEqual([]);
  expect(await own(here, within.provider, "status=resolved")).toEqual([third]);
  const other = await here.as(within.consumer, "GET", `${PATH}?did=${within.provider.did}`);
  expect([other.status, other.body.code]).toEqual([422, "validation_failed"]);
});

describe("an operator", () => {
  const all = async (query = ""): Promise<string[]> =>
    ids(expectStatus(await byOperator(here, "GET", `${OPERATOR_PATH}?limit=100&${query}`), 200));
  it("lists those of all accounts, or of one", async () => {
    expect((await all()).filter((id) => [first, second, third].includes(id))).toEqual([third, second, first]);
    expect(await all(`platform_id=${there.platformId}`)).toEqual([second]);
    expect(await all(`platform_id=${here.platformId}&status=resolved`)).toEqual([third]);
    expect(await all(`platform_id=${here.platformId}&environment=production`)).toEqual([]);
    expect((await all("environment=production")).includes(first)).toBe(false);
  });

  it("reads the whole file, which a platform does not", async () => {
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
