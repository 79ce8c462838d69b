// One object per client address, and one per account: the failed log-ins of the last minutes or hours, counted exactly (CRED-21, CRED-31). An
// attempt is counted before its password is derived and given back when it was good, so that attempts at the same time cannot pass the limit
// together.
import { DurableObject } from "cloudflare:workers";

export type Limits = {
  readonly windowMs: number;
  readonly perAccount: number;
  readonly perAddress: number;
};
/**
 * `left`: how many more of the same account are let in while this one is counted. `retryAfterMs`: when the oldest of the counted failures
 * leaves the window.
 */
export type Attempt =
  | { readonly ok: true; readonly id: number; readonly left: number }
  | { readonly ok: false; readonly retryAfterMs: number };

export class AttemptGuard extends DurableObject {
  constructor(state: DurableObjectState, env: unknown) {
    super(state, env as never);
    this.prepare();
  }

  private prepare(): void {
    this.ctx.storage.sql.exec(
      "create table if not exists attempts (id integer primary key autoincrement, account text not null, at integer not null)",
    );
  }

  /** `account`: a hash of the address that the log-in names, or what else is counted apart. */
  async begin(account: string, now: number, { windowMs, perAccount, perAddress }: Limits): Promise<Attempt> {
    const { sql } = this.ctx.storage;
    sql.exec("delete from attempts where at <= ?", now - windowMs);
    const all = sql.exec("select account, at from attempts order by at").toArray();
    const own = all.filter((row) => row["account"] === account);
    const wait = Math.max(untilBelow(own, perAccount, now, windowMs), untilBelow(all, perAddress, now, windowMs));
    if (wait > 0) return { ok: false, retryAfterMs: wait };
    const { id } = sql.exec("insert into attempts (account, at) values (?, ?) returning id", account, now).one();
    await this.ctx.storage.setAlarm(now + windowMs);
    return { ok: true, id: Number(id), left: perAccount - own.length - 1 };
  }

  /** The attempt was good, or was no attempt. */
  giveBack(id: number): void {
    this.ctx.storage.sql.exec("delete from attempts where id = ?", id);
  }

  /** Forgets the failures of one account. */
  forgive(account: string): void {
    this.ctx.storage.sql.exec("delete from attempts where account = ?", account);
  }

  /** Forgets everything. */
  forgiveAll(): void {
    this.ctx.storage.sql.exec("delete from attempts");
  }

  /** Nothing is kept of an address that has been quiet for a window. */
  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
    this.prepare();
  }
}

type Row = Record<string, SqlStorageValue>;

/** The milliseconds until fewer than `most` of the rows are within the window, the oldest first. */
function untilBelow(rows: readonly Row[], most: number, now: number, windowMs: number): number {
  const leaves = rows.length < most ? undefined : rows[rows.length - most];
  return leaves === undefined ? 0 : Number(leaves["at"]) + windowMs - now;
}
