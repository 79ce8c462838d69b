// Sets the scene of the thefts, with the delays of production: two providers with escrow, a payer with an allowance, a thief who has been an
// ordinary customer, a bystander who pays later, and calls that wait in the authority.
import { type Abi, encodeFunctionData, type Hex } from "viem";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { artifacts } from "../../scripts/chain/deploy.ts";
import { DELAYS, ROLES } from "../../scripts/chain/roles.ts";
import {
  CONSUMER,
  type Facts,
  factsOf,
  OTHER_PROVIDER,
  type Person,
  PROVIDER,
  THRESHOLD,
  UNIT,
  type World,
} from "./support.ts";

export const KEYS = ["owner", "admin", "registrar", "arbiter", "guardian", "wallet", "payer"] as const;
export type Key = (typeof KEYS)[number];
/** The person whose account a key opens. */
export const HOLDER: Readonly<Record<Key, Person>> = {
  owner: "owner",
  admin: "admin",
  registrar: "registrar",
  arbiter: "arbiter",
  guardian: "guardian",
  wallet: "wallet",
  payer: "consumer",
};
export const THIEF: Person = "stranger";
/** Pays later, and holds the honest side's spare key. */
export const BYSTANDER: Person = "other";
export const PAYMENT = 10n * UNIT;
export const HALF = THRESHOLD / 2n;
/** A wallet whose key no person here has. */
export const OTHER_WALLET: Hex = `0x${"b0b".padStart(40, "0")}`;
const LIMITLESS = 2n ** 256n - 1n;
const MANAGER = authorityAbi as Abi;
const OWN = settlementAbi as Abi;

/** Accounts that may lose; a loss is negative if money came home. `fees`: fees that the contract holds. `recipient`: fees that were swept. */
export const VICTIMS = ["vault", "otherVault", "wallet", "otherWallet", "payer", "fees", "recipient"] as const;
export type Victim = (typeof VICTIMS)[number];
export type Losses = Readonly<Partial<Record<Victim, number>>>;
/** A call of a role's holder that can wait in the authority. */
export type Call = { readonly by: Person; readonly to: Hex; readonly data: Hex };
type Receipt = Awaited<ReturnType<World["send"]>>;

export type Scene = {
  readonly world: World;
  /** The settlement of the payer, and the thief's own, both with the first provider. */
  readonly bought: Readonly<Record<"payer" | "thief", Facts>>;
  readonly places: Readonly<Record<Victim | "thief", Hex>>;
  readonly before: Readonly<Record<Victim | "thief", bigint>>;
};

/**
 * The first provider's vault holds 20, of which 15 are its threshold and 2 are reserved; the other provider's holds 15. The payer and the thief
 * have each bought for 10 from the first provider, whose wallet still holds it; the contract holds the fees of both.
 */
export async function setScene(world: World): Promise<Scene> {
  const { people, chain } = world;
  const provider = [OTHER_PROVIDER, chain.token, OTHER_WALLET, THRESHOLD];
  await world.act("registrar", "registerProvider", provider);
  await world.mint(await world.vault(PROVIDER), 20n * UNIT);
  await world.mint(await world.vault(OTHER_PROVIDER), 15n * UNIT);
  for (const person of [THIEF, BYSTANDER]) {
    await world.mint(people[person].address, 100n * UNIT);
    await onToken(world, person, "approve", [chain.settlementContract, LIMITLESS]);
  }
  const bought = { payer: await buy(world, "consumer", PAYMENT), thief: await buy(world, THIEF, PAYMENT) };
  await world.act("arbiter", "setReserve", [PROVIDER, chain.token, 2n * UNIT]);
  const places = {
    vault: await world.vault(PROVIDER),
    otherVault: await world.vault(OTHER_PROVIDER),
    wallet: people.wallet.address,
    otherWallet: OTHER_WALLET,
    payer: people.consumer.address,
    fees: chain.settlementContract,
    recipient: people.feeRecipient.address,
    thief: people[THIEF].address,
  };
  return { world, bought, places, before: await balancesOf(world, places) };
}

export const onToken = (world: World, person: Person, functionName: string, args: readonly unknown[]) =>
  world.sendTo(person, world.chain.token, artifacts.TestUSDC.abi, functionName, args);

/** Pays the first provider by `pay`, and returns the facts of the settlement. */
export const buy = async (world: World, person: Person, gross: bigint): Promise<Facts> =>
  factsOf(world, await world.send(person, "pay", [world.chain.token, gross, PROVIDER, CONSUMER]));

/** Returns the losses since the scene was set, in whole units, and how much the thief has taken. */
export async function lossesOf({ world, places, before }: Scene): Promise<{ taken: number; losses: Losses }> {
  const now = await balancesOf(world, places);
  const lost = VICTIMS.map((victim) => [victim, inUnits(before[victim] - now[victim])] as const);
  return {
    taken: inUnits(now.thief - before.thief),
    losses: Object.fromEntries(lost.filter(([, amount]) => amount !== 0)),
  };
}

/** Exact: no amount here has more than nine digits. */
export const inUnits = (amount: bigint): number => Number(amount) / Number(UNIT);
export const sumOf = (losses: Losses): number =>
  Object.values(losses).reduce((sum, amount) => sum + Math.round(amount * Number(UNIT)), 0) / Number(UNIT);

async function balancesOf<T extends string>(
  world: World,
  places: Readonly<Record<T, Hex>>,
): Promise<Record<T, bigint>> {
  const balances: [string, bigint][] = [];
  for (const [name, address] of Object.entries<Hex>(places)) balances.push([name, await world.balance(address)]);
  return Object.fromEntries(balances) as Record<T, bigint>;
}

export const ownCall = ({ chain }: World, by: Person, functionName: string, args: readonly unknown[]): Call => ({
  by,
  to: chain.settlementContract,
  data: encodeFunctionData({ abi: OWN, functionName, args }),
});
/** A call of the authority's own functions, by the owner of its roles. */
export const roleCall = (
  { chain }: World,
  by: Person,
  functionName: "grantRole" | "revokeRole",
  args: readonly unknown[],
): Call => ({ by, to: chain.authority, data: encodeFunctionData({ abi: MANAGER, functionName, args }) });

const manage = (world: World, person: Person, functionName: string, args: readonly unknown[]): Promise<Receipt> =>
  world.sendTo(person, world.chain.authority, MANAGER, functionName, args);
/** `when`: the earliest time of the execution in epoch seconds, if it is later than the end of the delay. */
export const schedule = (world: World, { by, to, data }: Call, when = 0n) =>
  manage(world, by, "schedule", [to, data, when]);
export const execute = (world: World, { by, to, data }: Call) => manage(world, by, "execute", [to, data]);
export const cancel = (world: World, person: Person, { by, to, data }: Call) =>
  manage(world, person, "cancel", [world.people[by].address, to, data]);
export const renounce = (world: World, person: Person, role: bigint) =>
  manage(world, person, "renounceRole", [role, world.people[person].address]);
export const managerRefusal = (world: World, person: Person, functionName: string, args: readonly unknown[]) =>
  world.refusalAt(person, world.chain.authority, MANAGER, functionName, args);
export const managerView = async <T>(
  { client, chain }: World,
  functionName: string,
  args: readonly unknown[],
): Promise<T> => (await client.readContract({ address: chain.authority, abi: MANAGER, functionName, args })) as T;
export const isDone = ({ status }: Receipt): boolean => status === "success";

/** Calls of one side that wait in the authority. */
export type Agenda = {
  readonly add: (call: Call) => Promise<void>;
  /** Executes the calls that are ready, and schedules the cancelled ones again. */
  readonly advance: () => Promise<void>;
  readonly waiting: () => readonly Call[];
};
export function agendaOf(world: World): Agenda {
  let calls: Call[] = [];
  return {
    add: async (call) => {
      calls.push(call);
      await schedule(world, call);
    },
    advance: async () => {
      const left: Call[] = [];
      for (const call of calls) if (!isDone(await execute(world, call))) left.push(call);
      for (const call of left) await schedule(world, call);
      calls = left;
    },
    waiting: () => calls,
  };
}

export async function pass(world: World, hours: number): Promise<void> {
  await world.client.increaseTime({ seconds: hours * 3_600 });
  await world.client.mine({ blocks: 1 });
}
export const HOURS = {
  payOut: DELAYS.payOut / 3_600,
  rest: (DELAYS.wallet - DELAYS.payOut) / 3_600,
  admin: DELAYS.admin / 3_600,
  owner: DELAYS.owner / 3_600,
};
/** The hours between the ends of the delays. */
export const STEPS = [HOURS.payOut, HOURS.rest, HOURS.owner - HOURS.admin] as const;

export const rolesOf = (key: Key) =>
  Object.values(ROLES)
    .filter(({ holder }) => holder === key)
    .map(({ id, delay }) => ({ id, delay: delay ? DELAYS[delay] : 0 }));
