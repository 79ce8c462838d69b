// Child processes cannot outlive their parent, even if it is killed.
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Command, launch, root } from "./commands.ts";

/** Connects, so that the server sees when the child ends. */
const CHILD = "require('node:net').connect(Number(process.argv[1]), '127.0.0.1')";

const parentOf = (children: number, port: number, then: string): string => `
  import { spawnGroup, startGuard } from ${JSON.stringify(join(root, "scripts/processes.ts"))};
  const guard = startGuard();
  const command = [process.execPath, "-e", ${JSON.stringify(CHILD)}, "${port}"];
  for (let n = 0; n < ${children}; n++) {
    const { pid } = spawnGroup(command, { cwd: "/", env: process.env, onOutput: () => undefined });
    guard.add(-pid);
  }
  console.log("all started");
  ${then}`;

async function play(children: number, then: string, act: (parent: Command) => void): Promise<Command> {
  const server = createServer().listen(0, "127.0.0.1");
  const sockets: Socket[] = [];
  const { promise: allConnected, resolve } = Promise.withResolvers<void>();
  server.on("connection", (socket) => {
    sockets.push(socket.resume().on("error", () => undefined));
    if (sockets.length === children) resolve();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const parent = launch(process.execPath, ["--input-type=module", "-e", parentOf(children, port, then)]);
  await parent.untilOutput(/all started/);
  await allConnected;
  const closed = sockets.map((socket) => once(socket, "close"));
  act(parent);
  await Promise.all(closed);
  server.close();
  return parent;
}

test("a child ends with a parent that is killed", async () => {
  const parent = await play(1, "", ({ child }) => child.kill("SIGKILL"));
  expect(await parent.ended).toBeNull();
});

test("any number of children ends with a parent that exits, and nothing warns of their number", async () => {
  const parent = await play(12, 'process.on("SIGTERM", () => process.exit(3));', ({ child }) => child.kill("SIGTERM"));
  expect([await parent.ended, parent.output()]).toEqual([3, "all started\n"]);
});
