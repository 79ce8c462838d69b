// Limits an agent's changes of operational wallets in 24 hours of real time: each may cost the registrar a transaction (MKT-24).
import { noteWalletAsks } from "../agents/store.ts";
import { addDailyRequests, filterLastDay } from "../core/daily.ts";
import { WALLET_CHANGES_A_DAY } from "../core/limits.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";

type Asks = Pick<AgentRow, "walletAsks">;

const BOUND = {
  most: WALLET_CHANGES_A_DAY,
  message: `An agent can change its operational wallets at most ${WALLET_CHANGES_A_DAY} times in 24 hours.`,
};

/**
 * The instants of the last day's changes and of the further ones; null if there are no further ones.
 * @throws ServiceError `rate_limited` when they are too many
 */
export const addWalletChanges = (agent: Asks, further: number, now: number): readonly number[] | null =>
  further === 0 ? null : addDailyRequests(agent.walletAsks, further, now, BOUND);

export const mayChangeWallet = (agent: Asks, now: number): boolean =>
  filterLastDay(agent.walletAsks, now).length < WALLET_CHANGES_A_DAY;

export const recordWalletChange = (db: Database, agent: Asks & Pick<AgentRow, "did">, now: number): Statement =>
  noteWalletAsks(db, agent.did, [...filterLastDay(agent.walletAsks, now), now]);
