// A person runs `wrangler dev` after `npm start` ran once: it finds secrets, networks and the demo platform. The tests use a copy of the project,
// because these files are next to wrangler.toml.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ServiceDescription } from "../../scripts/stack.ts";
import { type Command, copyOfProject, described, end, FREE_PORTS, launch } from "./commands.ts";

const READY = /Ready on (http:\S+)/;
const OWN = "A_VARIABLE_OF_MINE='1'\n";

describe("wrangler dev run directly", () => {
  const copy = copyOfProject();
  const variables = join(copy, ".dev.vars");
  const env = { DEV_DIR: "", WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" };
  const running: Command[] = [];
  let known: ServiceDescription;

  const script = (name: string, ...options: string[]): Command => {
    const command = launch(process.execPath, [join(copy, "scripts", name), ...options], { cwd: copy, env });
    running.push(command);
    return command;
  };
  const startOnce = async (): Promise<Command> => {
    const command = script("start.ts", ...FREE_PORTS);
    known = await described(command, join(copy, ".dev"));
    await end(command);
    return command;
  };

  beforeAll(startOnce);
  afterAll(async () => {
    for (const command of running) await end(command, "SIGKILL");
    rmSync(copy, { recursive: true, force: true });
  });

  test("answers for a platform that the stack's own database has", async () => {
    const wrangler = join(copy, "node_modules/wrangler/wrangler-dist/cli.js");
    const args = ["--no-warnings", wrangler, "dev", "--ip", "127.0.0.1", "--port", "0", "--inspector-port", "0"];
    const command = launch(process.execPath, args, { cwd: copy, env });
    running.push(command);
    await command.untilOutput(READY);
    const base = READY.exec(command.output())?.[1];
    const platform = await fetch(`${base}/v1/platform`, { headers: { "Service-Api-Key": known.sandbox_key } });
    expect([platform.status, await platform.json()]).toMatchObject([200, { platform_status: "ACCREDITED" }]);
    expect((await fetch(`${base}/.well-known/aeap-ca-jwks`)).status).toBe(200);
    await end(command);
  });

  test("keeps a file of variables that a person wrote, and start reports it", async () => {
    writeFileSync(variables, OWN);
    const command = await startOnce();
    expect(command.output()).toMatch(/\.dev\.vars is not from npm start and stays as it is/);
    expect(await script("reset.ts").ended).toBe(0);
    expect(readFileSync(variables, "utf8")).toBe(OWN);
  });

  test("has no files left after npm run reset", async () => {
    rmSync(variables);
    await startOnce();
    expect([existsSync(variables), existsSync(join(copy, ".wrangler/state"))]).toEqual([true, true]);
    expect(await script("reset.ts").ended).toBe(0);
    expect([existsSync(variables), existsSync(join(copy, ".wrangler/state"))]).toEqual([false, false]);
  });
});
