// Checks imports against .dependency-cruiser.cjs. The tool reports success even if it cannot parse anything, as under an unknown version of
// TypeScript, so too few modules are a failure too.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

type Report = {
  readonly summary: {
    readonly error: number;
    readonly totalCruised: number;
    readonly violations: readonly { from: string; to: string; rule: { name: string; severity: string } }[];
  };
};

// Fewer modules mean that the tool could not read the tree.
const FEWEST_MODULES = 200;
const root = join(import.meta.dirname, "..");

const run = spawnSync(
  process.execPath,
  [
    join(root, "node_modules/dependency-cruiser/bin/dependency-cruise.mjs"),
    "--output-type",
    "json",
    "src",
    "scripts",
    "test",
    "bench",
  ],
  { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 },
);
if (!run.stdout.startsWith("{")) {
  console.error(run.stderr || run.stdout || "dependency-cruiser said nothing");
  process.exit(1);
}

const { summary }: Report = JSON.parse(run.stdout);
for (const { from, to, rule } of summary.violations) console.error(`${rule.name}: ${from} → ${to}`);
if (summary.totalCruised < FEWEST_MODULES) {
  console.error(`only ${summary.totalCruised} modules were read, fewer than ${FEWEST_MODULES}: nothing is proved`);
}
process.exit(summary.error > 0 || summary.totalCruised < FEWEST_MODULES ? 1 : 0);
