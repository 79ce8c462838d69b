// Notes what each accepted request for markets asks for, in the order of their commits: the entry of the activity log is written behind the markets,
// in one batch.
import { afterAll, beforeAll } from "vitest";
import { env } from "../support/world.ts";

/** For the tests of a file. Returns the wallet that was asked for last. */
export function noteAccepted(): (did: string, network: string, market?: string) => Promise<string | undefined> {
  beforeAll(() =>
    env.DB.batch([
      env.DB.prepare("create table accepted (n integer primary key, did text, network text, market text, wallet text)"),
      env.DB.prepare(
        `create trigger note_accepted after insert on activity_entries when new.action = 'agent.markets_changed' begin
          insert into accepted (did, network, market, wallet)
            select did, network, market, operational_wallet from agent_markets where did = new.subject_id;
        end`,
      ),
    ]),
  );
  afterAll(() => env.DB.batch([env.DB.prepare("drop trigger note_accepted"), env.DB.prepare("drop table accepted")]));
  return async (did, network, market = "DE-USDC") => {
    const last = await env.DB.prepare(
      "select wallet from accepted where did = ? and network = ? and market = ? order by n desc limit 1",
    )
      .bind(did, network, market)
      .first<{ wallet: string }>();
    return last?.wallet;
  };
}
