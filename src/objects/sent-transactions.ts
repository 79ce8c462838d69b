// Stores the transactions of one key on one network that are not final yet, by nonce, in the object's own storage (CHN-16). Rows carry the key's
// address, because a key that replaces another has nonces of its own.
import type { ChainCall } from "../chain/gateway.ts";
import type { Fees } from "../chain/sender.ts";
import { DAY_MS, MINUTE_MS } from "../core/limits.ts";

export type SentRow = {
  readonly nonce: number;
  readonly key: string;
  readonly call: ChainCall;
  readonly gas: bigint;
  readonly fees: Fees;
  readonly raw: string;
  readonly hash: string;
  readonly firstSentAt: number;
  readonly lastSentAt: number;
  /** When the chain's count was first seen above the nonce; null while the transaction waits. */
  readonly minedAt: number | null;
};

const COLUMNS =
  "owner, nonce, key, network, target, data, gas, max_fee, tip, raw, hash, first_sent_at, last_sent_at, mined_at" as const;

export const COUNT_DISTANCE_MAX = 32;
const BELIEVED_AFTER_MS = MINUTE_MS;
/** A database is restored to at most this long ago, and its follower then reads again from there. */
const SIGNED_KEPT_MS = 30 * DAY_MS;

export class SentTransactions {
  readonly #sql: SqlStorage;
  readonly #owner: string;

  constructor(sql: SqlStorage, owner: string) {
    this.#sql = sql;
    this.#owner = owner;
    sql.exec(
      `create table if not exists sent (owner text not null, nonce integer not null, key text not null,
         network text not null, target text not null, data text not null, gas text not null, max_fee text not null,
         tip text not null, raw text not null, hash text not null, first_sent_at integer not null,
         last_sent_at integer not null, mined_at integer, primary key (owner, nonce))`,
    );
    sql.exec(
      `create table if not exists counts (owner text primary key, believed integer not null, doubted integer,
         doubted_since integer)`,
    );
    sql.exec("create table if not exists signed (hash text primary key, signed_at integer not null) without rowid");
    sql.exec("create index if not exists signed_by_instant on signed (signed_at)");
  }

  noteSigned(hash: string, now: number): void {
    this.#sql.exec("insert or ignore into signed (hash, signed_at) values (?, ?)", hash, now);
  }

  /** Returns those that were signed here, by any key. Includes replaced transactions, because any of them may be mined. */
  signed(hashes: readonly string[]): string[] {
    const found = this.#sql.exec(
      "select hash from signed where hash in (select value from json_each(?))",
      JSON.stringify(hashes),
    );
    return found.toArray().map(({ hash }) => String(hash));
  }

  /** A node that is out of step names a count far from the known ones. It is believed once it was the only one for a minute, as after a chain reset. */
  isBelievable(count: number, now: number): boolean {
    const [known] = this.#sql
      .exec("select believed, doubted, doubted_since from counts where owner = ?", this.#owner)
      .toArray();
    const believed = Number(known?.["believed"]);
    const highest = Math.max(believed, ...this.waiting().map(({ nonce }) => nonce + 1));
    const near =
      known === undefined || (count >= believed - COUNT_DISTANCE_MAX && count <= highest + COUNT_DISTANCE_MAX);
    const repeated = typeof known?.["doubted"] === "number" && Math.abs(count - known["doubted"]) <= COUNT_DISTANCE_MAX;
    const since = repeated ? Number(known?.["doubted_since"]) : now;
    const isBelieved = near || now >= since + BELIEVED_AFTER_MS;
    this.#sql.exec(
      "insert or replace into counts (owner, believed, doubted, doubted_since) values (?, ?, ?, ?)",
      this.#owner,
      isBelieved ? count : believed,
      isBelieved ? null : count,
      isBelieved ? null : since,
    );
    return isBelieved;
  }

  put(row: SentRow): void {
    const { call, fees } = row;
    const values = [
      this.#owner,
      row.nonce,
      row.key,
      call.network,
      call.to,
      call.data,
      String(row.gas),
      String(fees.maxFeePerGas),
      String(fees.maxPriorityFeePerGas),
      row.raw,
      row.hash,
      row.firstSentAt,
      row.lastSentAt,
      row.minedAt,
    ];
    this.#sql.exec(`insert or replace into sent (${COLUMNS}) values (${values.map(() => "?").join(", ")})`, ...values);
  }

  drop(nonce: number): void {
    this.#sql.exec("delete from sent where owner = ? and nonce = ?", this.#owner, nonce);
  }

  waiting(): SentRow[] {
    return this.#sql
      .exec(`select ${COLUMNS} from sent where owner = ? and mined_at is null order by nonce`, this.#owner)
      .toArray()
      .map(toRow);
  }

  /** Returns more than one only after a reorg. */
  waitingFor(key: string): SentRow[] {
    return this.waiting().filter((row) => row.key === key);
  }

  isMined({ hash }: SentRow): boolean {
    const found = this.#sql.exec(
      "select 1 from sent where owner = ? and hash = ? and mined_at is not null",
      this.#owner,
      hash,
    );
    return found.toArray().length > 0;
  }

  /** `mined`: the chain's count. When a reorg lowers it, the transactions above it wait again and are due to be sent. */
  noteMined(mined: number, now: number): void {
    const [sql, owner] = [this.#sql, this.#owner];
    sql.exec("update sent set mined_at = ? where owner = ? and nonce < ? and mined_at is null", now, owner, mined);
    sql.exec(
      "update sent set mined_at = null, last_sent_at = 0 where owner = ? and nonce >= ? and mined_at is not null",
      owner,
      mined,
    );
  }

  forget(minedBefore: number): void {
    this.#sql.exec("delete from sent where owner = ? and mined_at < ?", this.#owner, minedBefore);
    this.#sql.exec("delete from signed where signed_at < ?", minedBefore - SIGNED_KEPT_MS);
  }

  freeNonce(mined: number): number {
    const taken = new Set(this.waiting().map(({ nonce }) => nonce));
    let nonce = mined;
    while (taken.has(nonce)) nonce += 1;
    return nonce;
  }
}

function toRow(row: Record<string, SqlStorageValue>): SentRow {
  const text = (name: string): string => String(row[name]);
  return {
    nonce: Number(row["nonce"]),
    key: text("key"),
    call: { network: text("network"), to: text("target"), data: text("data") },
    gas: BigInt(text("gas")),
    fees: { maxFeePerGas: BigInt(text("max_fee")), maxPriorityFeePerGas: BigInt(text("tip")) },
    raw: text("raw"),
    hash: text("hash"),
    firstSentAt: Number(row["first_sent_at"]),
    lastSentAt: Number(row["last_sent_at"]),
    minedAt: row["mined_at"] === null ? null : Number(row["mined_at"]),
  };
}
