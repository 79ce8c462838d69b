// Further situations of a local stack's start: Ctrl-C in its middle, a terminal, taken ports, parts that die, and a paused contract.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { encodeFunctionData } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { callContract } from "../../scripts/chain/client.ts";
import { readDescription } from "../../scripts/service.ts";
import type { ServiceDescription } from "../../scripts/stack.ts";
import {
  type Command,
  described,
  end,
  FREE_PORTS,
  keepPorts,
  launch,
  root,
  runScript,
  STEP,
  urlsOf,
} from "./commands.ts";
import { descendantsOf, runtimesAmong, stillRunning } from "./processes.ts";

const dir = mkdtempSync(join(tmpdir(), "start-long-"));
let running: Command;
let service: ServiceDescription;

const run = (script: string, ...options: string[]): Command => runScript(script, "--dir", dir, ...options);
const startAgain = async (...options: string[]): Promise<void> => {
  running = run("start.ts", ...options);
  service = await described(running, dir);
};
const stop = async (): Promise<void> => {
  await keepPorts(service);
  running.child.kill("SIGTERM");
  await running.ended;
};

describe("npm start", () => {
  afterAll(async () => {
    if (running) await end(running, "SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  });

  test("refuses a port that is in use with one line and exit code 1", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    for (const option of ["--port", "--chain-port", "--chain-port-production"]) {
      const command = run("start.ts", ...FREE_PORTS, option, String(port));
      expect(await command.ended).toBe(1);
      expect(command.output()).toMatch(new RegExp(`^Cannot start: port ${port} is in use: .*${option} <n>.*\\n$`));
    }
    server.close();
  });

  test("ends everything that it has started at Ctrl-C in the middle of its start", async () => {
    const other = mkdtempSync(join(tmpdir(), "interrupted-"));
    const command = runScript("start.ts", ...FREE_PORTS, "--dir", other);
    await command.untilOutput(/s {2}contracts /);
    const started = descendantsOf(command.child.pid ?? 0);
    expect(started.length).toBeGreaterThan(1);
    command.child.kill("SIGINT");
    await command.ended;
    expect(stillRunning(started)).toEqual([]);
    expect(readDescription(other)).toBeNull();
    const lines = command.output().trimEnd().split("\n");
    expect(lines.filter((line) => !STEP.test(line))).toEqual(["", "Stopping…"]);
    rmSync(other, { recursive: true });
  });

  // The `script` of util-linux gives a command a terminal; other systems have a different program of that name.
  const hasScript = spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0;
  test.skipIf(!hasScript)("prints its steps on a terminal as in a pipe", async () => {
    const other = mkdtempSync(join(tmpdir(), "terminal-"));
    const line = `exec "${process.execPath}" "${join(root, "scripts/start.ts")}" ${FREE_PORTS.join(" ")} --dir "${other}"`;
    const command = launch("script", ["-qec", line, "/dev/null"]);
    await command.untilOutput(/s {2}contracts /);
    process.kill(Number(readFileSync(join(other, "lock"), "utf8")), "SIGINT");
    await command.ended;
    const lines = command.output().trimEnd().split("\r\n");
    expect(lines.filter((text) => !STEP.test(text))).toEqual(["", "Stopping…"]);
    rmSync(other, { recursive: true });
  });

  describe("started again", () => {
    let first: ServiceDescription;
    beforeAll(async () => {
      await startAgain(...FREE_PORTS);
      first = service;
      await stop();
    });

    test("keeps its chains at the same ports, and names one that has to move", async () => {
      const { port } = new URL(first.chain.rpc_url);
      const other = createServer().listen(Number(port), "127.0.0.1");
      await once(other, "listening");
      await startAgain("--chain-port", "0");
      expect(running.output()).toMatch(new RegExp(`^Port ${port} of base-sepolia is in use: [^\n]+\n`));
      expect(urlsOf(service)).toEqual([first.base_url, expect.not.stringContaining(port), urlsOf(first)[2]]);
      other.close();
      await stop();
    });

    test("prints what no longer works if it has another address", async () => {
      const { port } = new URL(first.base_url);
      const other = createServer().listen(Number(port), "127.0.0.1");
      await once(other, "listening");
      await startAgain(...FREE_PORTS);
      expect(running.output()).toContain(`work at PORT=${port} alone`);
      expect(service.base_url).not.toBe(first.base_url);
      other.close();
      await stop();
    });
  });

  describe.each(["listener", "worker"] as const)("when its %s runtime dies", (which) => {
    test("ends everything", async () => {
      await startAgain(...FREE_PORTS);
      const started = descendantsOf(running.child.pid ?? 0);
      const victim = runtimesAmong(started)[which];
      expect(victim).toBeGreaterThan(0);
      const before = running.output();
      process.kill(victim ?? 0, "SIGKILL");
      expect(await running.ended).toBe(1);
      const printed = running.output().slice(before.length).split("\n");
      // A call that was answered earlier may be printed late, and a minute's cron may have been running.
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

  test("starts although a chain has a fault, and reports it in a line", async () => {
    await startAgain(...FREE_PORTS);
    expect(running.output()).not.toMatch(/^Network /m);
    const { rpc_url, settlement_contract, authority } = service.chain;
    const { chain } = JSON.parse(readFileSync(join(dir, "secrets.json"), "utf8"));
    const pause = encodeFunctionData({ abi: settlementAbi, functionName: "pause" });
    const args = [settlement_contract, pause];
    const call = { address: authority, abi: authorityAbi, functionName: "execute", args };
    await callContract(rpc_url, chain.guardian.private_key, call);
    await stop();
    await startAgain(...FREE_PORTS);
    await running.untilOutput(/^Network base-sepolia: the settlement contract is paused: it takes no payments$/m);
    expect(running.output().match(/^Network /gm)).toHaveLength(1);
    expect((await fetch(`${service.base_url}/healthz`)).status).toBe(200);
  });

  test("leaves no running process when it is killed, and is reset afterwards", async () => {
    const started = descendantsOf(running.child.pid ?? 0);
    running.child.kill("SIGKILL");
    await running.ended;
    while (stillRunning(started).length > 0) await sleep(100);
    const command = run("reset.ts");
    expect(await command.ended).toBe(0);
    expect(existsSync(dir)).toBe(false);
  });
});
