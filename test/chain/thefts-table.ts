// The losses by each stolen key, alone and with each other key, in whole units. thefts.node.test.ts measures them, and docs/contracts.md lists
// them.
import { DELAYS } from "../../scripts/chain/roles.ts";
import { type Losses, sumOf } from "./thefts-scene.ts";

export type Theft = {
  /**
   * Without a reaction: at once, after the delay of a payout, after the delay of a wallet and of the admin's calls, and after the owner's delay.
   */
  readonly atOnce: Losses;
  readonly day: Losses;
  readonly twoDays: Losses;
  readonly week: Losses;
  /** If the holders of all other keys react: after a week, and after two weeks. Money that came home is a negative loss. */
  readonly defended: Losses;
  readonly defendedLong: Losses;
  /** The thief's share of a later payment of 10 by `pay`, without a reaction. */
  readonly later: number;
};
const NOTHING: Losses = {};
/** The first provider's wallet, and the part of its vault above threshold and reserve. */
const WALLET: Losses = { wallet: 19.99, vault: 3 };
const PAYER: Losses = { payer: 990 };
/** Both vaults without the reserve, which the registrar cannot lift. */
const VAULTS: Losses = { vault: 18, otherVault: 15 };
const FEES: Losses = { fees: 0.01 };
const ALL: Losses = { vault: 20, otherVault: 15, ...FEES };
/** The thief's own purchase. */
const BOUGHT: Losses = { vault: 10 };
/** After a theft of the owner's or the admin's key, the fees are swept to their present recipient. */
const SWEPT: Losses = { ...FEES, recipient: -0.01 };
/** The disputed 2 went to their buyer, everything else to the providers. */
const HOME: Losses = { ...ALL, ...SWEPT, payer: -2, wallet: -18, otherWallet: -15 };

/** Equal losses at all times, until others are given. */
const always = (losses: Losses): Omit<Theft, "later"> => ({
  atOnce: losses,
  day: losses,
  twoDays: losses,
  week: losses,
  defended: losses,
  defendedLong: losses,
});
const fromTwoDays = (losses: Losses) => ({ twoDays: losses, week: losses });
const fromDay = (losses: Losses) => ({ day: losses, ...fromTwoDays(losses) });
const defence = (losses: Losses, long = losses) => ({ defended: losses, defendedLong: long });

export const THEFTS: Readonly<Record<string, Theft>> = {
  owner: { ...always(NOTHING), week: ALL, ...defence(HOME), later: 10 },
  admin: { ...always(NOTHING), ...fromTwoDays(FEES), ...defence(SWEPT), later: 0.05 },
  registrar: { ...always(NOTHING), ...fromTwoDays(VAULTS), later: 9.995 },
  arbiter: { ...always(NOTHING), ...fromDay(BOUGHT), later: 0 },
  guardian: { ...always(NOTHING), later: 0 },
  wallet: { ...always(WALLET), later: 9.995 },
  payer: { ...always(PAYER), later: 0 },
  "owner + admin": { ...always(NOTHING), twoDays: FEES, week: ALL, ...defence(HOME), later: 10 },
  // The escrow does not go home, but the disputed 2 are paid.
  "owner + registrar": {
    ...always(NOTHING),
    twoDays: VAULTS,
    week: ALL,
    ...defence({ ...SWEPT, vault: 2, payer: -2 }, { ...ALL, ...SWEPT, payer: -2 }),
    later: 10,
  },
  // The arbiter's reserve locks everything until the owner's grants are ready.
  "owner + arbiter": {
    ...always(NOTHING),
    day: BOUGHT,
    twoDays: BOUGHT,
    week: ALL,
    ...defence(SWEPT, { ...ALL, ...SWEPT }),
    later: 10,
  },
  // The part of the vaults above half of the base went home at once.
  "owner + guardian": {
    ...always(NOTHING),
    week: ALL,
    ...defence({ ...ALL, ...SWEPT, wallet: -10.5, otherWallet: -7.5 }),
    later: 10,
  },
  "owner + wallet": {
    ...always(WALLET),
    week: { ...ALL, wallet: 19.99 },
    ...defence(
      { ...SWEPT, wallet: 19.99, vault: 5, payer: -2, otherVault: 15, otherWallet: -15 },
      { ...SWEPT, wallet: 19.99, vault: 20, payer: -2, otherVault: 15, otherWallet: -15 },
    ),
    later: 10,
  },
  // The payer is the buyer of the open dispute, so the award would go to the thief.
  "owner + payer": {
    ...always(PAYER),
    week: { ...ALL, ...PAYER },
    ...defence({ ...HOME, ...PAYER, vault: 18 }, { ...HOME, ...PAYER }),
    later: 10,
  },
  "admin + registrar": {
    ...always(NOTHING),
    ...fromTwoDays({ ...VAULTS, ...FEES }),
    ...defence(SWEPT),
    later: 10,
  },
  "admin + arbiter": {
    ...always(NOTHING),
    day: BOUGHT,
    ...fromTwoDays({ ...BOUGHT, ...FEES }),
    ...defence(SWEPT),
    later: 0.05,
  },
  "admin + guardian": { ...always(NOTHING), ...fromTwoDays(FEES), ...defence(SWEPT), later: 0.05 },
  "admin + wallet": {
    ...always(WALLET),
    ...fromTwoDays({ ...WALLET, ...FEES }),
    ...defence({ ...WALLET, ...SWEPT }),
    later: 10,
  },
  "admin + payer": {
    ...always(PAYER),
    ...fromTwoDays({ ...PAYER, ...FEES }),
    ...defence({ ...PAYER, ...SWEPT }),
    later: 0.05,
  },
  "registrar + arbiter": {
    ...always(NOTHING),
    day: BOUGHT,
    ...fromTwoDays({ vault: 20, otherVault: 15 }),
    later: 9.995,
  },
  "registrar + guardian": { ...always(NOTHING), ...fromTwoDays(VAULTS), later: 9.995 },
  // Half of the base is lost at once, because the registrar can lower a threshold that far without a delay.
  "registrar + wallet": {
    ...always({ wallet: 19.99, vault: 10.5 }),
    ...fromTwoDays({ wallet: 19.99, ...VAULTS }),
    later: 9.995,
  },
  "registrar + payer": { ...always(PAYER), ...fromTwoDays({ ...PAYER, ...VAULTS }), later: 9.995 },
  "arbiter + guardian": { ...always(BOUGHT), atOnce: NOTHING, later: 0 },
  // The thief's payment of 5 to itself leaves its fee in the contract.
  "arbiter + wallet": {
    ...always({ wallet: 19.99, vault: 5, fees: -0.0025 }),
    ...fromDay({ wallet: 19.99, vault: 20, fees: -0.0025 }),
    later: 8.9955,
  },
  "arbiter + payer": { ...always(PAYER), ...fromDay({ ...PAYER, vault: 20 }), later: 0 },
  "guardian + wallet": { ...always(WALLET), later: 9.995 },
  "guardian + payer": { ...always(PAYER), later: 0 },
  "wallet + payer": { ...always({ ...WALLET, ...PAYER }), later: 9.995 },
};

/** The end of each delay, in hours after the theft. */
const ENDS = { day: DELAYS.payOut, twoDays: DELAYS.admin, week: DELAYS.owner } as const;

/**
 * Returns by when a guardian has to cancel, in hours after the theft: the first end of a delay after which the thief has more. Returns null if no
 * delay protects anything, or if the guardian's key is stolen too.
 */
export function hoursToCancel(name: string, theft: Theft): number | null {
  if (name.split(" + ").includes("guardian")) return null;
  const [first] = Object.entries(ENDS).filter(([end]) => sumOf(theft[end as keyof typeof ENDS]) > sumOf(theft.atOnce));
  return first ? first[1] / 3_600 : null;
}
