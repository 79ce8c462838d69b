// Measures the cost of the service while nothing is due: a quarter of an hour of the minute's trigger, and one run of the hour's. Each minute both
// chains get new empty blocks.
import { drain } from "./cases/drain.ts";
import { sendMetered } from "./costs.ts";
import { workerdCpu } from "./cpu.ts";
import { type Cost, sumOf } from "./meter.ts";
import { follow, must, type Play } from "./play.ts";
import type { Ask } from "./wire.ts";

/** The means of one run of a trigger, with everything that it sends to queues. `cpuMs`: null if the system does not report it. */
export type Idle = {
  readonly trigger: string;
  readonly trips: number;
  readonly statements: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  readonly queues: number;
  readonly objects: number;
  readonly fetches: number;
  readonly cpuMs: number | null;
};

const MINUTES = 15;
/** The minutes in which the work that the cases before have left is done. */
const SETTLING = 5;
const MINUTE_MS = 60_000;

const runOf = (cron: string): Ask => ({ method: "POST", path: `/__bench/trigger?cron=${encodeURIComponent(cron)}` });
const EVERY_MINUTE = runOf("* * * * *");

export async function measureIdle(play: Play): Promise<Idle[]> {
  const { stage } = play;
  const [moved = [], followed = []] = await stage.sql([
    { sql: "select platform_id, clock_offset_ms from platforms where clock_offset_ms > 0" },
    { sql: "select network from followers" },
  ]);
  // Moves all sandbox clocks back, because the due rows of a sandbox that is ahead are read each minute.
  await stage.sql([{ sql: "update platforms set clock_offset_ms = 0" }]);
  await drain(play, "list_events");
  for (const network of stage.networks) await follow({ stage, network });
  for (let minute = 0; minute < SETTLING; minute++) {
    await passMinute(play);
    await must(stage, EVERY_MINUTE, 200);
  }
  const minutely = await measure(play, "every minute", EVERY_MINUTE, MINUTES);
  const hourly = await measure(play, "every hour", runOf("0 * * * *"), 1);
  for (const { platform_id: id, clock_offset_ms: offset } of moved)
    await stage.sql([{ sql: "update platforms set clock_offset_ms = ? where platform_id = ?", params: [offset, id] }]);
  // Removes the further network, which the other cases do not use.
  const known = JSON.stringify(followed.map(({ network }) => network));
  for (const table of ["followers", "booked_blocks"]) {
    const text = `delete from ${table} where network not in (select value from json_each(?))`;
    await stage.sql([{ sql: text, params: [known] }]);
  }
  return [minutely, hourly];
}

async function measure(play: Play, trigger: string, ask: Ask, times: number): Promise<Idle> {
  const costs: Cost[] = [];
  const cpu = workerdCpu();
  let used = 0;
  for (let time = 0; time < times; time++) {
    await passMinute(play);
    const before = cpu?.() ?? 0;
    const { reply, metered } = await sendMetered(play, ask);
    used += (cpu?.() ?? 0) - before;
    if (reply.status !== 200) throw new Error(`${trigger}: ${reply.body.toString()}`);
    costs.push(metered.afterAnswer);
  }
  const mean = (pick: (cost: Cost) => number) => sumOf(costs, pick) / times;
  return {
    trigger,
    trips: mean(({ trips }) => trips.length),
    statements: mean(({ trips }) => trips.flat().length),
    rowsRead: mean(({ trips }) => sumOf(trips.flat(), ({ rowsRead }) => rowsRead)),
    rowsWritten: mean(({ trips }) => sumOf(trips.flat(), ({ rowsWritten }) => rowsWritten)),
    queues: mean(({ queues }) => queues),
    objects: mean(({ objects }) => sumOf(Object.values(objects), (calls) => calls)),
    fetches: mean(({ fetches }) => fetches),
    cpuMs: cpu && used / times / 1_000,
  };
}

/** Lets the rows of the jobs grow older by a minute, and the chains by some blocks. */
async function passMinute({ stage }: Play): Promise<void> {
  const passed = ["started_at", "progressed_at", "finished_at"].map((name) => `${name} = ${name} - ${MINUTE_MS}`);
  await stage.sql([{ sql: `update jobs set ${passed.join(", ")}` }]);
  const mine = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "anvil_mine", params: ["0x5"] });
  const headers = { "Content-Type": "application/json" };
  for (const { rpc_url } of stage.networks) {
    const answer = await fetch(rpc_url, { method: "POST", headers, body: mine });
    if (!answer.ok) throw new Error(`the chain at ${rpc_url} mines no block`);
  }
}
