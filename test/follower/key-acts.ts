// Acts of keys on `lab-keys` (acts.test.ts, scheduled-acts.test.ts): calls that are scheduled, and calls of roles without a delay.
import { encodeFunctionData } from "viem/utils";
import { afterEach, beforeAll, beforeEach, inject } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { DELAYS } from "../../scripts/chain/roles.ts";
import { computeOperationId } from "../../src/chain/delayed-calls.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { rows } from "../promotion/support.ts";
import { account, asRole, chainOf, networksWith, send } from "../support/chain.ts";
import { labOf, REGISTRAR, restoreLab } from "../support/lab.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { follow } from "./support.ts";

type Hex = `0x${string}`;
export const LAB = "lab-keys";
export const { lab, mine } = labOf(LAB);
export const [ADMIN, ARBITER, GUARDIAN] = [account(0), account(2), account(4)] as [Hex, Hex, Hex];
export const OWNER = account(5) as Hex;
export const [THIEF, WALLET] = [account(6).toLowerCase(), account(8).toLowerCase()] as [Hex, Hex];

export async function pass(seconds: number): Promise<void> {
  await lab("evm_increaseTime", seconds);
  await mine();
}

export const contract = () => chainOf(LAB).settlement_contract.toLowerCase() as Hex;
export const authority = () => chainOf(LAB).authority.toLowerCase() as Hex;
export const token = () => chainOf(LAB).token as Hex;
export const own = (functionName: string, args: readonly unknown[] = []): Hex =>
  encodeFunctionData({ abi: settlementAbi as never, functionName, args } as never);
export const managers = (functionName: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: authorityAbi as never, functionName, args } as never);

export const schedule = (by: string, target: Hex, data: Hex): Promise<string> =>
  send(LAB, by, authority(), managers("schedule", [target, data, 0]));
export const execute = (by: string, target: Hex, data: Hex): Promise<string> =>
  send(LAB, by, authority(), managers("execute", [target, data]), "0x2dc6c0");
/** Sends a call of a role without a delay. */
export async function atOnce(by: string, data: Hex): Promise<string> {
  const call = asRole(LAB, data);
  return send(LAB, by, call.to, call.data);
}
export const idOf = (by: string, target: Hex, data: Hex): string => computeOperationId({ caller: by, target, data });
export const isWaiting = async (id: string): Promise<boolean> => {
  const data = managers("getSchedule", [id]);
  return BigInt(await lab("eth_call", { to: authority(), data }, "latest")) > 0n;
};

/** The provider of the calls below, which the service does not know. */
export const UNKNOWN = hashDid("did:aeap:00000000-0000-4000-8000-000000000000");
const facts = () => ({
  ...{ key: UNKNOWN, providerDidHash: UNKNOWN, token: token(), gross: 5_000_000n, refundTo: THIEF },
  ...{ settledAt: 1n, paidOut: 0n },
});
const OF_NOBODY = `the provider ${UNKNOWN}`;

type Call = [
  name: string,
  by: Hex,
  call: () => readonly [target: Hex, data: Hex],
  delay: number,
  effect: RegExp,
  guardianCancels: boolean,
];
/** The calls that each key can schedule. */
export const CALLS: Call[] = [
  [
    "a role for the thief",
    OWNER,
    () => [authority(), managers("grantRole", [1n, THIEF, 0])],
    DELAYS.owner,
    /It grants the role ADMIN \(1\) to 0x\w{40}, whose calls then wait 0 seconds\./,
    true,
  ],
  [
    "the end of another key's role",
    OWNER,
    () => [authority(), managers("revokeRole", [6n, GUARDIAN])],
    DELAYS.owner,
    /It revokes the role GUARDIAN \(6\) from 0x\w{40}\./,
    false,
  ],
  [
    "another fee",
    ADMIN,
    () => [contract(), own("setFeeBps", [50n])],
    DELAYS.admin,
    /It sets the fee to 50 hundredths of a percent\./,
    true,
  ],
  [
    "another recipient of fees",
    ADMIN,
    () => [contract(), own("setFeeRecipient", [THIEF])],
    DELAYS.admin,
    /It sends fees to 0x\w{40}\./,
    true,
  ],
  [
    "the end of a token",
    ADMIN,
    () => [contract(), own("listToken", [token(), 0n])],
    DELAYS.admin,
    /It stops accepting payments in 0x\w{40}\./,
    true,
  ],
  ["an end of a pause", ADMIN, () => [contract(), own("unpause")], DELAYS.admin, /It resumes payments\./, true],
  [
    "another wallet",
    REGISTRAR as Hex,
    () => [contract(), own("setOperationalWallet", [UNKNOWN, token(), WALLET, THIEF])],
    DELAYS.wallet,
    new RegExp(`It sends the income of ${OF_NOBODY} in 0x\\w{40} to 0x\\w{40} instead of 0x\\w{40}\\.`),
    true,
  ],
  [
    "a lower threshold",
    REGISTRAR as Hex,
    () => [contract(), own("setLowThreshold", [UNKNOWN, token(), 15_000_000n, 0n])],
    DELAYS.wallet,
    new RegExp(`It lowers the threshold of ${OF_NOBODY} from 15\\.00 USDC to 0\\.00 USDC\\.`),
    true,
  ],
  [
    "another address of refunds",
    ARBITER,
    () => [contract(), own("setRefundTo", [facts(), WALLET])],
    DELAYS.payOut,
    new RegExp(
      `It redirects refunds and payouts of the settlement ${UNKNOWN} with ${OF_NOBODY} from 0x\\w{40} to 0x\\w{40}\\.`,
    ),
    true,
  ],
  [
    "a payout",
    ARBITER,
    () => [contract(), own("payOut", [facts(), 5_000_000n])],
    DELAYS.payOut,
    new RegExp(`It pays 5\\.00 USDC out of the vault of ${OF_NOBODY} to 0x\\w{40}, for the settlement ${UNKNOWN}\\.`),
    true,
  ],
];

// ---- The world that follows them -------------------------------------------------------------------------------------------

let world: World;

/** Sets a file up: before each test the follower has booked everything, and there is no alert. */
export function useKeys(set: (world: World) => void): void {
  beforeAll(async () => {
    world = await createWorld({ NETWORKS: networksWith(LAB) });
    set(world);
  });
  beforeEach(async () => {
    await mine(3);
    await follow(world, LAB);
    await rows("delete from alerts");
  });
  afterEach(() => restoreLab(LAB));
}

export const followed = () => follow(world, LAB);
/** Gives the latest acts their confirmations, and books them. */
export async function booked(): Promise<void> {
  await mine(3);
  await followed();
}

export const told = (): Promise<Json[]> =>
  rows("select subject, message, seen from alerts where kind = 'foreign_act' order by alert_id");
export const scheduled = async (on: World = world): Promise<Json> => {
  const reply = await on.call("GET", "/v1/operator/networks", {
    key: null,
    headers: { Authorization: `Bearer ${inject("operatorKey")}` },
  });
  return expectStatus(reply, 200).data.find(({ network }: Json) => network === LAB).scheduled;
};
export const provider = () => world.provider({}, "GLOBAL-USDC", LAB);
