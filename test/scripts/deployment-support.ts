// A chain that stands in for a public network, and `npm run contracts:deploy` against it: in this process, or as a separate one.
import { createServer } from "node:http";
import { join } from "node:path";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { type Anvil, startAnvil } from "../../scripts/chain/anvil.ts";
import { type Client, createClient } from "../../scripts/chain/client.ts";
import { deploy } from "../../scripts/chain/deploy.ts";
import { runCommand } from "../../scripts/chain/deployment/command.ts";
import type { TARGETS } from "../../scripts/chain/deployment/settings.ts";
import { type Command, launch, root } from "./commands.ts";

const ETHER = 10n ** 18n;
/** Addresses without keys, which no contract of the chain uses. */
export const ROLES_OF = {
  OWNER_ADDRESS: `0x${"a0".repeat(20)}`,
  ADMIN_ADDRESS: `0x${"a1".repeat(20)}`,
  REGISTRAR_ADDRESS: `0x${"a2".repeat(20)}`,
  ARBITER_ADDRESS: `0x${"a3".repeat(20)}`,
  GUARDIAN_ADDRESS: `0x${"a4".repeat(20)}`,
  FEE_RECIPIENT_ADDRESS: `0x${"a5".repeat(20)}`,
} as const;

export type Place = {
  readonly network: keyof typeof TARGETS;
  readonly anvil: Anvil;
  readonly client: Client;
  readonly deployer: Hex;
  readonly token: Hex;
  readonly env: Readonly<Record<string, string>>;
  /** Runs it as a separate process, which a test may kill. */
  readonly start: (args?: readonly string[], env?: NodeJS.ProcessEnv) => Command;
  /** Runs it in this process. */
  readonly run: (args?: readonly string[], env?: NodeJS.ProcessEnv) => Promise<Outcome>;
  /** The number of the deployer's transactions in blocks. */
  readonly sent: () => Promise<number>;
};
export type Outcome = { readonly code: number | null; readonly output: string };

export async function openPlace(network: keyof typeof TARGETS, chainId: number): Promise<Place> {
  const anvil = await startAnvil({ chainId, port: 0 });
  const client = createClient(anvil.rpcUrl);
  const [other] = anvil.accounts;
  const { address: token } = await deploy(anvil.rpcUrl, other?.privateKey ?? "0x", "TestUSDC", []);
  const key = generatePrivateKey();
  const deployer = privateKeyToAddress(key);
  await client.setBalance({ address: deployer, value: ETHER });
  const settings = { ...ROLES_OF, RPC_URL: anvil.rpcUrl, DEPLOYER_KEY: key, TOKEN_ADDRESS: token, TOKEN_BASE: "15.00" };
  const start: Place["start"] = (args = [], env = {}) =>
    launch(process.execPath, [join(root, "scripts/contracts-deploy.ts"), "--network", network, ...args], {
      env: { ...settings, ...env },
    });
  const run: Place["run"] = async (args = [], env = {}) => {
    let output = "";
    const print = (line: string) => {
      output += `${line}\n`;
    };
    const variables = { ...settings, ...env };
    const code = await runCommand(["--network", network, ...args], variables, { print, complain: print });
    return { code, output };
  };
  const sent = () => client.getTransactionCount({ address: deployer });
  return { network, anvil, client, deployer, token, env: settings, start, run, sent };
}

/** The entry of NETWORKS that a run printed. */
export const entryIn = ({ output }: Outcome): Record<string, unknown> =>
  JSON.parse(/^\{"network".*\}$/m.exec(output)?.[0] ?? "{}");

type Call = { readonly id: number; readonly method: string; readonly params?: unknown[] };
export type Answer = { readonly status?: number; readonly body: string };
/** The answer instead of the node's. null: it never answers. undefined: the node's own answer. */
export type Meddler = (call: Call, pass: () => Promise<string>) => Promise<Answer | null | undefined>;

/** Starts a proxy in front of a node. */
export async function meddleWith(rpcUrl: string, meddle: Meddler): Promise<{ url: string; close: () => void }> {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const pass = async () => {
      const answer = await fetch(rpcUrl, { method: "POST", body, headers: { "content-type": "application/json" } });
      return answer.text();
    };
    const answer = await meddle(JSON.parse(body), pass);
    if (answer === null) return;
    response.writeHead(answer?.status ?? 200, { "content-type": "application/json" });
    response.end(answer === undefined ? await pass() : answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, close };
}

/** An error answer as the node itself gives it. */
export const refusal = ({ id }: Call, code: number, message: string): Answer => ({
  body: JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }),
});
