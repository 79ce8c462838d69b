// The operators' own log (EVT-16): it has each act with its person or key, written in the batch of the act.
import { beforeEach, describe, expect, inject, it } from "vitest";
import { commit } from "../../src/db/batch.ts";
import { alerts, operatorEntries } from "../../src/db/tables/journal.ts";
import { raiseAlert } from "../../src/journal/alerts.ts";
import { type OperatorAct, recordOperatorEntry } from "../../src/journal/operator-log.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";

const PATH = "/v1/operator/activity";
let world: World;
beforeEach(async () => {
  world = await createWorld();
  await world.deps.db.delete(operatorEntries);
  await world.deps.db.delete(alerts);
});

const asOperator = (method: string, path: string) =>
  world.call(method, path, { key: null, headers: { Authorization: `Bearer ${inject("operatorKey")}` } });
const list = async (query = ""): Promise<Json> => expectStatus(await asOperator("GET", `${PATH}${query}`), 200);
const record = (id: string, act: OperatorAct) =>
  commit(world.deps.db, [recordOperatorEntry(world.deps.db, { type: "operator", id }, world.now(), act)]);
const platform = (id: string) => ({ type: "platform", id });

describe("the operators' log", () => {
  it("has the acknowledgement of an alert, once, with the key that did it", async () => {
    await commit(world.deps.db, [
      raiseAlert(world.deps.db, { kind: "low_gas", subject: "registrar", message: "Low." }),
    ]);
    const [{ alert_id }] = expectStatus(await asOperator("GET", "/v1/operator/alerts"), 200).data;
    const taken = await Promise.all(
      Array.from({ length: 5 }, () => asOperator("POST", `/v1/operator/alerts/${alert_id}/acknowledge`)),
    );
    const { acknowledged_by } = expectStatus(taken[0] as never, 200);
    expect((await list()).data).toEqual([
      {
        seq: 1,
        occurred_at: expect.any(String),
        action: "alert.acknowledged",
        actor: { type: "operator", id: acknowledged_by },
        subject: { type: "alert", id: alert_id },
        platform_id: null,
        detail: { kind: "low_gas", subject: "registrar" },
      },
    ]);
  });

  it("is read page by page, newest first, by platform, actor and action, alone or together", async () => {
    for (const [actor, action, id] of [
      ["ann@operator.test", "platform.suspended", "plt_1"],
      ["bob@operator.test", "platform.suspended", "plt_2"],
      ["ann@operator.test", "platform.reinstated", "plt_1"],
      ["ann@operator.test", "document.read", "plt_2"],
    ] as const) {
      await record(actor, { action, subject: platform(id), platformId: id });
    }
    const seqs = async (query: string) => (await list(query)).data.map(({ seq }: Json) => seq);
    expect(await seqs("")).toEqual([4, 3, 2, 1]);
    expect(await seqs("?platform_id=plt_1")).toEqual([3, 1]);
    expect(await seqs("?actor=bob@operator.test")).toEqual([2]);
    expect(await seqs("?action=platform.suspended")).toEqual([2, 1]);
    expect(await seqs("?platform_id=plt_2&actor=ann@operator.test")).toEqual([4]);
    expect(await seqs("?platform_id=plt_1&action=document.read")).toEqual([]);
    const first = await list("?limit=3");
    expect(await seqs(`?limit=3&cursor=${encodeURIComponent(first.next_cursor)}`)).toEqual([1]);
    const other = await asOperator("GET", `${PATH}?action=document.read&cursor=${first.next_cursor}`);
    expect([other.status, other.body.field_errors[0].field]).toEqual([422, "cursor"]);
    expect(Object.keys((await list("?limit=1")).data[0])).not.toContain("detail");
  });

  it("reads as many rows in a log of any length", async () => {
    const row = `insert into operator_entries (occurred_at, operator_id, action, subject_type, subject_id, platform_id)
      with recursive n (n) as (select 1 union all select n + 1 from n where n < 3000)
      select n, 'op' || (n % 9), case when n % 9 = 0 then 'document.read' else 'platform.suspended' end, 'platform',
        'plt_' || (n % 9), 'plt_' || (n % 9) from n`;
    await world.deps.env.DB.prepare(row).run();
    for (const query of ["", "&platform_id=plt_3", "&actor=op4", "&action=document.read"]) {
      world.meter.reset();
      expect((await list(`?limit=20${query}`)).data).toHaveLength(20);
      expect([query, world.meter.reading.trips]).toEqual([query, 1]);
      expect(world.meter.reading.rowsRead).toBeLessThanOrEqual(43);
    }
  });

  it("is for operators only", async () => {
    for (const key of [world.key, null]) {
      const { status, body } = await world.call("GET", PATH, { key });
      expect([status, body.code]).toEqual([401, "invalid_credentials"]);
    }
  });

  it("refuses an unknown action", async () => {
    const { status, body } = await asOperator("GET", `${PATH}?action=platform.praised`);
    expect([status, body.field_errors[0].field]).toEqual([422, "action"]);
  });
});
