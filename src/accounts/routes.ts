// Routes of the platform account and of the operator's list of accounts (ACC-1, ACC-7, ACC-18).
import { defineRoute } from "../http/route.ts";
import { pickValidFields } from "../http/schemas.ts";
import { patchPlatform, precheckProfile } from "./patch-profile.ts";
import { getPlatform, getPlatforms } from "./profile.ts";
import { profilePatch } from "./profile-schema.ts";
import { platformQuery } from "./schema.ts";

export const accountRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/platform",
    operationId: "getPlatform",
    surfaces: ["management"],
    status: 200,
    errors: [],
    handle: (call) => getPlatform(call),
  }),
  defineRoute({
    method: "patch",
    path: "/v1/platform",
    operationId: "patchPlatform",
    surfaces: ["management"],
    body: profilePatch,
    status: 200,
    errors: ["no_changes_requested", "forbidden"],
    handle: (call, { body }) => patchPlatform(call, body),
    precheck: (call, { body }) => precheckProfile(call, pickValidFields(profilePatch, body)),
  }),
  defineRoute({
    method: "get",
    path: "/v1/operator/platforms",
    operationId: "listPlatforms",
    surfaces: ["operator"],
    query: platformQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => getPlatforms(call, query),
  }),
];
