// Checks that no test of `npm test` depends on real time or on chance: it does not wait, draw without a seed, bound a duration, set its own time
// limit, or run a test twice. `*.long.*` files are exempt, because they kill real processes.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

type Exception = { readonly file: string; readonly text: string; readonly why: string };

const PATTERNS = {
  draw: /\bMath\.random\b|\brandom(?:Int|Bytes|blob)\(|\brandom\(\) %|\bcrypto\.getRandomValues\(/,
  wait: /\b(?:setTimeout|setInterval|setImmediate|sleep|scheduler\.wait)\(|\bset(?:Timeout|Interval|Immediate) as\b/,
  poll: /\b(?:expect\.poll|vi\.waitFor|vi\.waitUntil)\(/,
  race: /\bPromise\.(?:race|any)\(/,
  duration: /\bperformance\.now\(|Date\.now\(\) - [a-z]\w*(?! \*)\b|markInterruptAsFailure|interruptAfterTimeLimit/,
  retry: /\bretry: (?![(])|\brepeats: |--retry\b/,
  limit:
    /\bAbortSignal\.timeout\(|\btimeout: ?[\dA-Z]|^\s*\}, (?:[\d_]+|\w*(?:_MS|LIMIT|TIMEOUT)\w*)\);$|^\s*(?:it|test)\b.*, [\d_]+\);$/,
  // Any id may contain a text as short as this.
  id: /"[\dA-HJKMNP-TV-Z]{1,5}".*\.not\.toContain\(|\.not\.toContain\("[\dA-HJKMNP-TV-Z]{1,5}"\)/,
} as const;
export type Kind = keyof typeof PATTERNS;

/** Returns the kinds of chance or real time that a line depends on. */
export const kindsIn = (line: string): Kind[] =>
  /^\s*(?:\/\/|\*|\/\*\*)/.test(line)
    ? []
    : (Object.keys(PATTERNS) as Kind[]).filter((kind) => PATTERNS[kind].test(line));

/** Lines that contain `text` are allowed. */
const EXCEPTIONS: readonly Exception[] = [
  {
    file: "test/support/chain.ts",
    text: "setTimeout(resolve, 5)",
    why: "asks the node until its block is mined, for as long as that takes",
  },
  { file: "test/support/spoiling-node.ts", text: "setTimeout(", why: "is a slow node: no test waits for its answer" },
  {
    file: "test/support/receiver.ts",
    text: "setTimeout(",
    why: "is a slow or endless receiver: no test waits for its answer",
  },
  {
    file: "test/http/upload-turns.test.ts",
    text: "scheduler.wait(0)",
    why: "lets what has ended say so, before it is judged that nothing has",
  },
  { file: "test/support/hops.ts", text: "scheduler.wait(0)", why: "passes turns of the event loop and no time" },
  {
    file: "test/scripts/processes.ts",
    text: "await setImmediate()",
    why: "asks the system until a process has done it, for as long as that takes",
  },
  {
    file: "test/support/cuts.ts",
    text: "Promise.race([killed, finished])",
    why: "ends with the act or with its kill, and no timer takes part",
  },
  {
    file: "test/payments/closed-networks.test.ts",
    text: "(Date.now() - read_through) / 1_000",
    why: "the bound is a later reading of the same clock",
  },
  { file: "test/facilitation/currencies.test.ts", text: '"GBPC"', why: "looks in a sentence that names no id" },
  { file: "test/webhooks/secrets.test.ts", text: "const newKey", why: "draws a key on whose value no test depends" },
  {
    file: "test/consequences/plays/webhooks.ts",
    text: "const newer",
    why: "draws a key on whose value no test depends",
  },
];

/** The test of this script quotes the forms that it refuses. */
const OWN_TEST = "test/scripts/chance.node.test.ts";
const root = join(import.meta.dirname, "..");

function check(): string[] {
  const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .map((name) => `test/${name}`)
    .filter((name) => name.endsWith(".ts") && !name.includes(".long.") && name !== OWN_TEST);
  const used = new Set<Exception>();
  const isExcepted = (file: string, line: string) => {
    const exception = EXCEPTIONS.find((one) => one.file === file && line.includes(one.text));
    if (exception) used.add(exception);
    return exception !== undefined;
  };
  const faults = [...files, "vitest.config.ts", "package.json"].flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .flatMap((line, i) => {
        const kinds = kindsIn(line);
        return kinds.length === 0 || isExcepted(file, line) ? [] : [`${file}:${i + 1}: ${kinds}: ${line.trim()}`];
      }),
  );
  const unneeded = EXCEPTIONS.filter((one) => !used.has(one));
  return [...faults, ...unneeded.map(({ file }) => `scripts/chance.ts: the exception of ${file} is not needed`)];
}

if (import.meta.main) {
  const faults = check();
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exit(1);
}
