// The local stack as a person uses it: `npm start` on an empty folder, README's calls and its demo, Ctrl-C, a start on the same state, and a reset.
// See start.long.node.test.ts for further situations of a start.
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildDocument } from "../../scripts/openapi/document.ts";
import { PUBLIC } from "../../scripts/openapi/documents.ts";
import { readDescription } from "../../scripts/service.ts";
import { type ServiceDescription, startStack } from "../../scripts/stack.ts";
import { expectMirrored } from "../directory/mirror.ts";
import {
  blockNumber,
  type Command,
  described,
  end,
  keepPorts,
  launch,
  readAs,
  readPlatform,
  root,
  rpc,
  runScript,
  STEP,
  stepsOf,
  urlsOf,
} from "./commands.ts";
import { expectPlayed } from "./demo-facts.ts";
import { descendantsOf, stillRunning } from "./processes.ts";
import { blockWith, expectShown, playDemo, playShell, README } from "./readme.ts";
import { fragmentsOf, written } from "./written-files.ts";

const ANY = { service: 0, chain: 0, chainProduction: 0 };

const folder = mkdtempSync(join(tmpdir(), "start-"));
const dir = join(folder, ".dev");
const run = (script: string, ...options: string[]): Command => runScript(script, "--dir", dir, ...options);

afterAll(async () => {
  if (running) await end(running, "SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

let running: Command | undefined;
let first: ServiceDescription;
let firstBlock: number;
let demo: string;
let privateKey: string;

describe("npm start refuses", () => {
  test("a port that is in use: it starts nothing, and names the option", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const options = { service: "--port", chain: "--chain-port", chainProduction: "--chain-port-production" };
    const { signal } = new AbortController();
    const other = join(folder, "refused");
    for (const [name, option] of Object.entries(options)) {
      const starting = startStack({ dir: other, ports: { ...ANY, [name]: port }, signal, log: () => undefined });
      await expect(starting).rejects.toThrow(
        new RegExp(`^port ${port} is in use: .*${option} <n>; 0 picks a free one$`),
      );
    }
    server.close();
  });

  test("an invalid port and an unknown option with one line and exit code 1", async () => {
    const commands = [["--port", "65536"], ["--bogus"]].map((options) => run("start.ts", ...options));
    for (const command of commands) {
      expect(await command.ended).toBe(1);
      expect(command.output()).toMatch(/^Cannot start: [^\n]+\n$/);
    }
  });
});

describe("npm start on an empty folder", () => {
  let command: Command;
  let hadSteps: boolean;
  beforeAll(async () => {
    const env = { PORT: "0", CHAIN_PORT: "0", CHAIN_PORT_PRODUCTION: "0", DEV_DIR: dir };
    command = launch("npm", ["start"], { env });
    running = command;
    await command.untilOutput(/s {2}chains /);
    hadSteps = readDescription(dir) === null;
    first = await described(command, dir);
    firstBlock = await blockNumber(first);
  });

  test("prints each step as it begins, and then the information that a person needs", () => {
    expect(hadSteps).toBe(true);
    expect(stepsOf(command).toSorted()).toEqual(["chains", "contracts", "database", "secrets", "service"]);
    const lines = command.output().split("\n");
    expect(lines.findLastIndex((line) => STEP.test(line))).toBeLessThan(lines.findIndex((line) => /^Ready/.test(line)));
    for (const text of [first.base_url, first.sandbox_key]) expect(command.output()).toContain(text);
    expect(/\n {2}Mails +(\S+)\n/.exec(command.output())?.[1]).toBe(first.mail_dir);
    expect(existsSync(first.mail_dir)).toBe(true);
    const named = [...README.matchAll(/`\.dev\/([\w.]+)`/g)].map(([, name = ""]) => name);
    expect(named.length).toBeGreaterThan(2);
    expect(named.filter((name) => !existsSync(join(dir, name)))).toEqual([]);
  });

  test("starts a service that answers, with a sandbox key that works", async () => {
    expect((await fetch(`${first.base_url}/healthz`)).status).toBe(200);
    const platform = { platform_status: "ACCREDITED", environment: "sandbox", promoted_at: null };
    expect(await readPlatform(first)).toMatchObject(platform);
  });

  test("starts both networks with the contracts in place", async () => {
    expect(Object.keys(first.chains)).toEqual(["base-sepolia", "base"]);
    expect(first.chain).toEqual(first.chains["base-sepolia"]);
    for (const { rpc_url, chain_id, settlement_contract, token } of Object.values(first.chains)) {
      expect(Number(await rpc(rpc_url, "eth_chainId"))).toBe(chain_id);
      expect(String(await rpc(rpc_url, "eth_getCode", settlement_contract, "latest")).length).toBeGreaterThan(2);
      expect(String(await rpc(rpc_url, "eth_getCode", token, "latest")).length).toBeGreaterThan(2);
    }
  });

  test.each(["127.0.0.1", "evil.example"])("serves the printed OpenAPI document, asked as %s", async (host) => {
    const { body, type } = await readAs(host, `${first.base_url}/openapi.json`);
    expect(body === JSON.stringify(buildDocument(PUBLIC, first.base_url))).toBe(true);
    expect(type).toBe("application/json");
  });

  test("makes its secrets readable only for their owner", () => {
    for (const name of ["secrets.json", "service.json", "worker.env"]) {
      expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
    }
  });

  test("fires the Cron Trigger on request", async () => {
    const response = await fetch(`${first.base_url}/cdn-cgi/local/scheduled?cron=*+*+*+*+*`);
    expect([response.status, await response.text()]).toEqual([200, "ok"]);
  });

  test("runs once for each folder, and refuses a reset of its state meanwhile", async () => {
    const { signal } = new AbortController();
    const other = startStack({ dir, ports: ANY, signal, log: () => undefined });
    await expect(other).rejects.toThrow(/^a service is already running from /);
    const reset = run("reset.ts");
    expect(await reset.ended).toBe(1);
    expect(reset.output()).toMatch(/^Cannot [^\n]+running from [^\n]+\n$/);
    expect((await fetch(`${first.base_url}/healthz`)).status).toBe(200);
  });
});

describe("README's calls", () => {
  const shell = (text: string) => playShell(text, folder);
  const block = () => blockWith("sh", "/v1/principals");

  test("register the principal that the first one shows", async () => {
    const { code, output } = await shell(block());
    expect(code, output).toBe(0);
    const named = { legal_name: "Acme Robotics GmbH", country: "DE", entity_type: "company", external_ref: "crm-4711" };
    expect(JSON.parse(output)).toMatchObject({ ...named, status: "ACTIVE", environment: "sandbox" });
  });

  test("are answered with the error that README shows if a value is invalid", async () => {
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
  });

  test("list and follow the directory, in the shell of the first call", async () => {
    const [named = ""] = blockWith("sh", "/v1/principals").split(/^curl/m);
    const [listing = "", feed = ""] = blockWith("sh", "/v1/directory/agents").split(/(?=^curl.*changes)/m);
    for (const call of [listing, feed]) {
      const { code, output } = await shell(named + call);
      expect(code, output).toBe(0);
      expect(JSON.parse(output)).toMatchObject({ data: expect.any(Array), has_more: expect.any(Boolean) });
    }
  });

  test("make, test and list webhooks, in the shell of the first call", async () => {
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
  });

  test("move the sandbox's clock forward, in the shell of the first call", async () => {
    const [named = ""] = blockWith("sh", "/v1/principals").split(/^curl/m);
    const { code, output } = await shell(named + blockWith("sh", "/v1/sandbox/clock"));
    expect(code, output).toBe(0);
    expect(JSON.parse(output).offset_ms).toBe(72 * 3_600_000);
  });

  test("play the demo, which prints what README shows and moves money and ratings", async () => {
    const { code, output } = await playDemo(folder);
    expect(code, output).toBe(0);
    demo = output;
    expectShown(output);
    await expectPlayed(first, output);
  });
});

describe("the script of docs/directory.md", () => {
  test("copies the directory, stays in sync, and detects records that differ from the signed ones", () =>
    expectMirrored(first, folder));
});

describe("npm run ca", () => {
  const ca = async (...args: string[]) => {
    const env = { OPERATOR_KEY: first.operator_key };
    const command = launch(process.execPath, [join(root, "scripts/ca.ts"), ...args], { env });
    return { code: await command.ended, output: command.output() };
  };
  const check = (keys: unknown) => {
    const file = join(folder, "next.json");
    writeFileSync(file, JSON.stringify(keys));
    return ca("check", file, first.base_url);
  };

  test("accepts a new key as published, but not yet as a signing key", async () => {
    const [current] = JSON.parse(readFileSync(join(dir, "secrets.json"), "utf8")).ca_keys;
    const next = JSON.parse((await ca("new")).output);
    expect(await check([current, next])).toEqual({ code: 0, output: "These keys may be set.\n" });
    const swapped = await check([
      { ...current, use: "published" },
      { ...next, use: "signing" },
    ]);
    expect([swapped.code, swapped.output]).toEqual([1, expect.stringContaining("signs, but was never published")]);
  });
});

describe("a private key", () => {
  test("is answered again on a retry", async () => {
    const principal = await manage("/v1/principals", {
      legal_name: "Scanned GmbH",
      country: "DE",
      entity_type: "company",
      external_ref: "scan-1",
      verification_attestation: { placeholder: true },
    });
    expect(principal.status).toBe(201);
    const agent = await manage("/v1/agents", {
      principal_id: principal.body["principal_id"],
      economic_role: "CONSUMER",
      profile: { display_name: "Marked-by-the-scan" },
      endpoint_url: "https://agent.example",
      scope: { authorized_actions: ["purchase"], capabilities: [] },
    });
    expect(agent.status).toBe(201);
    const key = { "Idempotency-Key": crypto.randomUUID() };
    const activated = await manage(`/v1/agents/${agent.body["did"]}/activate`, undefined, key);
    const again = await manage(`/v1/agents/${agent.body["did"]}/activate`, undefined, key);
    expect(activated.status).toBe(200);
    expect(again.replayed).toBe("true");
    expect(again.body["private_key"]).toBe(activated.body["private_key"]);
    privateKey = activated.body["private_key"] ?? "";
  });
});

describe("Ctrl-C", () => {
  test("counts its two signals as one, and ends every process that was started", async () => {
    if (!running) throw new Error("nothing runs");
    const started = descendantsOf(running.child.pid ?? 0);
    expect(started.length).toBeGreaterThan(4);
    await keepPorts(first);
    // npm's shell forwards the signal to a process that has already received it from the terminal.
    const service = Number(readFileSync(join(dir, "lock"), "utf8"));
    expect(started).toContain(service);
    process.kill(service, "SIGINT");
    process.kill(service, "SIGINT");
    expect(await running.ended).toBe(0);
    expect(stillRunning(started)).toEqual([]);
    expect([readDescription(dir), existsSync(join(dir, "lock"))]).toEqual([null, false]);
  });

  test("leaves no file or log with a secret in the clear", () => {
    const files = written(dir);
    // The search itself must work: it finds a text that is not secret.
    expect(files.some(({ bytes }) => bytes.includes("Marked-by-the-scan"))).toBe(true);
    const secrets = [...fragmentsOf(privateKey), first.sandbox_key, first.operator_key];
    for (const { path, bytes } of files) {
      for (const secret of secrets) expect(bytes.includes(secret), `a secret in ${path}`).toBe(false);
    }
  });
});

describe("npm start on the same state", () => {
  let command: Command;
  let again: ServiceDescription;
  beforeAll(async () => {
    // Without a port option, it uses the ports of the first start.
    command = run("start.ts");
    running = command;
    again = await described(command, dir);
  });

  test("prints fewer steps, because the database is unchanged", () => {
    expect(stepsOf(command)).toEqual(["chains", "contracts", "service"]);
    expect(command.output()).not.toMatch(/^Network /m);
  });

  test("has the same addresses, platform, keys, contracts and blocks", async () => {
    expect(urlsOf(again)).toEqual(urlsOf(first));
    expect([again.sandbox_key, again.operator_key]).toEqual([first.sandbox_key, first.operator_key]);
    expect((await readPlatform(again))["platform_status"]).toBe("ACCREDITED");
    for (const [network, { settlement_contract, token }] of Object.entries(first.chains)) {
      expect(again.chains[network]).toMatchObject({ settlement_contract, token });
    }
    expect(await blockNumber(again)).toBeGreaterThanOrEqual(firstBlock);
  });

  test("still has the purchase, its dispute and its payments", () => expectPlayed(again, demo));

  test("ends at SIGTERM, and npm run reset deletes everything", async () => {
    const started = descendantsOf(command.child.pid ?? 0);
    command.child.kill("SIGTERM");
    expect(await command.ended).toBe(0);
    expect(stillRunning(started)).toEqual([]);
    const reset = run("reset.ts");
    expect([await reset.ended, reset.output()]).toMatchObject([0, expect.any(String)]);
    expect(existsSync(dir)).toBe(false);
  });
});

async function manage(path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(new URL(path, first.base_url), {
    method: "POST",
    headers: { "Service-Api-Key": first.sandbox_key, "Content-Type": "application/json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    replayed: response.headers.get("idempotent-replayed"),
    body: (await response.json()) as Record<string, string>,
  };
}
