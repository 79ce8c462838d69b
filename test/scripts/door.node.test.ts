// The public port of the local service, which is bound before there is a Worker to pass connections on to.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { type Door, openDoor, requireFreePort } from "../../scripts/door.ts";

const open: (Door | Server)[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function door(wanted = 0): Promise<Door> {
  const opened = await openDoor(wanted, "--port <n>");
  open.push(opened);
  return opened;
}

/** Starts a server that answers with its name and the client's text, once the client has finished. */
async function serverNamed(name: string): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, async (socket) => {
    socket.end(`${name} heard ${await text(socket)}`);
  });
  open.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const ask = (port: number, words: string): Promise<string> => text(connect({ port, host: "127.0.0.1" }).end(words));

test("a connection waits until the door leads somewhere, and then reaches it", async () => {
  const { port, leadTo } = await door();
  const answer = ask(port, "early words");
  leadTo(await serverNamed("the first"));
  expect(await answer).toBe("the first heard early words");
});

test("a door leads to another port from then on", async () => {
  const { port, leadTo } = await door();
  leadTo(await serverNamed("the first"));
  expect(await ask(port, "one")).toBe("the first heard one");
  leadTo(await serverNamed("the second"));
  const long = "two".repeat(1_000_000);
  expect(await ask(port, long)).toBe(`the second heard ${long}`);
});

test("a connection ends if nothing listens at the port to which the door leads", async () => {
  const { port, leadTo } = await door();
  // Only an administrator could start a program that listens there.
  leadTo(1);
  const socket = connect({ port, host: "127.0.0.1" }).on("error", () => undefined);
  await once(socket, "close");
  expect(socket.bytesRead).toBe(0);
});

test("a closed door ends its connections, including those that wait", async () => {
  const { port, close } = await openDoor(0, "");
  const socket = connect({ port, host: "127.0.0.1" }).on("error", () => undefined);
  await once(socket, "connect");
  const closed = once(socket, "close");
  await close();
  await closed;
  expect(socket.destroyed).toBe(true);
});

test("a port that is in use is refused with the option that names another", async () => {
  const { port } = await door();
  const refusal = `port ${port} is in use: choose another with --port <n>; 0 picks a free one`;
  await expect(openDoor(port, "--port <n>")).rejects.toThrow(refusal);
  await expect(requireFreePort(port, "--port <n>")).rejects.toThrow(refusal);
  await expect(requireFreePort(0, "")).resolves.toBeUndefined();
});
