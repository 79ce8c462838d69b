// The directory: its listing by every kind of filter, one entry, the feed, and a head; and the rows that its jobs find due.
import { setTimeout as sleep } from "node:timers/promises";
import type { Case } from "../case.ts";
import { agent, manage, must, type Play } from "../play.ts";
import { send } from "../wire.ts";

const PATH = "/v1/directory";

/** While a change has not reached all entries, a page costs one trip more (DIR-7), so the case waits for the tag. */
const listing = (variant: string, query: string, terms: readonly string[] = []): Case => ({
  route: `GET ${PATH}/agents`,
  variant,
  status: 200,
  filling: true,
  ask: async (play) => {
    const path = `${PATH}/agents?limit=20&${query}`;
    await tagOf(play, path);
    return manage(play.stage, "GET", path);
  },
  ...(terms.length > 0 && { moreRows: (play: Play) => twiceTheRarest(play, terms) }),
});

/** Two rows for each entry that has the rarest of the terms. */
async function twiceTheRarest({ stage }: Play, terms: readonly string[]): Promise<number> {
  const sql = `select min(entries) as fewest from directory_term_counts where term in (select value from json_each(?))`;
  const [[row] = []] = await stage.sql([{ sql, params: [JSON.stringify(terms.map((term) => `sandbox ${term}`))] }]);
  return 2 * Number(row?.["fewest"] ?? 0);
}

const asked = async ({ stage }: Play, path: string) => must(stage, manage(stage, "GET", path), 200);

/** Returns the page's tag once the work of the cases before is done; while a cascade is unfinished, a page has no tag. */
async function tagOf(play: Play, path: string): Promise<string> {
  for (const job of ["end_attestations", "index_directory"]) await run(play, job);
  for (let before = ""; ; await sleep(200)) {
    const tag = (await asked(play, path)).headers["etag"];
    if (typeof tag === "string" && tag === before) return tag;
    before = String(tag);
    await run(play, "finish_cascades");
  }
}

const run = ({ stage }: Play, job: string) =>
  send(stage.origin, { method: "POST", path: `/__bench/job?name=${job}&done=0` });
const change = ({ stage: { sql } }: Play, text: string, ...params: unknown[]) => sql([{ sql: text, params }]);

/** Leaves a record that no head covers, in a feed whose other records one does. */
const leaveRecord = ({ stage, principalId }: Play) => agent(stage, stage.platform, "CONSUMER", principalId);

const leaveUnindexed = (play: Play) =>
  change(play, "update directory_entries set unindexed = 1 where did = ?", play.provider.did);

/** Makes the oldest record old, and covered by a head. */
async function leaveOld(play: Play): Promise<void> {
  await run(play, "sign_directory_heads");
  const oldest = "select min(seq) as first, max(seq) as last from directory_changes where environment = 'sandbox'";
  const [[row] = []] = await play.stage.sql([{ sql: oldest }]);
  const first = Number(row?.["first"]);
  await change(play, "update directory_changes set occurred_at = 1 where environment = 'sandbox' and seq = ?", first);
  for (const [seq, at] of [
    [first, 1],
    [first + 1, Date.now()],
  ])
    await change(
      play,
      "insert or replace into directory_hashes (environment, seq, occurred_at, hash) values ('sandbox', ?, ?, '')",
      seq,
      at,
    );
}

/** Leaves a published rating that decay has moved. */
const leaveDecayed = (play: Play) =>
  change(play, "update agents set republish_at = 1, agent_rating = 0.01 where did = ?", play.provider.did);

export const DIRECTORY: readonly Case[] = [
  listing("no filter", ""),
  listing("status=all", "status=all"),
  listing("status=suspended", "status=suspended"),
  listing("two capabilities", "capabilities=translation,summarization", [
    "capability translation",
    "capability summarization",
  ]),
  listing("a role", "economic_role=PROVIDER", ["role PROVIDER"]),
  listing("a rating", "min_agent_rating=0.5"),
  {
    route: `GET ${PATH}/agents`,
    variant: "304",
    status: 304,
    ask: async (play) => {
      const path = `${PATH}/agents?limit=20`;
      const ask = manage(play.stage, "GET", path);
      return { ...ask, headers: { ...ask.headers, "If-None-Match": await tagOf(play, path) } };
    },
  },
  {
    route: `GET ${PATH}/agents/{did}`,
    status: 200,
    ask: ({ stage, provider }) => manage(stage, "GET", `${PATH}/agents/${provider.did}`),
  },
  {
    route: `GET ${PATH}/changes`,
    variant: "100 from the first",
    status: 200,
    filling: true,
    ask: ({ stage }) => manage(stage, "GET", `${PATH}/changes?limit=100`),
  },
  {
    route: `GET ${PATH}/head`,
    status: 200,
    ask: async (play) => {
      await run(play, "sign_directory_heads");
      return manage(play.stage, "GET", `${PATH}/head`);
    },
  },
];

export const DIRECTORY_SWEEPS = [
  { job: "sign_directory_heads", arrange: leaveRecord },
  { job: "index_directory", arrange: leaveUnindexed },
  { job: "prune_directory", arrange: leaveOld },
  { job: "publish_ratings", arrange: leaveDecayed },
];
