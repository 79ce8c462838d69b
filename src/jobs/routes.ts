// Route of the operator's view of the jobs (JOB-6).
import { route } from "../http/route.ts";
import { getJobs } from "./read.ts";

export const jobRoutes = [
  route({
    method: "get",
    path: "/v1/operator/jobs",
    operationId: "listJobs",
    surfaces: ["operator"],
    status: 200,
    errors: [],
    handle: (call) => getJobs(call),
  }),
];
