// README against the product: its commands are played, its outputs compared with real ones, and what it names exists.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack } from "../../scripts/stack.ts";

const root = join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const README = read("README.md");
/** README's commands read `.dev` beside them. */
const folder = mkdtempSync(join(tmpdir(), "readme-"));
const dir = join(folder, ".dev");
let stack: Stack;

beforeAll(async () => {
  const ports = { service: 0, chain: 0, chainProduction: 0 };
  stack = await startStack({ dir, ports, signal: new AbortController().signal, log: () => undefined });
}, 90_000);

afterAll(async () => {
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 30_000);

/** The code blocks of a language, in their order. */
const blocks = (language: string): string[] =>
  [...README.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, text = ""]) => text);

function blockWith(language: string, text: string): string {
  const found = blocks(language).filter((block) => block.includes(text));
  expect(found, `${language} blocks with ${text}`).toHaveLength(1);
  return found[0] ?? "";
}

type Played = { code: number | null; output: string };
function play(command: string, args: string[], cwd: string): Promise<Played> {
  const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const env = { ...process.env, PATH: path, DEV_DIR: dir, NO_COLOR: "1" };
  const child = spawn(command, args, { cwd, env });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, output })));
}
const shell = (text: string) => play("bash", ["-euo", "pipefail", "-c", text], folder);

describe("the first call", () => {
  const block = () => blockWith("sh", "/v1/principals");

  it("registers the principal that it shows", async () => {
    const { code, output } = await shell(block());
    expect(code, output).toBe(0);
    const named = { legal_name: "Acme Robotics GmbH", country: "DE", entity_type: "company", external_ref: "crm-4711" };
    expect(JSON.parse(output)).toMatchObject({ ...named, status: "ACTIVE", environment: "sandbox" });
  }, 30_000);

  it("with a bad value is answered with the error that README shows, member for member", async () => {
    const shown = JSON.parse(blockWith("json", "validation_failed"));
    const faulty = block().replace('"country": "DE"', '"country": "Germany"');
    expect(faulty).not.toBe(block());
    const { code, output } = await shell(faulty);
    expect(code, output).toBe(0);
    const sent = JSON.parse(output);
    expect(Object.keys(sent)).toEqual(Object.keys(shown));
    const requestId = /^req_[0-9A-HJKMNP-TV-Z]{26}$/;
    expect([sent.request_id, shown.request_id]).toEqual([
      expect.stringMatching(requestId),
      expect.stringMatching(requestId),
    ]);
    expect({ ...sent, request_id: "" }).toEqual({ ...shown, request_id: "" });
  }, 30_000);
});

describe("the demo", () => {
  /** Without durations, ids and addresses, which differ from run to run. */
  const plain = (line: string): string =>
    line
      .replace(/\d+ ms$/, "")
      .replace(/did:aeap:[0-9a-f-]{36}/g, "<did>")
      .replace(/http:\/\/127\.0\.0\.1:\d+/g, "<base>")
      .replace(/\s+/g, " ")
      .trim();

  it("prints the lines that README shows, in their order", async () => {
    const { code, output } = await play(process.execPath, ["scripts/demo.ts"], root);
    expect(code, output).toBe(0);
    const printed = output.split("\n").map(plain);
    // Where README leaves something out it writes an ellipsis.
    const shown = blockWith("text", "/v1/platform")
      .split("\n")
      .map(plain)
      .filter((line) => line !== "" && !/^\{.*…/.test(line) && line !== "…");
    expect(shown.length).toBeGreaterThan(20);
    let at = 0;
    for (const line of shown) {
      const next = printed.indexOf(line, at);
      expect(next, `"${line}" after "${printed[at - 1] ?? ""}" in:\n${output}`).toBeGreaterThanOrEqual(0);
      at = next + 1;
    }
  }, 60_000);

  it("shows of receipt and document members that they have", async () => {
    const { output } = await play(process.execPath, ["scripts/demo.ts"], root);
    const shortened = blockWith("text", "/v1/platform").match(/^ *\{.*….*$/gm) ?? [];
    expect(shortened).toHaveLength(2);
    for (const line of shortened) {
      const names = [...line.matchAll(/"(\w+)":/g)].map(([, name]) => name);
      expect(names.length).toBeGreaterThan(2);
      for (const name of names) expect(output).toContain(`"${name}":`);
    }
  }, 60_000);
});

describe("what README names", () => {
  const scripts = JSON.parse(read("package.json")).scripts as Record<string, string>;
  const commands = [...README.matchAll(/(?:^|`)npm (?:run (?:-s )?)?([a-z][\w:]*)/gm)].map(([, name = ""]) => name);

  it("are commands that there are, and all of them stand in its table", () => {
    expect(commands.filter((name) => !(name in scripts))).toEqual([]);
    const own = Object.keys(scripts).filter((name) => !name.startsWith("pre"));
    const table = [...README.matchAll(/^\| `npm (?:run (?:-s )?)?([\w:]+)`/gm)].map(([, name]) => name);
    expect([...table].sort()).toEqual(own.sort());
  });

  it("are variables of the Worker", () => {
    const rows = [...README.matchAll(/^\| ((?:secrets )?`[A-Z_]+`.*?) \|/gm)].map(([, cell = ""]) => cell);
    const named = rows.flatMap((cell) => [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name = ""]) => name));
    expect(named.length).toBeGreaterThan(15);
    const known = `${read("wrangler.toml")}\n${read("src/context.ts")}`;
    expect(named.filter((name) => !new RegExp(`^\\s*${name}\\??[ :=]`, "m").test(known))).toEqual([]);
  });

  it("are files that there are", () => {
    const links = [...README.matchAll(/\]\(([^)#]+)\)/g)].map(([, path = ""]) => path);
    expect(links.length).toBeGreaterThan(15);
    expect(links.filter((path) => !/^https?:/.test(path) && !existsSync(join(root, path)))).toEqual([]);
  });
});
