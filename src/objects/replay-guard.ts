// One object per calling DID: a proof is accepted once (contract section 7). A signature is remembered until its window
// has passed, in storage, so that an eviction forgets nothing.
import { DurableObject } from "cloudflare:workers";
import { SECOND_MS } from "../core/limits.ts";

const SWEEP_AFTER_MS = 120 * SECOND_MS;

export class ReplayGuard extends DurableObject {
  constructor(state: DurableObjectState, env: unknown) {
    super(state, env as never);
    this.prepare();
  }

  private prepare(): void {
    this.ctx.storage.sql.exec(
      "create table if not exists seen (mark text primary key, until integer not null) without rowid",
    );
  }

  /** True the first time. `mark` is what identifies the proof; `until` is epoch ms after which it is stale anyway. */
  async claim(mark: string, until: number): Promise<boolean> {
    const written = this.ctx.storage.sql.exec(
      "insert or ignore into seen (mark, until) values (?, ?)",
      mark,
      until,
    ).rowsWritten;
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(Date.now() + SWEEP_AFTER_MS);
    return written > 0;
  }

  override async alarm(): Promise<void> {
    this.ctx.storage.sql.exec("delete from seen where until < ?", Date.now());
    const left = this.ctx.storage.sql.exec("select 1 from seen limit 1").toArray().length;
    if (left > 0) await this.ctx.storage.setAlarm(Date.now() + SWEEP_AFTER_MS);
    else {
      await this.ctx.storage.deleteAll();
      this.prepare();
    }
  }
}
