// Disputes whose parties' days end, which a message records as a set (DSP-7, JOB-16).
import { beforeAll, expect, it } from "vitest";
import type { JobMessage } from "../../src/context.ts";
import { endDisputeDays } from "../../src/disputes/deadlines.ts";
import { runMessage } from "../../src/jobs/run.ts";
import { rows } from "../promotion/support.ts";
import { stopped } from "../support/clock.ts";
import { createWorld, type World } from "../support/world.ts";
import { arbitrated, type Disputed, disputed, eventsAbout, pass } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = stopped(await createWorld());
});

const statusOf = async ({ id }: Disputed) =>
  (await rows("select status from disputes where dispute_id = ?", id))[0]?.status;
const record = (message: Partial<JobMessage> & { readonly ids: readonly string[] }): Promise<void> =>
  world.serve(() =>
    runMessage(world.deps, [endDisputeDays], { kind: "record", job: endDisputeDays.name, ...message } as JobMessage),
  );

it("escalates in one batch those whose days have ended, and records all else by itself", async () => {
  const ended = [await disputed(world), await disputed(world)];
  const [early, late, taken] = [await disputed(world), await disputed(world), await disputed(world)];
  for (const { id } of [...ended, taken]) await pass(id, 8);
  await arbitrated(world, late);
  await pass(late.id, 15);
  await rows("update transactions set reversed_at = ? where transaction_id = ?", world.now(), taken.fac.transaction_id);
  const all = [...ended, early, late, taken];
  world.sent.splice(0);
  world.meter.reset();
  await record({ ids: all.map(({ id }) => id) });
  // The reads, the writes, and the row of the job.
  expect(world.meter.reading.trips).toBe(3);
  expect(await Promise.all(all.map(statusOf))).toEqual([
    "arbitration",
    "arbitration",
    "pre_arbitration",
    "arbitration",
    "pre_arbitration",
  ]);
  for (const { id } of ended) expect(await eventsAbout(id)).toEqual(["dispute.filed", "dispute.updated"]);
  expect(await eventsAbout(taken.id)).toEqual(["dispute.filed"]);
  const messages = world.sent.splice(0).map(({ body }) => body as JobMessage);
  const alone = { kind: "record", job: endDisputeDays.name, ids: [early.id, late.id, taken.id], alone: true };
  expect(messages.filter(({ kind }) => kind === "record")).toEqual([alone]);
  await record(alone as never);
  const due = "select dispute_id from disputes where due_at is null and dispute_id in (?, ?, ?)";
  const left = await rows(due, early.id, late.id, taken.id);
  expect(left.map(({ dispute_id }) => dispute_id).sort()).toEqual([late.id, taken.id].sort());
});
