// Runs in Node, for the workerd tests: a proxy in front of a real node, which loses, refuses or changes the configured calls and forwards all others.
// PUT sets the faults; a POST is JSON-RPC.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";

/** A fault of the next `times` calls of a method; with `first`, only of calls that have it as their first parameter. */
export type Spoil = {
  readonly method: string;
  readonly first?: unknown;
  readonly times: number;
  /**
   * `lose`: the call never arrives. `lose_answer`: it arrives, but its answer is lost. `refuse`: it is answered with an error. `slow`: it is answered
   * after `ms` milliseconds.
   */
  readonly how: "lose" | "lose_answer" | "refuse" | "answer" | "slow";
  readonly ms?: number;
  readonly message?: string;
  readonly result?: unknown;
};
type Call = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };
const isOf = ({ method, first }: Spoil, call: Call): boolean =>
  method === call.method && (first === undefined || first === call.params[0]);

/** `upstream` is asked for the address of the real node at each call. */
export async function startSpoilingNode(upstream: () => Promise<string>): Promise<{ url: string; stop: () => void }> {
  let spoils: { spoil: Spoil; left: number }[] = [];
  const take = (call: Call): Spoil | undefined => {
    const found = spoils.find(({ spoil, left }) => isOf(spoil, call) && left > 0);
    if (found) found.left -= 1;
    return found?.spoil;
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== "PUT") return answer(request, response, take, await upstream());
    spoils = ((await json(request)) as Spoil[]).map((spoil) => ({ spoil, left: spoil.times }));
    response.end();
  };
  // An aborted request or a stopped chain rejects here, and an unhandled rejection would end the whole run.
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  take: (call: Call) => Spoil | undefined,
  rpcUrl: string,
): Promise<void> {
  const body = (await json(request)) as Call | Call[];
  const calls = (Array.isArray(body) ? body : [body]).map((call) => ({ call, spoil: take(call) }));
  if (calls.some(({ spoil }) => spoil?.how === "lose")) return void response.destroy();
  const passed = calls.filter(({ spoil }) => spoil?.how !== "refuse").map(({ call }) => call);
  const answers = passed.length === 0 ? [] : await ask(rpcUrl, passed);
  for (const { spoil } of calls) if (spoil?.how === "slow") await setTimeout(spoil.ms, undefined, { ref: false });
  if (calls.some(({ spoil }) => spoil?.how === "lose_answer")) return void response.destroy();
  const replies = calls.map(({ call, spoil }) => {
    const head = { jsonrpc: "2.0", id: call.id };
    if (spoil?.how === "refuse") return { ...head, error: { code: -32000, message: spoil.message } };
    if (spoil?.how === "answer") return { ...head, result: spoil.result };
    return answers.find(({ id }) => id === call.id);
  });
  response.end(JSON.stringify(Array.isArray(body) ? replies : replies[0]));
}

async function ask(rpcUrl: string, calls: readonly Call[]): Promise<{ id: number }[]> {
  const headers = { "Content-Type": "application/json" };
  const reply = await fetch(rpcUrl, { method: "POST", headers, body: JSON.stringify(calls) });
  return (await reply.json()) as { id: number }[];
}
