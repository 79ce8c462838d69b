// Measures the suspension of a principal by the number of its agents: the work that the answer waits for, and the cost of all slices until the last.
import { settleCascades } from "./cases/drain.ts";
import { copiesOfAgent, copiesOfTrade, copyRows } from "./copies.ts";
import { sendMetered } from "./costs.ts";
import { type Cost, sumOf } from "./meter.ts";
import { agent, manage, openProvider, type Play, principal } from "./play.ts";

/** `seller`: a provider with one market and its vault. */
export type Kind = "consumer" | "seller";
type Rows = { readonly read: number; readonly written: number };
export type Suspension = {
  readonly kind: Kind;
  readonly agents: number;
  /** The trips that the answer waits for. */
  readonly trips: number;
  readonly answerMs: number;
  readonly answer: Rows;
  /** Includes the slices that follow the answer, and the job that finishes them. */
  readonly all: Rows;
};

const KINDS = ["consumer", "seller"] as const;
const AGENTS = [1, 200, 500, 10_000] as const;
/** A list that does not exist, so that their places meet no others. */
const NO_LIST = -1;

export async function measureSuspensions(play: Play): Promise<Suspension[]> {
  await settleCascades(play);
  const measured: Suspension[] = [];
  const sizes = KINDS.flatMap((kind) => AGENTS.map((agents) => ({ kind, agents })));
  for (const [i, size] of sizes.entries()) measured.push(await suspend(play, size, NO_LIST - i));
  return measured;
}

async function suspend(
  play: Play,
  { kind, agents }: { kind: Kind; agents: number },
  listId: number,
): Promise<Suspension> {
  const { stage, next } = play;
  const principalId = await principal(stage, stage.platform, next());
  const sells = kind === "seller";
  const model = await (sells
    ? openProvider(stage, principalId)
    : agent(stage, stage.platform, "CONSUMER", principalId));
  const rows = [...copiesOfAgent(model, { listId, idx: "n" }), ...(sells ? copiesOfTrade(model) : [])];
  for (const copies of rows) await copyRows(stage, copies, { from: 0, to: agents - 1 });
  const ask = manage(stage, "POST", `/v1/principals/${principalId}/suspend`);
  // The further slices begin while the answer is sent, so the answer waits only for its hops, which are trips here.
  const { reply, metered } = await sendMetered(play, ask, { "Bench-Hold": "1", "Bench-Hop-Ms": "0" });
  if (reply.status !== 200) throw new Error(`suspend: ${reply.status}`);
  const rest = await finishSlices(play);
  const [[left] = []] = await stage.sql([
    {
      sql: "select count(*) as running from agents where principal_id = ? and status in ('ACTIVE', 'FUNDING')",
      params: [principalId],
    },
  ]);
  if (left?.["running"] !== 0) throw new Error(`${left?.["running"]} agents are not suspended`);
  const [own, behind] = [rowsOf(metered.afterAnswer), rest];
  return {
    kind,
    agents,
    trips: metered.beforeAnswer.hops,
    answerMs: metered.elapsedMs,
    answer: rowsOf(metered.beforeAnswer),
    all: { read: own.read + behind.read, written: own.written + behind.written },
  };
}

/** Runs the job if slices are left, as the queue would. */
async function finishSlices(play: Play): Promise<Rows> {
  const [[open] = []] = await play.stage.sql([
    { sql: "select count(*) as cascades from walks where kind = 'cascade'" },
  ]);
  if (open?.["cascades"] === 0) return { read: 0, written: 0 };
  const { reply, metered } = await sendMetered(play, {
    method: "POST",
    path: "/__bench/job?name=finish_cascades&done=1",
  });
  if (reply.status !== 200) throw new Error(`finish_cascades: ${reply.body.toString()}`);
  return rowsOf(metered.afterAnswer);
}

function rowsOf({ trips }: Cost): Rows {
  const each = trips.flat();
  return { read: sumOf(each, ({ rowsRead }) => rowsRead), written: sumOf(each, ({ rowsWritten }) => rowsWritten) };
}
