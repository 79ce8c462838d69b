// `npm start` and `npm run reset` as a person uses them: real processes, real ports, a folder of their own.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { encodeFunctionData } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { write } from "../../scripts/chain/client.ts";
import { readDescription } from "../../scripts/service.ts";
import type { ServiceDescription } from "../../scripts/stack.ts";
import { authorityAbi, settlementAbi } from "../../src/chain/contracts/abi.ts";
import { type Command, described, FREE_PORTS, freePort, launch, root } from "./commands.ts";
import { descendantsOf, listenerAmong, nameOf, stillRunning } from "./processes.ts";

const START_MS = 60_000;
/** A line of a step, with the seconds so far. */
const STEP = /^ +\d+\.\d s {2}(\w+) +\S.*$/;

const dir = mkdtempSync(join(tmpdir(), "start-"));
let first: ServiceDescription;
let firstBlock: number;
let running: Command;
let saidBefore: boolean;

afterAll(() => {
  running?.child.kill("SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

describe("npm start", { timeout: START_MS }, () => {
  test("refuses a port that is in use with one line and exit code 1", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    for (const option of ["--port", "--chain-port", "--chain-port-production"]) {
      const command = run("start.ts", ...FREE_PORTS, option, String(port));
      expect(await command.ended).toBe(1);
      expect(command.output()).toMatch(new RegExp(`^Cannot start: port ${port} is in use: .*${option} <n>.*\\n$`));
    }
    server.close();
  });

  test("refuses what is no port and an unknown option with one line", async () => {
    for (const options of [["--port", "http"], ["--port", "65536"], ["--bogus"]]) {
      const command = run("start.ts", ...options);
      expect(await command.ended).toBe(1);
      expect(command.output()).toMatch(/^Cannot start: [^\n]+\n$/);
    }
  });

  test("ends what it has started at Ctrl-C, also in the middle of its start", async () => {
    const other = mkdtempSync(join(tmpdir(), "interrupted-"));
    const command = run("start.ts", ...FREE_PORTS, "--dir", other);
    // Its chains, and the tool that applies the migrations.
    await expect.poll(() => descendantsOf(command.child.pid ?? 0).length, { timeout: 20_000 }).toBeGreaterThan(3);
    const started = descendantsOf(command.child.pid ?? 0);
    command.child.kill("SIGINT");
    await command.ended;
    expect(stillRunning(started)).toEqual([]);
    expect(readDescription(other)).toBeNull();
    const lines = command.output().trimEnd().split("\n");
    expect(lines.filter((line) => !STEP.test(line))).toEqual(["", "Stopping…"]);
    rmSync(other, { recursive: true });
  });

  // util-linux's `script` gives a command a terminal; elsewhere it is another program.
  const hasScript = spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0;
  test.skipIf(!hasScript)("prints its steps on a terminal as in a pipe", async () => {
    const other = mkdtempSync(join(tmpdir(), "terminal-"));
    const line = `exec "${process.execPath}" "${join(root, "scripts/start.ts")}" ${FREE_PORTS.join(" ")} --dir "${other}"`;
    const command = launch("script", ["-qec", line, "/dev/null"]);
    await expect.poll(() => command.output(), { timeout: 20_000 }).toContain("contracts");
    process.kill(Number(readFileSync(join(other, "lock"), "utf8")), "SIGINT");
    await command.ended;
    const lines = command.output().trimEnd().split("\r\n");
    expect(lines.filter((text) => !STEP.test(text))).toEqual(["", "Stopping…"]);
    rmSync(other, { recursive: true });
  });

  describe("on a fresh folder", () => {
    beforeAll(async () => {
      const env = { PORT: "0", CHAIN_PORT: "0", CHAIN_PORT_PRODUCTION: "0", DEV_DIR: dir };
      running = launch("npm", ["start"], { env });
      while (!stepsOf(running).includes("chains")) await sleep(50);
      saidBefore = readDescription(dir) === null;
      first = await described(running, dir);
      firstBlock = await blockNumber(first);
    }, START_MS);

    test("describes a service that answers, with a sandbox key that works", async () => {
      expect((await fetch(`${first.base_url}/healthz`)).status).toBe(200);
      const platform = await readPlatform(first);
      expect(platform).toMatchObject({ platform_status: "ACCREDITED", environment: "sandbox", promoted_at: null });
      expect(running.output()).toContain(first.base_url);
      expect(running.output()).toContain(first.sandbox_key);
    });

    test("prints the folder of its mails, where the link of a sign-up is found", async () => {
      await expect.poll(() => /\n {2}Mails +(\S+)\n/.exec(running.output())?.[1]).toBe(first.mail_dir);
      expect(existsSync(first.mail_dir)).toBe(true);
    });

    test("has printed each step as it began, and then that it is ready", async () => {
      expect(saidBefore).toBe(true);
      expect(stepsOf(running).toSorted()).toEqual(["chains", "contracts", "database", "secrets", "service"]);
      await expect.poll(() => running.output()).toMatch(/\nReady after \d+\.\d s;/);
      const lines = running.output().split("\n");
      expect(lines.findLastIndex((line) => STEP.test(line))).toBeLessThan(
        lines.findIndex((line) => /Ready/.test(line)),
      );
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

    test("keeps its secrets from everybody else", () => {
      for (const name of ["secrets.json", "service.json", "worker.env"]) {
        expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
      }
    });

    test("fires the Cron Trigger on request", async () => {
      const response = await fetch(`${first.base_url}/cdn-cgi/local/scheduled?cron=*+*+*+*+*`);
      expect([response.status, await response.text()]).toEqual([200, "ok"]);
    });

    test("runs once a folder, and its state is not reset under it", async () => {
      for (const script of ["start.ts", "reset.ts"]) {
        const command = run(script, ...(script === "start.ts" ? FREE_PORTS : []));
        expect(await command.ended).toBe(1);
        expect(command.output()).toMatch(/^Cannot [^\n]+running from [^\n]+\n$/);
      }
      expect((await fetch(`${first.base_url}/healthz`)).status).toBe(200);
    });

    test("takes the two signals of one Ctrl-C as one, and ends every process that it started", async () => {
      const started = descendantsOf(running.child.pid ?? 0);
      expect(started.length).toBeGreaterThan(4);
      // npm's shell forwards the signal to a process that has received it from the terminal already.
      const service = startScript(running.child.pid ?? 0);
      process.kill(service, "SIGINT");
      process.kill(service, "SIGINT");
      expect(await running.ended).toBe(0);
      expect(stillRunning(started)).toEqual([]);
      expect([readDescription(dir), existsSync(join(dir, "lock"))]).toEqual([null, false]);
    });
  });

  describe("started again", () => {
    let again: ServiceDescription;
    beforeAll(async () => {
      // Without a port asked for: those of the first start.
      running = run("start.ts");
      again = await described(running, dir);
    }, START_MS);

    test("prints fewer steps, because the database is as it was", () => {
      expect(stepsOf(running)).toEqual(["chains", "contracts", "service"]);
    });

    test("has its chains at the same ports, and names one that has to be elsewhere", async () => {
      expect(addressesOf(again)).toEqual(addressesOf(first));
      running.child.kill("SIGTERM");
      await running.ended;
      const { port } = new URL(first.chain.rpc_url);
      const other = createServer();
      await new Promise<void>((resolve) => other.listen(Number(port), "127.0.0.1", resolve));
      running = run("start.ts", ...FREE_PORTS);
      again = await described(running, dir);
      expect(running.output()).toMatch(new RegExp(`^Port ${port} of base-sepolia is in use: [^\n]+\n`));
      expect(addressesOf(again)).toMatchObject({ base: addressesOf(first)["base"] });
      expect(again.chain.rpc_url).not.toBe(first.chain.rpc_url);
      await new Promise((resolve) => other.close(resolve));
    });

    test("has the same address, which everything that it signed names, and prints when it is given another", async () => {
      expect(again.base_url).toBe(first.base_url);
      running.child.kill("SIGTERM");
      await running.ended;
      running = run("start.ts", ...FREE_PORTS, "--port", String(await freePort()));
      again = await described(running, dir);
      const { port } = new URL(first.base_url);
      await expect.poll(() => running.output()).toContain(`work at PORT=${port} alone`);
      expect(again.base_url).not.toBe(first.base_url);
    });

    test("has the same platform, keys, contracts and blocks", async () => {
      expect(again.sandbox_key).toBe(first.sandbox_key);
      expect(again.operator_key).toBe(first.operator_key);
      expect((await readPlatform(first, again.base_url))["platform_status"]).toBe("ACCREDITED");
      for (const [network, { settlement_contract, token }] of Object.entries(first.chains)) {
        expect(again.chains[network]).toMatchObject({ settlement_contract, token });
      }
      expect(await blockNumber(again)).toBeGreaterThanOrEqual(firstBlock);
    });

    describe.each(["the process that listens", "the Worker's own runtime"])("when %s dies", (which) => {
      afterAll(async () => {
        running = run("start.ts", ...FREE_PORTS);
        again = await described(running, dir);
      }, START_MS);

      test("ends all of it", async () => {
        const started = descendantsOf(running.child.pid ?? 0);
        const listener = listenerAmong(started, Number(new URL(again.base_url).port));
        const runtime = started.find((pid) => pid !== listener && /\bworkerd serve\b/.test(nameOf(pid)));
        const victim = which === "the process that listens" ? listener : runtime;
        expect(victim).toBeGreaterThan(0);
        // The stack is described before it has printed that it is ready.
        await expect.poll(() => running.output()).toMatch(/\nReady after \d+\.\d s;/);
        const before = running.output();
        process.kill(victim ?? 0, "SIGKILL");
        expect(await running.ended).toBe(1);
        const printed = running.output().slice(before.length).split("\n");
        // A call that was answered before it may be printed late, and a minute's cron may have been running.
        expect(
          printed
            .filter((line) => !/^(?:\[wrangler:info\]|the minute cron did not run: )/.test(line))
            .join("\n")
            .trim(),
        ).toMatch(/^the Worker ended \(its runtime died\): see \S+worker\.log$/);
        expect(stillRunning(started)).toEqual([]);
        expect([readDescription(dir), existsSync(join(dir, "lock"))]).toEqual([null, false]);
      });
    });

    test("starts in spite of what is wrong on a chain, and tells it in a line", async () => {
      expect(running.output()).not.toMatch(/^Network /m);
      const { rpc_url, settlement_contract, authority } = again.chain;
      const { chain } = JSON.parse(readFileSync(join(dir, "secrets.json"), "utf8"));
      const pause = encodeFunctionData({ abi: settlementAbi, functionName: "pause" });
      const call = {
        address: authority,
        abi: authorityAbi,
        functionName: "execute",
        args: [settlement_contract, pause],
      };
      await write(rpc_url, chain.guardian.private_key, call);
      running.child.kill("SIGTERM");
      await running.ended;
      running = run("start.ts", ...FREE_PORTS);
      again = await described(running, dir);
      const line = "Network base-sepolia: the settlement contract is paused: it takes no payments";
      await expect.poll(() => running.output().split("\n")).toContain(line);
      expect(running.output().match(/^Network /gm)).toHaveLength(1);
      expect((await fetch(`${again.base_url}/healthz`)).status).toBe(200);
    });

    test("leaves no process behind even when it is killed", async () => {
      const started = descendantsOf(running.child.pid ?? 0);
      running.child.kill("SIGKILL");
      await running.ended;
      for (let waited = 0; waited < 15_000 && stillRunning(started).length > 0; waited += 100) await sleep(100);
      expect(stillRunning(started)).toEqual([]);
    });
  });

  test("forgets everything with npm run reset, also after a crash", async () => {
    const command = run("reset.ts");
    expect(await command.ended).toBe(0);
    expect(existsSync(dir)).toBe(false);
  });
});

/** The process that runs the script, below npm and its shell. */
function startScript(npm: number): number {
  const found = descendantsOf(npm).find((pid) => Number(readFileSync(join(dir, "lock"), "utf8")) === pid);
  if (found === undefined) throw new Error("npm start runs no script");
  return found;
}

const run = (script: string, ...options: string[]): Command =>
  launch(process.execPath, [join(root, "scripts", script), "--dir", dir, ...options]);

/** The parts whose steps it has named, in order. */
const stepsOf = (command: Command): string[] =>
  command
    .output()
    .split("\n")
    .flatMap((line) => STEP.exec(line)?.[1] ?? []);

const addressesOf = ({ chains }: ServiceDescription): Record<string, string> =>
  Object.fromEntries(Object.entries(chains).map(([network, { rpc_url }]) => [network, rpc_url]));

async function readPlatform(service: ServiceDescription, baseUrl = service.base_url): Promise<Record<string, unknown>> {
  const response = await fetch(`${baseUrl}/v1/platform`, { headers: { "Service-Api-Key": service.sandbox_key } });
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

const blockNumber = async ({ chain }: ServiceDescription): Promise<number> =>
  Number(await rpc(chain.rpc_url, "eth_blockNumber"));

async function rpc(url: string, method: string, ...params: unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return ((await response.json()) as { result: unknown }).result;
}
