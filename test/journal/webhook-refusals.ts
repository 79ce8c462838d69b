// Refused calls of each operation on webhook endpoints and their deliveries, for test/journal/refusals.test.ts.
import { createId } from "../../src/core/ids.ts";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { must } from "../consequences/plays/stage.ts";
import type { Reply, World } from "../support/world.ts";
import type { Refusal } from "./account-refusals.ts";

/** Each endpoint has a waiting delivery. */
export type Webhooks = {
  readonly enabled: string;
  readonly delivery: string;
  readonly disabled: string;
  readonly waiting: string;
};

const ADDRESS = "https://hooks.example.com/in";
/** They select no event that occurs by itself, so that the other calls of the file queue nothing for them. */
const SELECTED = ["webhook.test"];

/** The objects of the world's endpoints sleep. */
export async function webhooksOf(world: World): Promise<Webhooks> {
  const body = { url: ADDRESS, event_types: SELECTED };
  const made = async () => {
    const { webhook_id } = await must(201, world.call("POST", "/v1/webhooks", { body }));
    const { delivery_id } = await must(200, world.call("POST", `/v1/webhooks/${webhook_id}/test`));
    return [webhook_id, delivery_id] as const;
  };
  const [[enabled, delivery], [disabled, waiting]] = [await made(), await made()];
  await must(200, world.call("PATCH", `/v1/webhooks/${disabled}`, { body: { status: "disabled" } }));
  return { enabled, delivery, disabled, waiting };
}

/** `at` returns its values once the tests run. */
export function webhookRefusals(
  at: () => { readonly world: World; readonly webhooks: Webhooks },
): Readonly<Record<string, readonly Refusal[]>> {
  type Which = "enabled" | "disabled" | "none";
  const pathOf = (which: Which, path: string) =>
    `/v1/webhooks/${which === "none" ? "whe_none" : at().webhooks[which]}${path}`;
  const call = (method: string, which: Which, path: string, body?: unknown): Promise<Reply> =>
    at().world.call(method, pathOf(which, path), { ...(body !== undefined && { body }) });
  const post = (which: Which, path: string, body?: unknown) => call("POST", which, path, body);
  const patch = (which: Which, body: unknown) => call("PATCH", which, "", body);
  const create = (body: unknown) => at().world.call("POST", "/v1/webhooks", { body });
  const redeliver = (which: Which, id: string) => post(which, `/deliveries/${id}/redeliver`);
  const replay = (which: Which, since: string) => post(which, "/replay", { since });
  const hour = (from: number) => new Date(Date.now() + from * HOUR_MS).toISOString();
  return {
    createWebhook: [
      ["a body without its fields", "validation_failed", () => create({})],
      [
        "a private address",
        "validation_failed",
        () => create({ url: "https://169.254.169.254/", event_types: SELECTED }),
      ],
      ["an unknown type", "validation_failed", () => create({ url: ADDRESS, event_types: ["agent.painted"] })],
    ],
    patchWebhook: [
      ["an empty patch", "no_changes_requested", () => patch("enabled", {})],
      ["its own values", "no_changes_requested", () => patch("enabled", { url: ADDRESS, status: "enabled" })],
      ["a private address", "validation_failed", () => patch("enabled", { url: "https://10.0.0.1/" })],
      ["a fixed field", "validation_failed", () => patch("enabled", { environment: "production" })],
      ["an unknown endpoint", "not_found", () => patch("none", { status: "disabled" })],
    ],
    deleteWebhook: [
      ["an unknown endpoint", "not_found", () => call("DELETE", "none", "")],
      ["a body", "invalid_request", () => call("DELETE", "enabled", "", { colour: "red" })],
    ],
    rotateWebhookSecret: [
      ["a longer grace", "validation_failed", () => post("enabled", "/rotate-secret", { grace_hours: 25 })],
      ["an unknown endpoint", "not_found", () => post("none", "/rotate-secret", {})],
    ],
    testWebhook: [
      ["a disabled endpoint", "invalid_status", () => post("disabled", "/test")],
      ["an unknown endpoint", "not_found", () => post("none", "/test")],
    ],
    redeliver: [
      ["an unknown delivery", "not_found", () => redeliver("enabled", "dlv_none")],
      ["a delivery of another endpoint", "not_found", () => redeliver("disabled", at().webhooks.delivery)],
      ["a disabled endpoint", "invalid_status", () => redeliver("disabled", at().webhooks.waiting)],
    ],
    replayEvents: [
      ["no position", "validation_failed", () => post("enabled", "/replay", {})],
      ["an instant in the future", "validation_failed", () => replay("enabled", hour(1))],
      ["an unknown event", "validation_failed", () => replay("enabled", createId("evt", Date.now()))],
      [
        "an event that is too old",
        "cursor_expired",
        () => replay("enabled", createId("evt", Date.now() - 31 * DAY_MS)),
      ],
      ["a disabled endpoint", "invalid_status", () => replay("disabled", hour(-1))],
      ["an unknown endpoint", "not_found", () => replay("none", hour(-1))],
    ],
  };
}
