// The operator's route to every admin contact (ACC-15).
import { defineRoute } from "../http/route.ts";
import { announceToAll } from "./announcements.ts";
import { announcementInput } from "./notice-schema.ts";

export const noticeRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/operator/notices",
    operationId: "announceToAll",
    surfaces: ["operator"],
    body: announcementInput,
    status: 202,
    errors: [],
    idempotency: "plain",
    handle: (call, { body }) => announceToAll(call, body),
  }),
];
