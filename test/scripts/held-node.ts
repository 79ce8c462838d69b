// A proxy in front of a local node, in the process of a test. It reports how far each request has come, and may hold it.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export type RpcCall = { readonly method: string; readonly params: readonly unknown[] };
/** Called when a request arrives, once the node has answered it, and once the answer is sent. A returned promise holds the request. */
export type Gates = {
  readonly arrived?: (calls: readonly RpcCall[]) => unknown;
  readonly answered?: (calls: readonly RpcCall[]) => unknown;
  readonly passed?: (calls: readonly RpcCall[]) => unknown;
};
export type HeldNode = {
  readonly url: string;
  /** Replaces the present gates. */
  readonly gate: (gates: Gates) => void;
  readonly stop: () => void;
};

export async function startHeldNode(rpcUrl: string): Promise<HeldNode> {
  let gates: Gates = {};
  const server = createServer(async (request, response) => {
    // A request keeps the gates that it met first, so a request that is held for a dead runtime stays held.
    const own = gates;
    const body = await text(request);
    const parsed = JSON.parse(body) as RpcCall | RpcCall[];
    const calls = Array.isArray(parsed) ? parsed : [parsed];
    await own.arrived?.(calls);
    const headers = { "Content-Type": "application/json" };
    const answer = await (await fetch(rpcUrl, { method: "POST", headers, body })).text();
    await own.answered?.(calls);
    response.end(answer, () => own.passed?.(calls));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    gate: (next) => {
      gates = next;
    },
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
