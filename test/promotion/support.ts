// Helpers for agents on their way to production.
import { encodeFunctionData } from "viem/utils";
import { settlementAbi, tokenAbi } from "../../scripts/chain/abi.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { SUBSCRIBERS } from "../../src/cron.ts";
import { deliverNewEvents } from "../../src/journal/events.ts";
import { market, marketsPath } from "../markets/support.ts";
import { account, chainOf, mintAbi, send } from "../support/chain.ts";
import { type Agent, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { attestedBody, drawKey, registerVerifier } from "../verifiers/support.ts";

export type Sent = { key?: string | null; headers?: Record<string, string> };

export const promote = (world: World, did: string, body: Json = {}, sent: Sent = {}): Promise<Reply> =>
  world.call("POST", `/v1/agents/${did}/environment`, {
    key: world.liveKey,
    ...sent,
    body: { environment: "production", ...body },
  });

export const promoted = async (world: World, did: string, body: Json = {}): Promise<Json> =>
  expectStatus(await promote(world, did, body), 200);

/** Delivers events, as the queue does besides the calls. */
export const handOn = (world: World): Promise<unknown> => world.serve(() => deliverNewEvents(world.deps, SUBSCRIBERS));

export const outcome = ({ status, body }: Reply): [number, string] => [status, body?.code];

/** A principal in production. */
export async function livePrincipal(world: World, overrides: Record<string, unknown> = {}): Promise<string> {
  const { verifier_id } = await registerVerifier(world, [(await drawKey()).jwk]);
  const body = { ...attestedBody(verifier_id), ...overrides };
  return expectStatus(await world.call("POST", "/v1/principals", { key: world.liveKey, body }), 201).principal_id;
}

/** Opens a market in production for an agent that may still be in the sandbox. */
export async function openLive(
  world: World,
  did: string,
  network = "base-sepolia",
  name = "GLOBAL-USDC",
): Promise<void> {
  const body = { markets: [market({ market: name, network })] };
  const { markets } = expectStatus(await world.call("POST", marketsPath(did), { key: world.liveKey, body }), 200);
  const [opened] = markets.filter((one: Json) => one.network === network);
  if (opened?.status !== "ACTIVE") throw new Error(`the market is ${JSON.stringify(opened)}`);
}

/** Pays base units into the vault of a provider, which anyone may do. */
export async function deposit(did: string, units: number, network = "base-sepolia"): Promise<void> {
  const { settlement_contract, token } = chainOf(network);
  const [from, amount] = [account(9) as `0x${string}`, BigInt(units)];
  const [asset, contract] = [token as `0x${string}`, settlement_contract as `0x${string}`];
  const call = encodeFunctionData;
  await send(network, from, token, call({ abi: mintAbi, functionName: "mint", args: [from, amount] }));
  const allowance = 2n ** 256n - 1n;
  await send(network, from, token, call({ abi: tokenAbi, functionName: "approve", args: [contract, allowance] }));
  const args = [hashDid(did), asset, amount] as const;
  await send(network, from, contract, call({ abi: settlementAbi, functionName: "depositEscrow", args }));
}

/** The agent with the certificate of a promotion's answer. */
export const under = (agent: Agent, { certificate, principal_id }: Json): Agent => ({
  ...agent,
  certificate,
  principalId: principal_id,
});

export const rows = async (text: string, ...values: unknown[]): Promise<Json[]> =>
  (
    await env.DB.prepare(text)
      .bind(...values)
      .all<Json>()
  ).results;
