// Routes of promotion and of management keys (ACC-16, ACC-17).
import { defineRoute } from "../http/route.ts";
import { pickValidFields } from "../http/schemas.ts";
import { rotationInput } from "./key-schema.ts";
import { getKeys, precheckRotation, rotateKey } from "./keys.ts";
import { precheckAccountPromotion, promotePlatform } from "./promote.ts";

export const keyRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/platform/promote",
    operationId: "promotePlatform",
    surfaces: ["management"],
    unpromoted: true,
    status: 200,
    errors: ["not_accredited", "already_promoted", "forbidden"],
    idempotency: "secret",
    handle: (call) => promotePlatform(call),
    precheck: () => precheckAccountPromotion(),
  }),
  defineRoute({
    method: "get",
    path: "/v1/platform/keys",
    operationId: "listKeys",
    surfaces: ["management"],
    status: 200,
    errors: [],
    handle: (call) => getKeys(call),
  }),
  defineRoute({
    method: "post",
    path: "/v1/platform/keys/rotate",
    operationId: "rotateKey",
    surfaces: ["management"],
    unpromoted: true,
    endsKey: true,
    body: rotationInput,
    precheck: (call, { body }) => precheckRotation(call, pickValidFields(rotationInput, body)),
    status: 200,
    errors: ["forbidden", "key_not_provisioned"],
    idempotency: "secret",
    whenUsedUp: true,
    handle: (call, { body }) => rotateKey(call, body),
  }),
];
