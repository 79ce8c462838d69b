// Compares facilitate with `verify` and `settle` of x402's facilitator, on the same chain. x402's packages are installed into a temporary folder.
// Printed, never a gate.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { createWalletClient, type Hex, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { anvil } from "viem/chains";
import { awaitReceipt, createClient } from "../scripts/chain/client.ts";
import { nameOf } from "./case.ts";
import { CASES } from "./cases.ts";
import { EFFECTS_PER_SLICE, measureSlice } from "./latency.ts";
import { AMOUNT, operationalWallet, payerAccount, submitterAccount } from "./payer.ts";
import type { Play } from "./play.ts";
import { askHello, median, type Pace } from "./rounds.ts";

/** The milliseconds of a bare HTTP call, of x402's verification and settlement, and of facilitate. */
export type ComparedTimes = { readonly hello: number; readonly x402: number; readonly facilitate: number };
type Requirements = Readonly<Record<string, unknown>>;
type Payload = Readonly<Record<string, unknown>>;
/** The parts of x402's packages that are used here. */
type Facilitator = {
  verify: (payload: Payload, requirements: Requirements) => Promise<{ isValid: boolean; invalidReason?: string }>;
  settle: (payload: Payload, requirements: Requirements) => Promise<{ success: boolean; errorReason?: string }>;
};
type X402 = {
  readonly core: { readonly x402Facilitator: new () => Facilitator };
  readonly evm: { readonly toFacilitatorEvmSigner: (client: object) => object };
  readonly exact: { readonly registerExactEvmScheme: (facilitator: Facilitator, config: object) => void };
  readonly client: {
    readonly ExactEvmScheme: new (
      account: object,
    ) => { createPaymentPayload: (version: number, requirements: Requirements) => Promise<Payload> };
  };
};

const run = promisify(execFile);

export const X402_VERSION = "2.27.0";
const PROTOCOL_VERSION = 2;
const COMPARED = "POST /v1/facilitate (intent)";

/** A round takes the medians of as many calls as one of the latency, each kind in turn, so that a busy machine slows all kinds. */
export async function measureX402(play: Play, { rounds: count }: Pick<Pace, "rounds">): Promise<ComparedTimes[]> {
  const known = CASES.find((one) => nameOf(one) === COMPARED);
  if (!known) throw new Error(`no case ${COMPARED}`);
  const folder = mkdtempSync(join(tmpdir(), "bench-x402-"));
  try {
    const payOnce = preparePayments(play, await installX402(folder));
    const limit = { calls: 1 };
    const measureRound = async () => {
      const calls: ComparedTimes[] = [];
      while (calls.length < EFFECTS_PER_SLICE)
        calls.push({
          hello: await measureSlice(play, { ask: askHello, status: 200, limit }),
          x402: await payOnce(),
          facilitate: await measureSlice(play, { ask: () => known.ask(play), status: known.status, limit }),
        });
      return medianTimes(calls);
    };
    // The first calls of both take longer.
    await measureRound();
    const rounds: ComparedTimes[] = [];
    while (rounds.length < count) rounds.push(await measureRound());
    return rounds;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The median of each kind of call. */
export const medianTimes = (times: readonly ComparedTimes[]): ComparedTimes => ({
  hello: median(times.map(({ hello }) => hello)),
  x402: median(times.map(({ x402 }) => x402)),
  facilitate: median(times.map(({ facilitate }) => facilitate)),
});

/** Installs and loads x402's packages, with the viem of this repository. */
async function installX402(folder: string): Promise<X402> {
  const manifest = readFileSync(join(import.meta.dirname, "../package.json"), "utf8");
  const { dependencies } = JSON.parse(manifest) as { dependencies: { viem: string } };
  const packages = [`@x402/core@${X402_VERSION}`, `@x402/evm@${X402_VERSION}`, `viem@${dependencies.viem}`];
  const options = ["--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", ["install", ...options, "--prefix", folder, ...packages], {
    cwd: folder,
    shell: process.platform === "win32",
  });
  const load = createRequire(join(folder, "package.json"));
  const loaded: X402 = {
    core: load("@x402/core/facilitator"),
    evm: load("@x402/evm"),
    exact: load("@x402/evm/exact/facilitator"),
    client: load("@x402/evm/exact/client"),
  };
  // The Worker may have closed idle connections while the packages were loaded; lets the event loop see it.
  await setTimeout(100);
  return loaded;
}

/** Returns a function that signs a payment, and then returns the milliseconds of its verification and settlement. */
function preparePayments({ network }: Play, { core, evm, exact, client }: X402): () => Promise<number> {
  const account = privateKeyToAccount(submitterAccount().privateKey);
  const reader = createClient(network.rpc_url);
  const chain = { ...anvil, id: network.chain_id };
  const wallet = createWalletClient({ account, chain, transport: http(network.rpc_url) });
  const facilitator = new core.x402Facilitator();
  const chainName = `eip155:${network.chain_id}`;
  const signer = evm.toFacilitatorEvmSigner({
    ...reader,
    ...wallet,
    address: account.address,
    waitForTransactionReceipt: ({ hash }: { readonly hash: Hex }) => awaitReceipt(reader, hash),
  });
  exact.registerExactEvmScheme(facilitator, { signer, networks: chainName });
  const payer = new client.ExactEvmScheme(privateKeyToAccount(payerAccount().privateKey));
  const requirements = {
    scheme: "exact",
    network: chainName,
    asset: network.token,
    amount: String(AMOUNT.units),
    payTo: operationalWallet(),
    maxTimeoutSeconds: 600,
    extra: { name: "USD Coin", version: "2" },
  };
  return async () => {
    const signed = await payer.createPaymentPayload(PROTOCOL_VERSION, requirements);
    const payload = { ...signed, accepted: requirements };
    const start = performance.now();
    const { isValid, invalidReason } = await facilitator.verify(payload, requirements);
    if (!isValid) throw new Error(`x402 refused a payment: ${invalidReason}`);
    const { success, errorReason } = await facilitator.settle(payload, requirements);
    if (!success) throw new Error(`x402 settled nothing: ${errorReason}`);
    return performance.now() - start;
  };
}
