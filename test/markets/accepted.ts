// Records the wallet of each accepted request for markets, in the order of their commits: one batch writes the markets and then the entry of the
// activity log.
import { afterAll, beforeAll } from "vitest";
import { env } from "../support/world.ts";

/** Starts recording for the tests of a file. The returned function finds the wallet that was requested last. */
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
