// The Durable Objects that count and remember in their own storage: attempts to log in, and used proofs.
import { DurableObject } from "cloudflare:workers";
import { SECOND_MS } from "../core/limits.ts";

export type Limits = {
  readonly windowMs: number;
  readonly perAccount: number;
  readonly perAddress: number;
};
/** `atOnce` derivations at once, then one every `everyMs`. `everyMs` of 0 means no bound. */
export type Bucket = { readonly atOnce: number; readonly everyMs: number };
/** `account`: a hash of the address that the log-in names. `address`: the client within the network. */
export type Guess = { readonly account: string; readonly address: string };

/** `retryAfterMs`: until the next derivation has a place and enough counted failures have left the window. */
export type RefusedAttempt = { readonly ok: false; readonly retryAfterMs: number };
/** `left`: how many more attempts of the same account are allowed while this one counts. */
export type Attempt = { readonly ok: true; readonly id: number; readonly left: number } | RefusedAttempt;
export type DerivationPlace = { readonly ok: true } | RefusedAttempt;

/**
 * One object per client network (/24 or /48) holds the places for derivations of passwords (CRED-20) and counts the failed attempts of the last minutes
 * (CRED-21); one per account counts its attempts from everywhere (CRED-31). Both count exactly: an attempt counts as failed before its password is
 * derived, and is removed if it was good, so that simultaneous attempts cannot pass the limit together.
 */
export class AttemptGuard extends DurableObject<unknown> {
  constructor(state: DurableObjectState, env: unknown) {
    super(state, env);
    this.prepare();
  }

  private prepare(): void {
    const { sql } = this.ctx.storage;
    sql.exec(
      "create table if not exists failures (id integer primary key autoincrement, account text not null, address text not null, at integer not null)",
    );
    sql.exec("create table if not exists bucket (id integer primary key, empty_at integer not null)");
  }

  /** Takes a place for a derivation, and counts the attempt as failed until it is removed. */
  async begin(guess: Guess, now: number, limits: Limits, bucket: Bucket): Promise<Attempt> {
    const { sql } = this.ctx.storage;
    const { windowMs, perAccount, perAddress } = limits;
    sql.exec("delete from failures where at <= ?", now - windowMs);
    const all = sql.exec("select account, at from failures where address = ? order by at", guess.address).toArray();
    const own = all.filter((row) => row["account"] === guess.account);
    const wait = Math.max(
      computeMsUntilBelow(own, perAccount, now, windowMs),
      computeMsUntilBelow(all, perAddress, now, windowMs),
      this.untilPlace(now, bucket),
    );
    if (wait > 0) return { ok: false, retryAfterMs: wait };
    this.takePlace(now, bucket);
    const { id } = sql
      .exec(
        "insert into failures (account, address, at) values (?, ?, ?) returning id",
        guess.account,
        guess.address,
        now,
      )
      .one();
    await this.forgetAt(now + windowMs);
    return { ok: true, id: Number(id), left: perAccount - own.length - 1 };
  }

  /** Takes a place for a derivation that is not an attempt to log in. */
  async derive(now: number, bucket: Bucket): Promise<DerivationPlace> {
    const wait = this.untilPlace(now, bucket);
    if (wait > 0) return { ok: false, retryAfterMs: wait };
    this.takePlace(now, bucket);
    await this.forgetAt(now);
    return { ok: true };
  }

  /** Removes an attempt that was good, or that was not made. */
  giveBack(id: number): void {
    this.ctx.storage.sql.exec("delete from failures where id = ?", id);
  }

  forgive({ account, address }: Guess): void {
    this.ctx.storage.sql.exec("delete from failures where account = ? and address = ?", account, address);
  }

  forgiveAll(): void {
    this.ctx.storage.sql.exec("delete from failures");
  }

  /** Deletes everything about a network or an account that was quiet for a whole window. */
  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
    this.prepare();
  }

  /** The instant when all taken places are free again. */
  private emptyAt(now: number): number {
    const [row] = this.ctx.storage.sql.exec("select empty_at from bucket").toArray();
    return Math.max(now, Number(row?.["empty_at"] ?? 0));
  }

  private untilPlace(now: number, { atOnce, everyMs }: Bucket): number {
    return everyMs === 0 ? 0 : Math.max(0, this.emptyAt(now) - now - (atOnce - 1) * everyMs);
  }

  private takePlace(now: number, { everyMs }: Bucket): void {
    if (everyMs === 0) return;
    const emptyAt = this.emptyAt(now) + everyMs;
    this.ctx.storage.sql.exec(
      "insert into bucket (id, empty_at) values (1, ?) on conflict (id) do update set empty_at = excluded.empty_at",
      emptyAt,
    );
  }

  private async forgetAt(earliest: number): Promise<void> {
    const { storage } = this.ctx;
    const at = Math.max(earliest, this.emptyAt(earliest), (await storage.getAlarm()) ?? 0);
    await storage.setAlarm(at);
  }
}

type Row = Record<string, SqlStorageValue>;

/** `rows`: oldest first. */
function computeMsUntilBelow(rows: readonly Row[], most: number, now: number, windowMs: number): number {
  const leaves = rows.length < most ? undefined : rows[rows.length - most];
  return leaves === undefined ? 0 : Number(leaves["at"]) + windowMs - now;
}

const SWEEP_AFTER_MS = 120 * SECOND_MS;

/** One object per calling DID stores the uses of its proofs until each is stale, so that an eviction loses none (PRF-7, PRF-8). */
export class ReplayGuard extends DurableObject<unknown> {
  constructor(state: DurableObjectState, env: unknown) {
    super(state, env);
    this.prepare();
  }

  private prepare(): void {
    this.ctx.storage.sql.exec(
      "create table if not exists used (mark text primary key, act text not null, until integer not null) without rowid",
    );
  }

  /** `same`: used before for this act, unless the act is empty. `mark` identifies the proof, which is stale after `until` (epoch ms). */
  async use(mark: string, act: string, until: number): Promise<"first" | "same" | "replay"> {
    const written = this.ctx.storage.sql.exec(
      "insert or ignore into used (mark, act, until) values (?, ?, ?)",
      mark,
      act,
      until,
    ).rowsWritten;
    if (written === 0) return this.isUsedFor(mark, act) ? "same" : "replay";
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(Date.now() + SWEEP_AFTER_MS);
    return "first";
  }

  isUsedFor(mark: string, act: string): boolean {
    const [row] = this.ctx.storage.sql.exec("select act from used where mark = ?", mark).toArray();
    return act !== "" && row?.["act"] === act;
  }

  override async alarm(): Promise<void> {
    this.ctx.storage.sql.exec("delete from used where until < ?", Date.now());
    const left = this.ctx.storage.sql.exec("select 1 from used limit 1").toArray().length;
    if (left > 0) await this.ctx.storage.setAlarm(Date.now() + SWEEP_AFTER_MS);
    else {
      await this.ctx.storage.deleteAll();
      this.prepare();
    }
  }
}
