// The public port of the local service. It is bound before the Worker starts, because the Worker's settings name the address; connections are passed
// on to wrangler's own port.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { StackError } from "./processes.ts";

const LOOPBACK = "127.0.0.1";

export type Door = {
  readonly port: number;
  /** Passes connections on to another port of loopback. Connections wait until the first call. */
  readonly leadTo: (port: number) => void;
  readonly close: () => Promise<void>;
};

/** Binds a port, or a free one if `wanted` is 0. Refuses a port that is in use. */
export async function openDoor(wanted: number, hint: string): Promise<Door> {
  const first = Promise.withResolvers<number>();
  let target = first.promise;
  const open = new Set<Socket>();
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, async (outer) => {
    keep(outer);
    outer.on("error", () => undefined);
    const port = await target;
    if (outer.destroyed) return;
    const inner = connect({ host: LOOPBACK, port, allowHalfOpen: true, noDelay: true });
    keep(inner.on("error", () => undefined));
    outer.once("close", () => inner.destroy());
    inner.once("close", () => outer.destroy());
    outer.pipe(inner).pipe(outer);
  });
  await listen(server, wanted, hint);
  return {
    port: (server.address() as AddressInfo).port,
    leadTo: (port) => {
      first.resolve(port);
      target = Promise.resolve(port);
    },
    close: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Refuses a port that is in use before anything is started. Another process binds it later; 0 is always free. */
export async function requireFreePort(wanted: number, hint: string): Promise<void> {
  if (wanted === 0) return;
  const { close } = await openDoor(wanted, hint);
  await close();
}

function listen(server: Server, port: number, hint: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const reason = error.code === "EADDRINUSE" ? "is in use" : `cannot be used (${error.code ?? error.message})`;
      reject(new StackError(`port ${port} ${reason}: choose another with ${hint}; 0 picks a free one`));
    });
    server.listen(port, LOOPBACK, resolve);
  });
}
