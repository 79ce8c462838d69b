// Runs in Node: a receiver of webhooks. POST /paths returns a new path /of/<name>, and POST /of/<name> is a delivery. PUT /of/<name> sets how
// deliveries are answered, and PUT /of/<name>?release answers those that are held. GET /of/<name> returns the received deliveries, with ?count=<n>
// once n have come. PUT /of/<name>?get sets the answer of a GET instead.
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";

export type Behaviour = {
  readonly status?: number;
  /** The time before the answer begins. */
  readonly waitMs?: number;
  /**
   * `endless`: a body that never ends. `drip`: its parts come slowly, and it never ends. `close`: no answer. `cut`: half of an answer. `hold`: no
   * answer before the release.
   */
  readonly how?: "endless" | "drip" | "close" | "cut" | "hold";
  readonly headers?: Record<string, string>;
  readonly body?: string;
};

/** A delivery as it was received. */
export type Received = {
  readonly at: number;
  readonly headers: Record<string, string>;
  readonly body: string;
};

export async function startReceiver(): Promise<{ url: string; stop: () => void }> {
  /** The last behaviour repeats. */
  const behaviours = new Map<string, Behaviour[]>();
  const received = new Map<string, Received[]>();
  const told = new Map<string, string>();
  let paths = 0;
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const arrivals = new EventEmitter().setMaxListeners(0);
  const gateOf = (name: string): PromiseWithResolvers<void> => {
    const gate = gates.get(name) ?? Promise.withResolvers();
    gates.set(name, gate);
    return gate;
  };
  const receivedBy = (name: string): Received[] => received.get(name) ?? [];
  const server = createServer(async (request, response) => {
    const { pathname: name, search, searchParams } = new URL(request.url ?? "", "http://receiver");
    const body = await text(request).catch(() => "");
    if (name === "/paths") {
      paths += 1;
      response.end(`/of/${paths}`);
    } else if (request.method === "PUT" && search === "?get") {
      told.set(name, body);
      response.end();
    } else if (request.method === "PUT" && search === "?release") {
      gateOf(name).resolve();
      response.end();
    } else if (request.method === "PUT") {
      behaviours.set(name, JSON.parse(body) as Behaviour[]);
      response.end();
    } else if (request.method === "GET") {
      while (receivedBy(name).length < Number(searchParams.get("count"))) await once(arrivals, name);
      response.end(told.get(name) ?? JSON.stringify(receivedBy(name)));
    } else {
      const before = receivedBy(name);
      received.set(name, [...before, { at: Date.now(), headers: headersOf(request), body }]);
      arrivals.emit(name);
      const planned = behaviours.get(name) ?? [];
      const behaviour = planned[Math.min(before.length, planned.length - 1)] ?? {};
      if (behaviour.how === "hold") await gateOf(name).promise;
      await answer(response, behaviour);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

async function answer(response: ServerResponse, { status = 204, waitMs = 0, how, headers = {}, body = "" }: Behaviour) {
  if (waitMs > 0) await setTimeout(waitMs);
  if (how === "close") return void response.destroy();
  response.writeHead(status, how === "cut" ? { ...headers, "Content-Length": "1000" } : headers);
  if (how === "cut") {
    response.write("half of", () => response.destroy());
    return;
  }
  if (how === undefined || how === "hold") return void response.end(body);
  const part = how === "endless" ? "x".repeat(16_384) : ".";
  while (!response.destroyed) {
    if (!response.write(part)) await setTimeout(1);
    await setTimeout(how === "drip" ? 200 : 1);
  }
}
