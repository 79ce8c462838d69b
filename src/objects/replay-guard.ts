// One object per calling DID records the uses of its proofs until each proof is stale (PRF-7, PRF-8). They are in storage, so that an eviction
// loses nothing.
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
