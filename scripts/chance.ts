// Checks that no test of `npm test` depends on real time or on chance: it waits for nothing, draws nothing without a seed, bounds no duration,
// has no time limit of its own and runs no test twice. `*.long.*` files are free: they kill real processes.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

type Kind = keyof typeof PATTERNS;
type Exception = { readonly file: string; readonly kind: Kind; readonly why: string };

const PATTERNS = {
  draw: /\bMath\.random\(/,
  wait: /\b(?:setTimeout|setInterval|sleep|scheduler\.wait)\(/,
  poll: /\b(?:expect\.poll|vi\.waitFor|vi\.waitUntil)\(/,
  race: /\bPromise\.race\(/,
  duration: /\bperformance\.now\(|Date\.now\(\) - [a-z_]+\)|markInterruptAsFailure|interruptAfterTimeLimit/,
  retry: /\bretry: ?\d|\brepeats: ?\d/,
  limit: /\bAbortSignal\.timeout\(|\btimeout: ?[\dA-Z]|^\s*\}, \d[\d_]*\);$/,
} as const;

const EXCEPTIONS: readonly Exception[] = [
  {
    file: "test/support/chain.ts",
    kind: "wait",
    why: "asks the node until its block is mined, for as long as that takes",
  },
  { file: "test/support/spoiling-node.ts", kind: "wait", why: "is a slow node: no test waits for its answer" },
  {
    file: "test/support/receiver.ts",
    kind: "wait",
    why: "is a slow or endless receiver: no test waits for its answer",
  },
  { file: "test/support/hops.ts", kind: "wait", why: "passes turns of the event loop and no time" },
  { file: "test/support/cuts.ts", kind: "race", why: "ends with the act or with its kill, and no timer takes part" },
  { file: "test/chain/anvil.node.test.ts", kind: "wait", why: "asks a chain with a block time until it has a block" },
  {
    file: "test/payments/closed-networks.test.ts",
    kind: "duration",
    why: "the bound is a later reading of the same clock",
  },
];

const root = join(import.meta.dirname, "..");
const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
  .map((name) => `test/${name}`)
  .filter((name) => name.endsWith(".ts") && !name.includes(".long."));

const used = new Set<Exception>();
const faults = files.flatMap((file) =>
  readFileSync(join(root, file), "utf8")
    .split("\n")
    .flatMap((line, i) => faultsIn(file, line).map((kind) => `${file}:${i + 1}: ${kind}: ${line.trim()}`)),
);
for (const exception of EXCEPTIONS) {
  if (!used.has(exception)) faults.push(`scripts/chance.ts: the exception of ${exception.file} is not needed`);
}
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);

function faultsIn(file: string, line: string): Kind[] {
  if (/^\s*(?:\/\/|\*|import )/.test(line)) return [];
  return (Object.keys(PATTERNS) as Kind[]).filter((kind) => {
    if (!PATTERNS[kind].test(line)) return false;
    const exception = EXCEPTIONS.find((one) => one.file === file && one.kind === kind);
    if (exception) used.add(exception);
    return exception === undefined;
  });
}
