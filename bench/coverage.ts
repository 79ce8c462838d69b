// Checks that every operation, every job and every message whose work grows has a case, every case a budget, and every budget a case.
import { OPERATORS, PUBLIC } from "../scripts/openapi/documents.ts";
import { JOBS } from "../src/cron.ts";
import { BUDGETS } from "./budgets.ts";
import { nameOf } from "./case.ts";
import { CASES } from "./cases.ts";

/** Routes that the service answers without declaring them in the document. */
const UNDECLARED = ["GET /openapi.json"];

/** Messages whose work grows with events outside the service. */
const MESSAGES = ["message follow_chain", "message deliver"];

export function findUncovered(): string[] {
  const routes = [
    ...[...PUBLIC, ...OPERATORS].map(({ method, path }) => `${method.toUpperCase()} ${path}`),
    ...UNDECLARED,
    ...JOBS.map(({ name }) => `job ${name}`),
    ...MESSAGES,
  ];
  const played = new Set(CASES.map(({ route }) => route));
  const names = CASES.map(nameOf);
  return [
    ...routes.filter((route) => !played.has(route)).map((route) => `${route}: has no case (bench/cases)`),
    ...[...played]
      .filter((route) => !routes.includes(route))
      .map((route) => `${route}: is no operation, no job and no message`),
    ...names.filter((name) => !BUDGETS[name]).map((name) => `${name}: has no budget (bench/budgets.ts)`),
    ...names.filter((name, i) => names.indexOf(name) !== i).map((name) => `${name}: is there twice`),
    ...Object.keys(BUDGETS)
      .filter((name) => !names.includes(name))
      .map((name) => `${name}: a budget without a case`),
  ];
}
