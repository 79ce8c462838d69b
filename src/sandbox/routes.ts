// Routes of the sandbox clock (ACC-28).
import { answer } from "../http/answer.ts";
import { defineRoute } from "../http/route.ts";
import { advanceClock, getClock, precheckClock } from "./clock.ts";
import { advanceInput, findAdvanceFaults } from "./schema.ts";

export const sandboxRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/sandbox/clock",
    operationId: "getSandboxClock",
    surfaces: ["management"],
    status: 200,
    errors: ["forbidden"],
    handle: (call) => getClock(call),
  }),
  defineRoute({
    method: "post",
    path: "/v1/sandbox/clock/advance",
    operationId: "advanceSandboxClock",
    surfaces: ["management"],
    body: advanceInput,
    rules: findAdvanceFaults,
    precheck: (call) => precheckClock(call),
    status: 200,
    errors: ["forbidden", "chain_unavailable"],
    idempotency: "plain",
    handle: async (call, { body }) => {
      const view = await advanceClock(call, body);
      const headers = { "Content-Type": "application/json", "Service-Clock": view.now };
      return answer(200, headers, JSON.stringify(view));
    },
  }),
];
