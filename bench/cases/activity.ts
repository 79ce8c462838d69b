// Hashes the activity log before a case that would otherwise hash what the cases before it have written.
import { manage, must } from "../play.ts";
import type { Stage } from "../stage.ts";

export const hashLog = (stage: Stage) => must(stage, manage(stage, "GET", "/v1/platform/activity/verify"), 200);
