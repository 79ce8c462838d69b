// A receiver of webhooks on loopback, in the bench's own process. The path decides how it answers.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** `ok`: accepts at once. `fails`: answers 500. `hangs`: never answers. */
export type Manner = "ok" | "fails" | "hangs";
/** An event that arrived, and when, in epoch milliseconds. */
export type Arrival = { readonly eventId: string; readonly at: number };

export type Receiver = {
  /** Returns the address of a path; `name` distinguishes it from the others. */
  readonly urlOf: (manner: Manner, name: string) => string;
  /** The events that arrived under a name, in order. */
  readonly arrivalsOf: (name: string) => readonly Arrival[];
  /** The number of all events that arrived. */
  readonly count: () => number;
  /** Ends the hanging requests. */
  readonly release: () => void;
  readonly close: () => void;
};

export async function startReceiver(): Promise<Receiver> {
  const arrivals = new Map<string, Arrival[]>();
  const hanging = new Set<ServerResponse>();
  let came = 0;
  const take = ({ headers, url = "" }: IncomingMessage, response: ServerResponse): void => {
    const [, manner, name = ""] = url.split("/");
    const own = arrivals.get(name) ?? [];
    arrivals.set(name, own);
    own.push({ eventId: String(headers["webhook-id"]), at: performance.timeOrigin + performance.now() });
    came += 1;
    if (manner === "hangs") return void hanging.add(response);
    response.writeHead(manner === "ok" ? 204 : 500).end();
  };
  const server = createServer((request, response) => {
    request.on("end", () => take(request, response));
    request.resume();
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const release = () => {
    for (const response of hanging) response.destroy();
    hanging.clear();
  };
  return {
    urlOf: (manner, name) => `http://127.0.0.1:${port}/${manner}/${name}`,
    arrivalsOf: (name) => arrivals.get(name) ?? [],
    count: () => came,
    release,
    close: () => {
      release();
      server.close();
      server.closeAllConnections();
    },
  };
}
