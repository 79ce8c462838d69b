// Disputes whose parties' days are over, recorded as a set by one message (DSP-7, JOB-16).
import { beforeAll, expect, it } from "vitest";
import type { JobMessage } from "../../src/context.ts";
import { DAY_MS } from "../../src/core/limits.ts";
import { endDisputeDays } from "../../src/disputes/deadlines.ts";
import { runMessage } from "../../src/jobs/run.ts";
import { rows } from "../promotion/support.ts";
import { moveClock, stopped } from "../support/clock.ts";
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

const instantsOf = async ({ id }: Disputed) => {
  const instants = "arbitration_at - answers_until as escalated, due_at - answers_until as due";
  return (await rows(`select ${instants} from disputes where dispute_id = ?`, id))[0];
};
/** The arbiter's 14 days begin when the parties' days end, however late that is recorded. */
const BY_THE_DAY = { escalated: 0, due: 14 * DAY_MS };

it("escalates on the clock of the sandbox, and raises one alert for several disputes", async () => {
  const both = [await disputed(world), await disputed(world)];
  await rows("update alerts set acknowledged_at = 1");
  await moveClock(world, 8 * DAY_MS);
  await record({ ids: both.map(({ id }) => id) });
  await moveClock(world, 0);
  expect(await Promise.all(both.map(statusOf))).toEqual(["arbitration", "arbitration"]);
  expect(await Promise.all(both.map(instantsOf))).toEqual(both.map(() => BY_THE_DAY));
  const waiting = "select seen from alerts where kind = 'arbitration_waiting' and acknowledged_at is null";
  expect(await rows(waiting)).toEqual([{ seen: 2 }]);
});

it("escalates the disputes whose days are over in one batch, and records all others alone", async () => {
  const ended = [await disputed(world), await disputed(world)];
  const [early, late, taken, both] = [
    await disputed(world),
    await disputed(world),
    await disputed(world),
    await disputed(world),
  ];
  for (const { id } of [...ended, taken]) await pass(id, 8);
  await arbitrated(world, late);
  await pass(late.id, 15);
  // The parties' days and the arbiter's days are over.
  await pass(both.id, 22);
  await rows("update transactions set reversed_at = ? where transaction_id = ?", world.now(), taken.fac.transaction_id);
  const all = [...ended, early, late, taken, both];
  world.sent.splice(0);
  world.meter.reset();
  await record({ ids: all.map(({ id }) => id) });
  // One trip each for the reads, the writes, and the row of the job.
  expect(world.meter.reading.trips).toBe(3);
  expect(await Promise.all(all.map(statusOf))).toEqual([
    "arbitration",
    "arbitration",
    "pre_arbitration",
    "arbitration",
    "pre_arbitration",
    "pre_arbitration",
  ]);
  expect(await Promise.all(ended.map(instantsOf))).toEqual(ended.map(() => BY_THE_DAY));
  for (const { id } of ended) expect(await eventsAbout(id)).toEqual(["dispute.filed", "dispute.updated"]);
  expect(await eventsAbout(taken.id)).toEqual(["dispute.filed"]);
  const messages = world.sent.splice(0).map(({ body }) => body as JobMessage);
  const alone = { kind: "record", job: endDisputeDays.name, ids: [late.id, taken.id, both.id], alone: true };
  expect(messages.filter(({ kind }) => kind === "record")).toEqual([alone]);
  await record(alone as never);
  const due = "select dispute_id from disputes where due_at is null and dispute_id in (?, ?, ?)";
  const left = await rows(due, late.id, taken.id, both.id);
  expect(left.map(({ dispute_id }) => dispute_id).sort()).toEqual([late.id, taken.id, both.id].sort());
  expect(await statusOf(both)).toBe("arbitration");
});
