// Route of the operator's view of the jobs (JOB-6).
import { defineRoute } from "../http/route.ts";
import { getJobs } from "./read.ts";

export const jobRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/operator/jobs",
    operationId: "listJobs",
    surfaces: ["operator"],
    status: 200,
    errors: [],
    handle: (call) => getJobs(call),
  }),
];
