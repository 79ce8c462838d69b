// Runs in Node, for the workerd tests: teams of Cloudflare Access, as far as the service sees one. Each is a server on loopback with keys at the path
// of the real one; a POST to the first server starts a team.
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A team's answer to a request for its keys. With status 0 it does not answer. */
export type KeysAnswer = { readonly status: number; readonly body: string; readonly headers?: Record<string, string> };

export async function startAccessTeams(): Promise<{ origin: string; stop: () => Promise<void> }> {
  const teams: Server[] = [];
  const { server, origin } = await listen(async (_request, response) => {
    const team = await startTeam();
    teams.push(team.server);
    response.end(team.origin);
  });
  const stop = async () => {
    for (const one of [server, ...teams]) {
      one.close();
      one.closeAllConnections();
    }
  };
  return { origin, stop };
}

/** PUT / sets the answer to requests for the keys, GET / counts these requests. */
async function startTeam(): Promise<{ server: Server; origin: string }> {
  let answer: KeysAnswer = { status: 200, body: '{"keys":[]}' };
  let reads = 0;
  return listen(async (request, response) => {
    if (request.url === "/cdn-cgi/access/certs") {
      reads += 1;
      if (answer.status !== 0) response.writeHead(answer.status, answer.headers).end(answer.body);
      return;
    }
    if (request.method === "PUT") answer = await readAnswer(request);
    response.end(String(reads));
  });
}

const readAnswer = async (request: IncomingMessage): Promise<KeysAnswer> => JSON.parse(await text(request));

async function listen(listener: RequestListener): Promise<{ server: Server; origin: string }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
