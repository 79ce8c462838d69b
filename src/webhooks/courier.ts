// The object of one endpoint (EVT-25): delivers what is due, is called again by its alarm for what is due later, and lets an endpoint that fails
// rest. It keeps the id that it works for, and nothing else that counts: what is due stands in the database.
import { buildDeps, type Env } from "../context.ts";
import { MINUTE_MS } from "../core/limits.ts";
import { WebhookObject } from "../objects/webhook-object.ts";
import { deliverDue } from "./deliver.ts";
import { restMs } from "./schedule.ts";

const ID = "webhookId";

export class WebhookCourier extends WebhookObject<Env> {
  private running: Promise<void> | null = null;
  private again = false;
  private failuresInARow = 0;
  private restsUntil = 0;

  override async wake(webhookId: string, afresh = false): Promise<void> {
    if (afresh) this.restsUntil = 0;
    this.again = true;
    this.running ??= this.work(webhookId).finally(() => {
      this.running = null;
    });
    this.ctx.waitUntil(this.running);
  }

  override async alarm(): Promise<void> {
    const webhookId = await this.ctx.storage.get<string>(ID);
    if (webhookId === undefined) return;
    await this.wake(webhookId);
    // An alarm's handler is kept alive, which what it left behind may not be.
    await this.running;
  }

  private async work(webhookId: string): Promise<void> {
    let nextAt: number | null = null;
    try {
      while (this.again) {
        this.again = false;
        nextAt = this.restsUntil > Date.now() ? this.restsUntil : await this.deliver(webhookId);
      }
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : "unknown";
      console.error(JSON.stringify({ event: "webhook_failed", webhook: webhookId, message }));
      nextAt = Date.now() + MINUTE_MS;
    }
    if (nextAt !== null) await this.callAt(webhookId, nextAt);
  }

  /** Returns when it goes on; null where nothing waits. */
  private async deliver(webhookId: string): Promise<number | null> {
    const nextAt = await deliverDue(buildDeps(this.env, this.env.ISSUER), webhookId, ({ taken, tried }) => {
      this.failuresInARow = taken > 0 ? 0 : this.failuresInARow + tried;
      this.restsUntil = Date.now() + restMs(this.failuresInARow);
      return this.restsUntil <= Date.now();
    });
    return nextAt === null ? null : Math.max(nextAt, this.restsUntil);
  }

  private async callAt(webhookId: string, at: number): Promise<void> {
    await this.ctx.storage.put(ID, webhookId);
    await this.ctx.storage.setAlarm(Math.max(at, Date.now()));
  }
}
