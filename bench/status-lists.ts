// `node bench/status-lists.ts`: a million certificates in status lists that are nearly three quarters full, ten thousand of them exceptions
// (replaced, revoked or suspended). Measures a list, a place for a new certificate and the acts that change a list, first with the few certificates
// of the bench's own agents and then with all. Only a list may cost more, for its own exceptions.
//   --check  exits with 1 if anything else does    --certificates=1000000 --exceptions=10000
import { parseArgs } from "node:util";
import { STATUS_LIST_FULL, STATUS_LIST_SIZE } from "../src/core/limits.ts";
import { checkStatusLists } from "./check.ts";
import { sumOf } from "./meter.ts";
import { startPlay } from "./play.ts";
import { table } from "./report.ts";
import { setStage } from "./stage.ts";
import { addExceptions, DRAWN_FOR, fillLists, type Measured, measure, measureList } from "./status-list-costs.ts";

const { values: options } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    certificates: { type: "string", default: "1000000" },
    exceptions: { type: "string", default: "10000" },
  },
});
const [certificates, exceptions] = [Number(options.certificates), Number(options.exceptions)];

const logStep = (step: string) => console.error(`status lists: ${step}`);

async function run(): Promise<Measured[]> {
  logStep("two chains, the Worker, two platforms");
  const stage = await setStage();
  try {
    const play = await startPlay(stage);
    logStep("with the bench's own certificates");
    // Runs once before, because a first call costs more.
    await measure(play, []);
    const few = await measure(play, [1]);
    const lists = Math.ceil(certificates / (STATUS_LIST_FULL * STATUS_LIST_SIZE));
    logStep(`${certificates.toLocaleString("en")} certificates in ${lists} lists`);
    await fillLists(play, { certificates, exceptions, lists });
    const [first, newest] = [2, lists + 1];
    const many = await measure(play, [first, newest]);
    logStep("all exceptions in one list");
    await addExceptions(play, first, exceptions);
    return [few, { ...many, lists: [...many.lists, await measureList(play, first)] }];
  } finally {
    await stage.close();
  }
}

// ---- The report ------------------------------------------------------------------------------------------------------------

const measured = await run();
const [few, many] = measured;
if (!few || !many) throw new Error("unreachable: two measurements");
const number = (value: number) => value.toLocaleString("en");
const print = (title: string, rows: readonly (readonly string[])[]) =>
  console.log(
    `\n${title}\n\n${table(rows)
      .map((line) => `  ${line}`)
      .join("\n")}`,
  );

print("One list", [
  ["certificates", "exceptions", "", "trips", "read", "written", "ms", "bytes"],
  ...measured.flatMap(({ certificates: all, lists }) =>
    lists.flatMap(({ exceptions: listed, ...how }) =>
      (["signed", "served"] as const).map((name) => {
        const { trips, read, written, ms, bytes } = how[name];
        return [number(all), number(listed), name, ...[trips, read, written, ms, bytes].map(number)];
      }),
    ),
  ),
]);
print("Acts, without the draw of a place", [
  ["", "trips", "read", "written", "trips", "read", "written"],
  ...few.acts.map((act, i) => {
    const after = many.acts[i] ?? act;
    return [act.name, ...[act, after].flatMap(({ trips, read, written }) => [trips, read, written].map(number))];
  }),
]);
print(
  "The draw of a place, and the hourly count of the newest list: rows read",
  measured.map(({ certificates: all, draws, counted }) => [
    `${number(all)} certificates`,
    `${draws.length} draws for ${DRAWN_FOR}`,
    `${(sumOf(draws, (rows) => rows) / draws.length).toFixed(1)} in the mean, ${Math.max(...draws)} at most`,
    `${number(counted)} counted`,
  ]),
);
const violations = checkStatusLists(few, many);
console.log("");
for (const line of violations) console.log(`  EXCEEDED ${line}`);
if (options.check && violations.length > 0) process.exitCode = 1;
