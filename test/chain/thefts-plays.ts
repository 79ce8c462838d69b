// Plays a thief with stolen keys, and the holders of all other keys. The thief is patient, knows the contract, and does the worst that was found,
// which thefts.node.test.ts measures.
import type { Hex } from "viem";
import { ROLES } from "../../scripts/chain/roles.ts";
import { type Facts, OTHER_PROVIDER, type Person, PROVIDER, UNIT } from "./support.ts";
import {
  type Agenda,
  agendaOf,
  BYSTANDER,
  buy,
  cancel,
  HALF,
  HOLDER,
  type Key,
  onToken,
  ownCall,
  roleCall,
  rolesOf,
  type Scene,
  THIEF,
} from "./thefts-scene.ts";

const PROVIDERS = [PROVIDER, OTHER_PROVIDER] as const;
const MOST = 2n ** 96n - 1n;
/** The reserve of the first provider's vault, for a dispute of the payer. */
const DISPUTED = 2n * UNIT;

export type Thief = {
  /** Does all that can be done at once, and schedules all that cannot. */
  readonly strike: () => Promise<void>;
  /** After a delay: executes what is ready, and uses the roles that the thief has gained. */
  readonly advance: () => Promise<void>;
  readonly agenda: Agenda;
};

export function thiefOf(scene: Scene, keys: readonly Key[]): Thief {
  const { world, bought } = scene;
  const { token } = world.chain;
  const thief = world.people[THIEF].address;
  const agenda = agendaOf(world);
  const has = (key: Key) => keys.includes(key);
  const splitOf = (provider: Hex) => world.read<[Hex, bigint]>("splitOf", [provider, token]);

  async function empty(person: Person): Promise<void> {
    const balance = await world.balance(world.people[person].address);
    if (balance > 0n) await onToken(world, person, "transfer", [thief, balance]);
  }
  /** Surplus goes to the provider's wallet, so the thief releases only to a wallet of its own. */
  async function release(): Promise<void> {
    for (const provider of PROVIDERS) {
      const [wallet] = await splitOf(provider);
      if (wallet === thief) await world.send(THIEF, "releaseSurplus", [provider, token]);
    }
  }
  async function scheduleRegistrar(): Promise<void> {
    for (const provider of PROVIDERS) {
      const [wallet, threshold] = await splitOf(provider);
      const change = ["setOperationalWallet", [provider, token, wallet, thief]] as const;
      if (wallet !== thief) await agenda.add(ownCall(world, "registrar", ...change));
      await agenda.add(ownCall(world, "registrar", "setLowThreshold", [provider, token, threshold, 0n]));
    }
  }
  /**
   * `payOut` returns payments to their payer: the thief's own, those of a payer whose key was stolen, and, with a stolen wallet, the thief's
   * payments to itself for the rest of the vault.
   */
  async function schedulePayOuts(): Promise<void> {
    const claims: Facts[] = [bought.thief, ...(has("payer") ? [bought.payer] : [])];
    const claimed = claims.reduce((sum, { gross }) => sum + gross, 0n);
    const left = (await world.balance(scene.places.vault)) - claimed;
    if (has("wallet") && left > 0n) claims.push(await buy(world, THIEF, left));
    for (const facts of claims) await agenda.add(ownCall(world, "arbiter", "payOut", [facts, facts.gross]));
  }
  /** Schedules grants of all roles without a delay, and the revocation of every key that could cancel or reserve. */
  async function scheduleOwner(): Promise<void> {
    for (const key of ["guardian", "arbiter", "registrar", "admin"] as const) {
      if (has(key)) continue;
      for (const { id } of rolesOf(key)) {
        await agenda.add(roleCall(world, "owner", "revokeRole", [id, world.people[HOLDER[key]].address]));
      }
    }
    for (const { id } of Object.values(ROLES)) await agenda.add(roleCall(world, "owner", "grantRole", [id, thief, 0]));
  }
  async function scheduleAdmin(): Promise<void> {
    await agenda.add(ownCall(world, "admin", "setFeeRecipient", [thief]));
    await agenda.add(ownCall(world, "admin", "setFeeBps", [50n]));
  }
  /** Keeps the escrow from going home before the thief has every role. */
  async function lockVaults(): Promise<void> {
    for (const provider of PROVIDERS) await world.act("arbiter", "setReserve", [provider, token, MOST]);
  }
  /** Uses the roles, which have no delay. */
  async function plunder(): Promise<void> {
    await world.act(THIEF, "setFeeRecipient", [thief]);
    await world.act(THIEF, "setFeeBps", [50n]);
    for (const provider of PROVIDERS) {
      const [wallet, threshold] = await splitOf(provider);
      if (wallet !== thief) await world.act(THIEF, "setOperationalWallet", [provider, token, wallet, thief]);
      if (threshold > 0n) await world.act(THIEF, "setLowThreshold", [provider, token, threshold, 0n]);
      await world.act(THIEF, "setReserve", [provider, token, 0n]);
    }
  }
  async function collect(): Promise<void> {
    await release();
    if (has("payer")) await empty("consumer");
    // Fees go to the present recipient until it is changed.
    if ((await world.read<Hex>("feeRecipient")) === thief) await world.send(THIEF, "sweepFees", [token]);
  }

  return {
    agenda,
    strike: async () => {
      if (has("payer")) await empty("consumer");
      if (has("wallet")) {
        await empty("wallet");
        await world.send("wallet", "moveOperationalWallet", [PROVIDER, token, thief]);
      }
      if (has("arbiter")) await world.act("arbiter", "setReserve", [PROVIDER, token, 0n]);
      if (has("registrar") && has("wallet")) await world.act("registrar", "setThreshold", [PROVIDER, token, HALF]);
      await release();
      if (has("owner") && has("arbiter")) await lockVaults();
      if (has("registrar")) await scheduleRegistrar();
      if (has("arbiter")) await schedulePayOuts();
      if (has("admin")) await scheduleAdmin();
      if (has("owner")) await scheduleOwner();
    },
    advance: async () => {
      await agenda.advance();
      if (has("owner")) await plunder();
      await collect();
    },
  };
}

export type Defence = { readonly answer: () => Promise<void>; readonly advance: () => Promise<void> };

/**
 * Plays the holders of the keys that were not stolen. The guardian pauses and cancels all that a stolen key schedules, the arbiter reserves every
 * vault, and the owner revokes the lost roles and grants them to the spare key. A thief with the owner's key has every role in the end, so the
 * reserve for the open dispute goes to its buyer, and then all escrow to the providers. A stolen guardian's key cancels what it can of that.
 */
export function defenceOf(scene: Scene, keys: readonly Key[], thief: Thief): Defence {
  const { world, bought } = scene;
  const { token } = world.chain;
  const agenda = agendaOf(world);
  const isHonest = (key: Key) => !keys.includes(key);
  /** The providers whose escrow goes home. A release to a stolen wallet would be lost. */
  const leaving = PROVIDERS.filter(
    (provider) => !isHonest("owner") && isHonest("registrar") && (provider !== PROVIDER || isHonest("wallet")),
  );
  const buyersAward = [bought.payer, DISPUTED] as const;
  const hasAward = !isHonest("owner") && isHonest("arbiter") && isHonest("payer");
  let isPaid = false;
  async function veto(): Promise<void> {
    const calls = isHonest("guardian") ? thief.agenda.waiting() : agenda.waiting();
    for (const call of calls) await cancel(world, "guardian", call);
  }
  async function release(): Promise<void> {
    for (const provider of leaving) await world.send(BYSTANDER, "releaseSurplus", [provider, token]);
  }
  async function leave(): Promise<void> {
    if (hasAward) await agenda.add(ownCall(world, "arbiter", "payOut", buyersAward));
    for (const provider of leaving) {
      await world.act("registrar", "setThreshold", [provider, token, HALF]);
      await agenda.add(ownCall(world, "registrar", "setLowThreshold", [provider, token, HALF, 0n]));
    }
    await release();
  }
  return {
    answer: async () => {
      if (isHonest("guardian")) await world.act("guardian", "pause", []);
      if (!isHonest("owner") || !isHonest("admin")) await world.send(BYSTANDER, "sweepFees", [token]);
      if (isHonest("arbiter")) {
        for (const provider of PROVIDERS.filter((one) => !leaving.includes(one))) {
          await world.act("arbiter", "setReserve", [provider, token, MOST]);
        }
      }
      if (isHonest("owner")) {
        for (const { key, id, delay } of lostRoles(keys)) {
          await agenda.add(roleCall(world, "owner", "revokeRole", [id, world.people[HOLDER[key]].address]));
          await agenda.add(roleCall(world, "owner", "grantRole", [id, world.people[BYSTANDER].address, delay]));
        }
      } else await leave();
      await veto();
    },
    advance: async () => {
      await agenda.advance();
      // The reserve is for the dispute, so it ends with the payment of the award.
      isPaid ||= (await world.balance(scene.places.payer)) > scene.before.payer;
      if (hasAward && isPaid && leaving.includes(PROVIDER)) {
        await world.act("arbiter", "setReserve", [PROVIDER, token, 0n]);
      }
      await release();
      await veto();
    },
  };
}

export const lostRoles = (keys: readonly Key[]) =>
  keys.flatMap((key) => rolesOf(key).map(({ id, delay }) => ({ key, id, delay })));
