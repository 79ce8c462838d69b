// Route of the operator's view of the jobs (JOB-6).
import { route } from "../http/route.ts";
import { getJobs } from "./read.ts";
import { jobList } from "./schema.ts";

export const jobRoutes = [
  route({
    method: "get",
    path: "/v1/operator/jobs",
    operationId: "listJobs",
    tag: "Operator",
    summary: "List the jobs",
    description:
      "The latest run of each: when it ran, how far behind it was, and what it recorded. `networks`: how far each chain is read, and why it " +
      "takes no new intents. `events`: what nobody has followed up yet, and since when the longest due delivery of a webhook waits.",
    surfaces: ["operator"],
    status: 200,
    response: { schema: jobList, description: "Every job that has run." },
    errors: [],
    handle: (call) => getJobs(call),
  }),
];
