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
/** Without the files of the machine, which bash reads where its input is a socket. */
const shell = (text: string) => play("bash", ["--norc", "-euo", "pipefail", "-c", text], folder);

describe("the code blocks", () => {
  it("are those that a test here compares, beside the drawing of the flow", () => {
    const languages = [...README.matchAll(/^```(\w*)\n[\s\S]*?^```$/gm)].map(([, language]) => language);
    expect(languages).toEqual(["sh", "sh", "text", "sh", "json", "sh", "sh", "sh", "mermaid"]);
  });

  it("of a shell name commands that there are, with nothing but a comment behind them", () => {
    const lines = blocks("sh")
      .filter((block) => !block.includes("curl"))
      .flatMap((block) => block.trimEnd().split("\n"));
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(line).toMatch(/^npm (start|test|run demo) +# /);
  });
});

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

describe("the directory", () => {
  it("is listed and followed by what README sends, in the shell of the first call", async () => {
    const [named = ""] = blockWith("sh", "/v1/principals").split(/^curl/m);
    const [listing = "", feed = ""] = blockWith("sh", "/v1/directory/agents").split(/(?=^curl.*changes)/m);
    for (const call of [listing, feed]) {
      const { code, output } = await shell(named + call);
      expect(code, output).toBe(0);
      expect(JSON.parse(output)).toMatchObject({ data: expect.any(Array), has_more: expect.any(Boolean) });
    }
  }, 30_000);
});

describe("webhooks", () => {
  it("are made, tested and listed by what README sends, in the shell of the first call", async () => {
    const [named = ""] = blockWith("sh", "/v1/principals").split(/^curl/m);
    const [making = "", testing = "", listing = ""] = blockWith("sh", "/v1/webhooks").split(/^(?=curl)/m);
    const made = await shell(named + making);
    expect(made.code, made.output).toBe(0);
    const { webhook_id, secret } = JSON.parse(made.output);
    expect(secret).toMatch(/^whsec_/);
    const sent = await shell(`${named}\nWEBHOOK=${webhook_id}\n${testing}`);
    expect(JSON.parse(sent.output)).toMatchObject({ webhook_id, event_type: "webhook.test" });
    const listed = await shell(`${named}\nWEBHOOK=${webhook_id}\n${listing}`);
    expect(JSON.parse(listed.output).data).toMatchObject([{ webhook_id, event_type: "webhook.test" }]);
    await shell(`${named}\ncurl -s -X DELETE "$BASE/v1/webhooks/${webhook_id}" -H "Service-Api-Key: $KEY"`);
  }, 30_000);
});

describe("the sandbox's clock", () => {
  it("goes forward by what README sends, in the shell of the first call", async () => {
    const [named = ""] = blockWith("sh", "/v1/principals").split(/^curl/m);
    const { code, output } = await shell(named + blockWith("sh", "/v1/sandbox/clock"));
    expect(code, output).toBe(0);
    expect(JSON.parse(output).offset_ms).toBe(72 * 3_600_000);
  }, 30_000);
});

describe("the demo", () => {
  /** Without white space, and without durations, ids, addresses and hashes, which differ from run to run. */
  const comparable = (text: string): string =>
    text
      .replace(/ \d+ ms$/gm, " <time>")
      .replace(/did:aeap:[0-9a-f-]{36}/g, "<did>")
      .replace(/http:\/\/127\.0\.0\.1:\d+/g, "<base>")
      .replace(/\b[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}/g, "<id>")
      .replace(/\b0x[0-9a-f]+/gi, "<hash>")
      .replace(/\beyJ[\w-]+/g, "<jws>")
      .replace(/\s+/g, "");

  it("prints what README shows and, but for its ellipses, nothing else", async () => {
    const { code, output } = await play(process.execPath, ["scripts/demo.ts"], root);
    expect(code, output).toBe(0);
    // The ellipsis of "POST …/scope" is part of the output.
    const shown = comparable(blockWith("text", "/v1/platform")).split(/…(?!\/)/);
    expect(shown.length).toBeGreaterThan(5);
    let rest = comparable(output);
    for (const [i, part] of shown.entries()) {
      const at = i === 0 ? 0 : i === shown.length - 1 ? rest.length - part.length : rest.indexOf(part);
      expect(rest.slice(Math.max(at, 0)).startsWith(part), difference(part, rest)).toBe(true);
      rest = rest.slice(at + part.length);
    }
    expect(rest).toBe("");
  }, 120_000);

  /** The first place where the output does not continue as README does. */
  function difference(part: string, rest: string): string {
    let length = part.length;
    while (!rest.includes(part.slice(0, length))) length -= 1;
    const [same, shown] = [part.slice(0, length), part.slice(length)];
    const printed = rest.slice(rest.indexOf(same) + length);
    return `after "${same.slice(-60)}" README has "${shown.slice(0, 60)}", the output "${printed.slice(0, 60)}"`;
  }
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

  it("are the variables and secrets of the Worker, all of them", () => {
    const rows = [...README.matchAll(/^\| ((?:secrets )?`[A-Z_]+`.*?) \|/gm)].map(([, cell = ""]) => cell);
    const named = rows.flatMap((cell) => [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name = ""]) => name));
    const [, env = ""] = /^export type Env = \{([^}]*)\}/m.exec(read("src/context.ts")) ?? [];
    const known = [...env.matchAll(/^ +([A-Z_]+): string;/gm)].map(([, name = ""]) => name);
    expect(known.length).toBeGreaterThan(15);
    expect(named.sort()).toEqual(known.sort());
  });

  it("are the defaults of npm start", async () => {
    const { output } = await play(process.execPath, ["scripts/start.ts", "--help"], root);
    const [, defaults = ""] = /`npm start` takes (.*?),\s+or the\s+options/s.exec(README) ?? [];
    expect(defaults).toMatch(/\d/);
    expect(output).toContain(defaults.replaceAll("`", "").replace(/\s+/g, " "));
  });

  it("are files that a running service has", () => {
    const named = [...README.matchAll(/`\.dev\/([\w.]+)`/g)].map(([, name = ""]) => name);
    expect(named.length).toBeGreaterThan(2);
    expect(named.filter((name) => !existsSync(join(dir, name)))).toEqual([]);
  });

  it("are routes that there are", () => {
    const documents = ["docs/openapi.json", "docs/openapi-operator.json"].map((file) => JSON.parse(read(file)));
    const anyId = (path: string) => path.replace(/\{\w+\}/g, "{}");
    const known = new Set(documents.flatMap(({ paths }) => Object.keys(paths)).map(anyId));
    const named = [...README.matchAll(/(?<![\w}])\/v1\/[\w/{}-]+/g)].map(([path]) => anyId(path));
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((path) => !known.has(path))).toEqual([]);
  });

  it("are files that there are", () => {
    const links = [...README.matchAll(/\]\(([^)#]+)\)/g)].map(([, path = ""]) => path);
    expect(links.length).toBeGreaterThan(15);
    expect(links.filter((path) => !/^https?:/.test(path) && !existsSync(join(root, path)))).toEqual([]);
    const labelled = [...README.matchAll(/\[`([^`]+)`\]\(([^)#]+)\)/g)];
    expect(labelled.filter(([, label = "", path]) => label.replace(/\/$/, "") !== path).map(([text]) => text)).toEqual(
      [],
    );
  });
});
