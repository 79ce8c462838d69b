// Changes of an agent's operational wallets in the last 24 hours, in real time: each may cost a transaction of the registrar (MKT-24).
import { noteWalletAsks } from "../agents/store.ts";
import { ServiceError } from "../core/errors.ts";
import { DAY_MS, SECOND_MS, WALLET_CHANGES_A_DAY } from "../core/limits.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";

type Asks = Pick<AgentRow, "walletAsks">;

const recentAsks = ({ walletAsks }: Asks, now: number): number[] =>
  (walletAsks ?? []).filter((at) => at > now - DAY_MS);

/**
 * The instants of the last day's changes with further ones; null where there is none.
 * @throws ServiceError `rate_limited` when they are too many
 */
export function walletAsks(agent: Asks, further: number, now: number): readonly number[] | null {
  if (further === 0) return null;
  const asks = recentAsks(agent, now);
  const over = asks.length + further - WALLET_CHANGES_A_DAY;
  if (over <= 0) return [...asks, ...Array.from({ length: further }, () => now)];
  const free = asks[over - 1] ?? now;
  const seconds = Math.ceil((free + DAY_MS - now) / SECOND_MS);
  const message = `An agent changes its operational wallets ${WALLET_CHANGES_A_DAY} times in 24 hours.`;
  throw new ServiceError("rate_limited", { message, headers: { "Retry-After": String(seconds) } });
}

export const mayAsk = (agent: Asks, now: number): boolean => recentAsks(agent, now).length < WALLET_CHANGES_A_DAY;

export const noteAsk = (db: Database, agent: Asks & Pick<AgentRow, "did">, now: number): Statement =>
  noteWalletAsks(db, agent, [...recentAsks(agent, now), now]);
