// Measures the deployed bundle: its gzipped size, its parts, and the time of its start.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

export type Part = { name: string; bytes: number };
export type Bundle = { bytes: number; gzipKib: number; parts: Part[]; startupMs: number[]; startupMedianMs: number };

const ROOT = join(import.meta.dirname, "..");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const STARTS = 5;
const PARTS_SHOWN = 8;
const KIB = 1_024;

export function measureBundle(): Bundle {
  const folder = mkdtempSync(join(tmpdir(), "bench-bundle-"));
  try {
    const metafile = join(folder, "meta.json");
    const upload = join(folder, "worker.bundle");
    wrangler("deploy", "--dry-run", "--minify", "--outdir", folder, "--outfile", upload, "--metafile", metafile);
    const script = readFileSync(join(folder, "worker.js"));
    const startupMs = Array.from({ length: STARTS }, () => startOnce(folder, upload));
    return {
      bytes: script.byteLength,
      gzipKib: gzipSync(script, { level: 9 }).byteLength / KIB,
      parts: partsOf(JSON.parse(readFileSync(metafile, "utf8")) as Metafile),
      startupMs,
      startupMedianMs: startupMs.toSorted((a, b) => a - b)[Math.floor(STARTS / 2)] ?? 0,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The active time, without the idle part of the profile's window. */
function startOnce(folder: string, upload: string): number {
  const profile = join(folder, "start.cpuprofile");
  const output = wrangler("check", "startup", "--worker", upload, "--outfile", profile);
  const active = /Active: ([\d.]+) ms/.exec(output)?.[1];
  if (active === undefined) throw new Error(`wrangler check startup printed no active time:\n${output}`);
  return Number(active);
}

function wrangler(...args: string[]): string {
  const env = {
    ...process.env,
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_LOG: "log",
    CI: "1",
  };
  const options = { cwd: ROOT, env, encoding: "utf8" as const };
  const config = ["--config", join(ROOT, "wrangler.toml"), "--env", ""];
  const { status, stdout, stderr } = spawnSync(process.execPath, [WRANGLER, ...args, ...config], options);
  if (status !== 0) throw new Error(`wrangler ${args.join(" ")} failed:\n${stdout}${stderr}`);
  return stdout;
}

type Metafile = { outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }> };

/** The parts by package and by folder of src, the largest first. */
function partsOf({ outputs }: Metafile): Part[] {
  const sums = new Map<string, number>();
  for (const { inputs } of Object.values(outputs)) {
    for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
      const name =
        /.*node_modules\/((?:@[^/]+\/)?[^/]+(?:\/v4\/locales)?)/.exec(path)?.[1] ??
        /src\/[^/]+/.exec(path)?.[0] ??
        path;
      sums.set(name, (sums.get(name) ?? 0) + bytesInOutput);
    }
  }
  const parts = [...sums].map(([name, bytes]) => ({ name, bytes }));
  return parts.sort((a, b) => b.bytes - a.bytes).slice(0, PARTS_SHOWN);
}
