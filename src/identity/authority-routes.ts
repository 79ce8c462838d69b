// Route of the operator's view of the CA's keys (IDN-29, IDN-38).
import { defineRoute } from "../http/route.ts";
import { getAuthority } from "./authority-read.ts";

export const authorityRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/operator/ca",
    operationId: "getAuthority",
    surfaces: ["operator"],
    status: 200,
    errors: [],
    handle: (call) => getAuthority(call),
  }),
];
