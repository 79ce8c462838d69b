// The Durable Object of one endpoint (EVT-25): delivers what is due, sets its alarm for what is due later, and backs off from an endpoint that fails.
// It stores only the endpoint's id, because the database holds the deliveries.
import { buildDeps, type Env } from "../context.ts";
import { systemClock } from "../core/clock.ts";
import { MINUTE_MS } from "../core/limits.ts";
import { WebhookObject } from "../objects/durable-objects.ts";
import { deliverDue } from "./deliver.ts";
import { CLAIMS_PER_INVOCATION, computeRestMs } from "./post.ts";

const ID = "webhookId";
/** How long one invocation works. An alarm may run for fifteen minutes. */
const WORKS_MS = 5 * MINUTE_MS;

export class WebhookCourier extends WebhookObject<Env> {
  /** Tests replace it. */
  clock = systemClock;
  running: Promise<void> | null = null;
  private again = false;
  private failuresInARow = 0;
  private restsUntil = 0;

  override async wake(webhookId: string, afresh = false): Promise<void> {
    if (afresh) [this.restsUntil, this.failuresInARow] = [0, 0];
    this.again = true;
    this.running ??= this.work(webhookId).finally(() => {
      this.running = null;
      // The object was woken just as its work ended: another invocation continues.
      if (!this.again) return;
      this.again = false;
      this.ctx.waitUntil(this.callAt(webhookId, this.restsUntil));
    });
    this.ctx.waitUntil(this.running);
  }

  override async alarm(): Promise<void> {
    const webhookId = await this.ctx.storage.get<string>(ID);
    if (webhookId === undefined) return;
    await this.wake(webhookId);
    // The runtime keeps an alarm's handler alive, but not necessarily a promise that it leaves running.
    await this.running;
  }

  private async work(webhookId: string): Promise<void> {
    let nextAt: number | null = null;
    let claims = 0;
    const until = this.clock.now() + WORKS_MS;
    const goesOn = ({ taken, tried }: { readonly taken: number; readonly tried: number }): boolean => {
      claims += 1;
      this.failuresInARow = taken > 0 ? 0 : this.failuresInARow + tried;
      this.restsUntil = this.clock.now() + computeRestMs(this.failuresInARow);
      const now = this.clock.now();
      return this.restsUntil <= now && claims < CLAIMS_PER_INVOCATION && now < until;
    };
    try {
      while (this.again && claims < CLAIMS_PER_INVOCATION) {
        this.again = false;
        const next = this.restsUntil > this.clock.now() ? this.restsUntil : await this.deliver(webhookId, goesOn);
        nextAt = next === null ? null : Math.max(next, this.restsUntil);
      }
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : "unknown";
      console.error(JSON.stringify({ event: "webhook_failed", webhook: webhookId, message }));
      nextAt = this.clock.now() + MINUTE_MS;
    }
    // The next invocation handles a call that woke the object meanwhile.
    if (this.again) nextAt = Math.min(nextAt ?? Number.POSITIVE_INFINITY, Math.max(this.clock.now(), this.restsUntil));
    this.again = false;
    if (nextAt !== null) await this.callAt(webhookId, nextAt);
  }

  private deliver(webhookId: string, goesOn: Parameters<typeof deliverDue>[2]): Promise<number | null> {
    return deliverDue(buildDeps(this.env, this.env.ISSUER, this.clock), webhookId, goesOn);
  }

  private async callAt(webhookId: string, at: number): Promise<void> {
    await this.ctx.storage.put(ID, webhookId);
    await this.ctx.storage.setAlarm(Math.max(at, this.clock.now()));
  }
}
