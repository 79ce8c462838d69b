// What each stolen key is worth, alone and with each other one, in whole units: measured in thefts.node.test.ts, told in docs/contracts.md.
import type { Losses } from "./thefts-scene.ts";

export type Theft = {
  /** When nobody reacts: at once, after the delay of a payout, and after that of a wallet and of the admin's calls. */
  readonly atOnce: Losses;
  readonly day: Losses;
  readonly twoDays: Losses;
  /** When everybody reacts whose key was not stolen: after two days, and after four. */
  readonly defended: Losses;
  readonly defendedLong: Losses;
  /** What the thief gets of a later payment of 10 by `pay`, when nobody reacts. */
  readonly later: number;
};
const NOTHING: Losses = {};
/** The first provider's wallet, and what stands in its vault above threshold and reserve. */
const WALLET: Losses = { wallet: 19.99, vault: 3 };
const PAYER: Losses = { payer: 990 };
/** Both vaults without the reserve, which the registrar can't lift. */
const VAULTS: Losses = { vault: 18, otherVault: 15 };
const ALL: Losses = { vault: 20, otherVault: 15, fees: 0.01 };
/** What the thief had bought himself. */
const BOUGHT: Losses = { vault: 10 };

const always = (losses: Losses): Omit<Theft, "later"> => ({
  atOnce: losses,
  day: losses,
  twoDays: losses,
  defended: losses,
  defendedLong: losses,
});

export const THEFTS: Readonly<Record<string, Theft>> = {
  admin: { ...always(NOTHING), twoDays: ALL, defendedLong: ALL, later: 10 },
  registrar: { ...always(NOTHING), twoDays: VAULTS, later: 9.995 },
  arbiter: { ...always(NOTHING), day: BOUGHT, twoDays: BOUGHT, later: 0 },
  guardian: { ...always(NOTHING), later: 0 },
  wallet: { ...always(WALLET), later: 9.995 },
  payer: { ...always(PAYER), later: 0 },
  "admin + registrar": { ...always(NOTHING), twoDays: ALL, defendedLong: ALL, later: 10 },
  "admin + arbiter": { ...always(NOTHING), day: BOUGHT, twoDays: ALL, defendedLong: ALL, later: 10 },
  "admin + guardian": { ...always(NOTHING), twoDays: ALL, defended: ALL, defendedLong: ALL, later: 10 },
  "admin + wallet": {
    ...always(WALLET),
    twoDays: { ...ALL, wallet: 19.99 },
    defendedLong: { ...ALL, wallet: 19.99 },
    later: 10,
  },
  "admin + payer": {
    ...always(PAYER),
    twoDays: { ...ALL, ...PAYER },
    defendedLong: { ...ALL, ...PAYER },
    later: 10,
  },
  "registrar + arbiter": {
    ...always(NOTHING),
    day: BOUGHT,
    twoDays: { vault: 20, otherVault: 15 },
    later: 9.995,
  },
  "registrar + guardian": { ...always(NOTHING), twoDays: VAULTS, later: 9.995 },
  // Half of the base at once: so far the registrar lowers a threshold without a delay.
  "registrar + wallet": {
    ...always({ wallet: 19.99, vault: 10.5 }),
    twoDays: { wallet: 19.99, ...VAULTS },
    later: 9.995,
  },
  "registrar + payer": { ...always(PAYER), twoDays: { ...PAYER, ...VAULTS }, later: 9.995 },
  "arbiter + guardian": { ...always(BOUGHT), atOnce: NOTHING, later: 0 },
  // The payment to himself, of 5, leaves its fee in the contract.
  "arbiter + wallet": {
    ...always({ wallet: 19.99, vault: 5, fees: -0.0025 }),
    day: { wallet: 19.99, vault: 20, fees: -0.0025 },
    twoDays: { wallet: 19.99, vault: 20, fees: -0.0025 },
    later: 8.9955,
  },
  "arbiter + payer": {
    ...always(PAYER),
    day: { ...PAYER, vault: 20 },
    twoDays: { ...PAYER, vault: 20 },
    later: 0,
  },
  "guardian + wallet": { ...always(WALLET), later: 9.995 },
  "guardian + payer": { ...always(PAYER), later: 0 },
  "wallet + payer": { ...always({ ...WALLET, ...PAYER }), later: 9.995 },
};
