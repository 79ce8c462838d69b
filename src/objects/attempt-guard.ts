// One object per client network (/24 or /48): the places for derivations of passwords (CRED-20), and the failed attempts of the last minutes
// (CRED-21); and one per account, whose attempts from everywhere it counts (CRED-31). Both are counted exactly: an attempt is counted before its
// password is derived and given back when it was good, so that attempts at the same time cannot pass the limit together.
import { DurableObject } from "cloudflare:workers";

export type Limits = {
  readonly windowMs: number;
  readonly perAccount: number;
  readonly perAddress: number;
};
/** So many derivations at once, then one every `everyMs`; 0 bounds nothing. */
export type Bucket = { readonly atOnce: number; readonly everyMs: number };
/** `account`: a hash of the address that the log-in names. `address`: the client within the network. */
export type Guess = { readonly account: string; readonly address: string };

/** `retryAfterMs`: when the next derivation has a place, and the oldest of the counted failures has left the window. */
export type Refused = { readonly ok: false; readonly retryAfterMs: number };
/** `left`: how many more of the same account are let in while this one is counted. */
export type Attempt = { readonly ok: true; readonly id: number; readonly left: number } | Refused;
export type Place = { readonly ok: true } | Refused;

export class AttemptGuard extends DurableObject {
  constructor(state: DurableObjectState, env: unknown) {
    super(state, env as never);
    this.prepare();
  }

  private prepare(): void {
    const { sql } = this.ctx.storage;
    sql.exec(
      "create table if not exists failures (id integer primary key autoincrement, account text not null, address text not null, at integer not null)",
    );
    sql.exec("create table if not exists bucket (id integer primary key, empty_at integer not null)");
  }

  /** Takes a place for a derivation, and counts a failure until the attempt is given back. */
  async begin(guess: Guess, now: number, limits: Limits, bucket: Bucket): Promise<Attempt> {
    const { sql } = this.ctx.storage;
    const { windowMs, perAccount, perAddress } = limits;
    sql.exec("delete from failures where at <= ?", now - windowMs);
    const all = sql.exec("select account, at from failures where address = ? order by at", guess.address).toArray();
    const own = all.filter((row) => row["account"] === guess.account);
    const wait = Math.max(
      untilBelow(own, perAccount, now, windowMs),
      untilBelow(all, perAddress, now, windowMs),
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

  /** Takes a place for a derivation that guesses no password. */
  async derive(now: number, bucket: Bucket): Promise<Place> {
    const wait = this.untilPlace(now, bucket);
    if (wait > 0) return { ok: false, retryAfterMs: wait };
    this.takePlace(now, bucket);
    await this.forgetAt(now);
    return { ok: true };
  }

  /** The attempt was good, or was no attempt. */
  giveBack(id: number): void {
    this.ctx.storage.sql.exec("delete from failures where id = ?", id);
  }

  /** Forgets the failures of one account from one client. */
  forgive({ account, address }: Guess): void {
    this.ctx.storage.sql.exec("delete from failures where account = ? and address = ?", account, address);
  }

  /** Forgets everything. */
  forgiveAll(): void {
    this.ctx.storage.sql.exec("delete from failures");
  }

  /** Nothing is kept of a network or an account that has been quiet for a window. */
  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
    this.prepare();
  }

  // ---- The bucket ----------------------------------------------------------------------------------------------------------

  /** When all places that were taken are free again. */
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

  /** Sets the alarm to when everything counted has left its window. */
  private async forgetAt(earliest: number): Promise<void> {
    const { storage } = this.ctx;
    const at = Math.max(earliest, this.emptyAt(earliest), (await storage.getAlarm()) ?? 0);
    await storage.setAlarm(at);
  }
}

type Row = Record<string, SqlStorageValue>;

/** The milliseconds until fewer than `most` of the rows are within the window, the oldest first. */
function untilBelow(rows: readonly Row[], most: number, now: number, windowMs: number): number {
  const leaves = rows.length < most ? undefined : rows[rows.length - most];
  return leaves === undefined ? 0 : Number(leaves["at"]) + windowMs - now;
}
