// HTTP to the bench Worker, each over one kept-alive connection. It uses node:http, because its own cost is small and steady.
import { Agent, request } from "node:http";

export type Ask = { method: string; path: string; headers?: Record<string, string>; body?: string | Buffer };
export type Reply = { status: number; headers: Record<string, string | string[] | undefined>; body: Buffer };

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

export function send(origin: URL, ask: Ask): Promise<Reply> {
  const { method, path, body } = ask;
  const headers = {
    ...(body !== undefined && { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) }),
    ...ask.headers,
  };
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host: origin.hostname, port: origin.port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export const closeConnections = (): void => agent.destroy();
