// The gas of the settlement contract, on anvil, with a token like USDC (behind a proxy, with a blacklist), compared with a plain transferFrom of the
// same token in the same run. Gas is exact, so the gates are exact too.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Abi, encodeDeployData, encodeFunctionData, type Hex, keccak256, parseAbiParameters, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { authorityAbi, settlementAbi } from "../scripts/chain/abi.ts";
import { type AnvilAccount, devAccounts, startAnvil } from "../scripts/chain/anvil.ts";
import { awaitReceipt, type Client, createClient } from "../scripts/chain/client.ts";
import { deployContracts } from "../scripts/chain/deploy.ts";
import { type FullPayment, signPayment } from "../scripts/chain/payments.ts";
import { addressesOf, roleAccounts } from "../scripts/ephemeral.ts";
import { hashIntent } from "../src/chain/hashes.ts";
import { type Profile, profileCall } from "./gas-profile.ts";

export type Gas = { readonly call: string; readonly gas: number };
/** Calls that are profiled, by name. */
export type Profiles = Map<string, Profile>;

/** The most gas that a call may use. */
export const GATES: Readonly<Record<string, number>> = {
  "payIntent, below the threshold": 135_000,
  "payIntent, at the threshold": 125_000,
  "payIntent, the vault empty": 150_000,
  "settle, below the threshold": 140_000,
  "settle, at the threshold": 140_000,
  "settle, the vault empty": 155_000,
  "settleWithAuthorization, below the threshold": 172_000,
  "settleWithAuthorization, at the threshold": 172_000,
  "settleWithAuthorization, the vault empty": 187_000,
  "payOut, scheduled": 80_000,
  "payOut, executed": 90_000,
};
export const PLAIN = "transferFrom of the token alone";
export const PLAIN_AUTHORIZED = "transferWithAuthorization of the token alone";

export function checkGas(measured: readonly Gas[]): string[] {
  const gasOf = (call: string) => measured.find((one) => one.call === call)?.gas;
  return [
    ...Object.entries(GATES).flatMap(([call, gate]) => {
      const gas = gasOf(call);
      if (gas === undefined) return [`gas: ${call} was not measured`];
      return gas > gate ? [`gas: ${call} uses ${gas}, at most ${gate}`] : [];
    }),
    ...RATIOS.flatMap(([call, alone, most]) => {
      const [gas, without] = [gasOf(call), gasOf(alone)];
      if (gas === undefined || without === undefined) return [`gas: ${call} was not compared with ${alone}`];
      return gas > most * without ? [`gas: ${call} uses ${gas}, at most ${most} x ${without} of ${alone}`] : [];
    }),
  ];
}

/** The most gas that a payment may use for each unit of gas that the token alone uses. */
export const RATIOS: readonly (readonly [call: string, alone: string, most: number])[] = [
  ["settle, below the threshold", PLAIN, 2.4],
  ["settleWithAuthorization, below the threshold", PLAIN_AUTHORIZED, 1.9],
];
const PROFILED = new Set<string | number>(RATIOS.flat());

const CHAIN_ID = 84_532;
const UNIT = 1_000_000n;
const DELAYS = { wallet: 3_600, payOut: 3_600, admin: 3_600, owner: 3_600 };
const UNLIMITED = 2n ** 256n - 1n;
const hashOf = (text: string): Hex => keccak256(toHex(text));
const CONSUMER = hashOf("did:aeap:22222222-2222-4222-8222-222222222222");

type Artifact = { readonly abi: Abi; readonly bytecode: Hex };
const tokens: Record<"UsdcLike" | "UsdcProxy", Artifact> = JSON.parse(
  readFileSync(join(import.meta.dirname, "../test/chain/contracts/artifacts.json"), "utf8"),
);

/** Measures gas, and adds profiles of the calls of `RATIOS` to `profiles`. */
export async function measureGas(profiles: Profiles = new Map()): Promise<Gas[]> {
  const anvil = await startAnvil({ chainId: CHAIN_ID, port: 0 });
  try {
    const lab = await openLab(anvil.rpcUrl, profiles);
    await measurePayments(lab);
    await measureRest(lab);
    return lab.measured;
  } finally {
    await anvil.stop();
  }
}

type People = Readonly<Record<"payer" | "wallet" | "stranger", AnvilAccount>>;
/** Makes a call, and measures it if it has a name. */
type Call = (from: Hex, functionName: string, args: readonly unknown[], name?: string) => Promise<Receipt>;
type Receipt = Awaited<ReturnType<typeof awaitReceipt>>;
type Lab = {
  readonly measured: Gas[];
  readonly client: Client;
  readonly people: People;
  readonly contract: Hex;
  readonly token: Hex;
  readonly onToken: Call;
  readonly call: Call;
  readonly execute: Call;
  readonly schedule: Call;
  readonly read: <T>(functionName: string, args: readonly unknown[]) => Promise<T>;
  /** Registers a provider with the wallet; returns its hash. */
  readonly register: (did: string, name?: string) => Promise<Hex>;
};

async function openLab(rpcUrl: string, profiles: Profiles): Promise<Lab> {
  const client = createClient(rpcUrl);
  const [payer, wallet, stranger] = devAccounts().slice(5);
  if (!payer || !wallet || !stranger) throw new Error("anvil has no accounts");
  const measured: Gas[] = [];
  async function send(from: Hex, to: Hex | null, data: Hex, name?: string): Promise<Receipt> {
    if (to !== null && PROFILED.has(name ?? ""))
      profiles.set(name ?? "", await profileCall(client, { from, to, data }));
    const params = [{ from, ...(to && { to }), data, gas: toHex(5_000_000) }];
    const hash: Hex = await client.transport.request({ method: "eth_sendTransaction", params });
    const receipt = await awaitReceipt(client, hash);
    if (receipt.status !== "success") throw new Error(`reverted: ${name ?? data.slice(0, 10)}`);
    if (name !== undefined) measured.push({ call: name, gas: Number(receipt.gasUsed) });
    return receipt;
  }
  async function create(name: keyof typeof tokens, args: readonly unknown[]): Promise<Hex> {
    const { contractAddress } = await send(payer?.address ?? "0x", null, encodeDeployData({ ...tokens[name], args }));
    if (!contractAddress) throw new Error("nothing was created");
    return contractAddress;
  }
  const { feeRecipient, ...holders } = roleAccounts();
  const token = await create("UsdcProxy", [await create("UsdcLike", []), holders.admin.address]);
  const { settlementContract: contract, authority } = await deployContracts(rpcUrl, {
    deployerKey: holders.admin.privateKey,
    keys: addressesOf(holders),
    feeRecipient: feeRecipient.address,
    delays: DELAYS,
    token,
  });
  const caller =
    (to: Hex, abi: Abi): Call =>
    (from, functionName, args, name) =>
      send(from, to, encodeFunctionData({ abi, functionName, args }), name);
  const own = settlementAbi as Abi;
  const through = caller(authority, authorityAbi as Abi);
  const dataOf = (functionName: string, args: readonly unknown[]) =>
    encodeFunctionData({ abi: own, functionName, args });
  const execute: Call = (from, functionName, args, name) =>
    through(from, "execute", [contract, dataOf(functionName, args)], name);
  return {
    measured,
    client,
    people: { payer, wallet, stranger },
    contract,
    token,
    onToken: caller(token, tokens.UsdcLike.abi),
    call: caller(contract, own),
    execute,
    schedule: (from, functionName, args, name) =>
      through(from, "schedule", [contract, dataOf(functionName, args), 0], name),
    read: <T>(functionName: string, args: readonly unknown[]) =>
      client.readContract({ address: contract, abi: own, functionName, args }) as Promise<T>,
    register: async (did, name) => {
      const args = [hashOf(did), token, wallet.address, 15n * UNIT];
      await execute(holders.registrar.address, "registerProvider", args, name);
      return hashOf(did);
    },
  };
}

let intents = 0;
/** The hash of an intent that names its payer, which is the costlier form. */
const nextIntent = (payer: Hex): Hex => hashIntent(`pin_${intents++}`, payer);

const paymentTo = async ({ client, token, people }: Lab, providerDidHash: Hex): Promise<FullPayment> => ({
  token,
  amount: 10n * UNIT,
  providerDidHash,
  consumerDidHash: CONSUMER,
  intentHash: nextIntent(people.payer.address),
  operationalWallet: people.wallet.address,
  maxFeeBps: 5,
  deadline: (await client.getBlock()).timestamp + 600n,
  refundTo: people.payer.address,
});

type Form = (lab: Lab, provider: Hex, name?: string) => Promise<Receipt>;
const payIntent: Form = ({ call, token, people }, provider, name) =>
  call(
    people.payer.address,
    "payIntent",
    [token, 10n * UNIT, provider, CONSUMER, nextIntent(people.payer.address)],
    name,
  );
const FORMS: Readonly<Record<string, Form>> = {
  payIntent,
  settle: async (lab, provider, name) =>
    lab.call(lab.people.payer.address, "settle", [await paymentTo(lab, provider)], name),
  settleWithAuthorization: async (lab, provider, name) => {
    const { call, contract, people } = lab;
    const signed = await signPayment(CHAIN_ID, people.payer.privateKey, contract, await paymentTo(lab, provider));
    const { payment, from, validAfter, validBefore, salt, signature } = signed;
    const args = [payment, from, validAfter, validBefore, salt, signature];
    return call(people.stranger.address, "settleWithAuthorization", args, name);
  },
};

async function measurePayments(lab: Lab): Promise<void> {
  const { onToken, register, read, contract } = lab;
  const { payer, wallet, stranger } = lab.people;
  await onToken(payer.address, "mint", [payer.address, 10_000n * UNIT]);
  await onToken(payer.address, "approve", [contract, UNLIMITED]);
  await onToken(payer.address, "approve", [stranger.address, UNLIMITED]);
  // The first payment, after which the contract and the wallet both hold an amount.
  await payIntent(lab, await register("did:aeap:first"));
  await onToken(stranger.address, "transferFrom", [payer.address, wallet.address, UNIT], PLAIN);
  await onToken(stranger.address, "transferWithAuthorization", await authorizedTransfer(lab), PLAIN_AUTHORIZED);
  await register("did:aeap:registered", "registerProvider");
  for (const [form, pay] of Object.entries(FORMS)) {
    const provider = await register(`did:aeap:${form}`);
    await pay(lab, provider, `${form}, the vault empty`);
    await pay(lab, provider, `${form}, below the threshold`);
    await onToken(payer.address, "mint", [await read<Hex>("vaultOf", [provider]), 50n * UNIT]);
    await pay(lab, provider, `${form}, at the threshold`);
  }
}

const AUTHORIZED = parseAbiParameters(
  "address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce",
) as readonly { readonly name: string; readonly type: string }[];

/** The payer's signed authorization of a plain transfer to the wallet. */
async function authorizedTransfer({ token, people, client }: Lab): Promise<readonly unknown[]> {
  const { payer, wallet } = people;
  const message = {
    from: payer.address,
    to: wallet.address,
    value: UNIT,
    validAfter: 0n,
    validBefore: (await client.getBlock()).timestamp + 600n,
    nonce: hashOf("a plain transfer"),
  };
  const signature = await privateKeyToAccount(payer.privateKey).signTypedData({
    domain: { name: "USD Coin", version: "2", chainId: CHAIN_ID, verifyingContract: token },
    types: { TransferWithAuthorization: AUTHORIZED },
    primaryType: "TransferWithAuthorization",
    message,
  });
  return [...Object.values(message), signature];
}

/** Measures the calls for the provider whose vault is above its threshold. */
async function measureRest(lab: Lab): Promise<void> {
  const { client, call, execute, schedule, read, token } = lab;
  const { payer, wallet, stranger } = lab.people;
  const { arbiter, registrar } = roleAccounts();
  const provider = hashOf("did:aeap:settle");
  await call(payer.address, "pay", [token, 10n * UNIT, provider, CONSUMER], "pay, at the threshold");
  await call(payer.address, "depositEscrow", [provider, token, UNIT], "depositEscrow");
  const settled = async (refundTo: Hex) => {
    const payment = { ...(await paymentTo(lab, provider)), refundTo };
    const { blockNumber } = await call(payer.address, "settle", [payment]);
    const { timestamp: settledAt } = await client.getBlock({ blockNumber });
    const key = await read<Hex>("keyOf", [payment]);
    return { key, providerDidHash: provider, token, gross: payment.amount, refundTo, settledAt, paidOut: 0n };
  };
  const facts = await settled(payer.address);
  await call(payer.address, "refund", [facts, UNIT], "refund");
  const delayed = async (by: Hex, functionName: string, args: readonly unknown[], to = "") => {
    await schedule(by, functionName, args, to === "" ? `${functionName}, scheduled` : undefined);
    await client.increaseTime({ seconds: DELAYS.payOut + 1 });
    await client.mine({ blocks: 1 });
    await execute(by, functionName, args, `${functionName}, executed${to}`);
  };
  await delayed(arbiter.address, "payOut", [facts, 5n * UNIT]);
  const empty = devAccounts().at(-1);
  if (!empty) throw new Error("anvil has no accounts");
  await delayed(arbiter.address, "payOut", [await settled(empty.address), 5n * UNIT], " to an account that holds none");
  await call(stranger.address, "releaseSurplus", [provider, token], "releaseSurplus");
  await delayed(registrar.address, "setOperationalWallet", [provider, token, wallet.address, stranger.address]);
  await call(stranger.address, "sweepFees", [token], "sweepFees");
}
