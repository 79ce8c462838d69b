// Tests what a thief can block who wants nothing else, and how the honest holders recover (CHN-5 to CHN-7).
import { type Hex, parseEventLogs } from "viem";
import { describe, expect, test } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { DELAYS, ROLES } from "../../scripts/chain/roles.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { CONSUMER, OTHER_PROVIDER, PROVIDER, paymentOf, THRESHOLD, UNIT, useWorld, type World } from "./support.ts";
import { defenceOf, lostRoles, thiefOf } from "./thefts-plays.ts";
import {
  agendaOf,
  BYSTANDER,
  cancel,
  HALF,
  HOLDER,
  HOURS,
  isDone,
  type Key,
  lossesOf,
  ownCall,
  PAYMENT,
  pass,
  renounce,
  roleCall,
  type Scene,
  schedule,
  setScene,
  THIEF,
} from "./thefts-scene.ts";

const MOST = 2n ** 96n - 1n;
let scene: Scene;
let world: World;
let token: Hex;
useWorld(async (built) => {
  world = built;
  token = built.chain.token;
  scene = await setScene(built);
}, DELAYS);

const payment = () => [token, PAYMENT, PROVIDER, CONSUMER];
/** The owner's calls that replace a stolen key by the spare one. */
const replacements = (key: Key) =>
  lostRoles([key]).flatMap(({ id, delay }) => [
    roleCall(world, "owner", "revokeRole", [id, world.people[HOLDER[key]].address]),
    roleCall(world, "owner", "grantRole", [id, world.people[BYSTANDER].address, delay]),
  ]);

/** Lets the owner replace the key, without any obstacle. */
async function replace(key: Key): Promise<void> {
  const agenda = agendaOf(world);
  for (const call of replacements(key)) await agenda.add(call);
  await pass(world, HOURS.owner);
  await agenda.advance();
}

describe("a stolen guardian's key", () => {
  test("stops payments and every scheduled call, until all is as before after two of the owner's delays", async () => {
    await world.act("guardian", "pause", []);
    const agenda = agendaOf(world);
    const revoked = roleCall(world, "owner", "revokeRole", [ROLES.GUARDIAN.id, world.people.guardian.address]);
    await agenda.add(revoked);
    await agenda.add(ownCall(world, "admin", "unpause", []));
    await agenda.add(ownCall(world, "arbiter", "payOut", [scene.bought.payer, UNIT]));
    await agenda.add(ownCall(world, "registrar", "setLowThreshold", [PROVIDER, token, THRESHOLD, 0n]));
    await agenda.add(roleCall(world, "owner", "grantRole", [ROLES.GUARDIAN.id, world.people[BYSTANDER].address, 0]));
    const cancelled = [];
    for (const call of agenda.waiting()) cancelled.push(isDone(await cancel(world, "guardian", call)));
    // The key cancels everything except its own revocation.
    expect(cancelled).toEqual([false, true, true, true, true]);
    await pass(world, HOURS.owner);
    await agenda.advance();
    expect(await world.refusal("consumer", "pay", payment())).toBe("PaymentsPaused");
    expect(await world.refusalOf("guardian", "pause", [])).toBe("AccessManagerUnauthorizedCall");
    for (const call of agenda.waiting()) expect(isDone(await cancel(world, "guardian", call))).toBe(false);
    await pass(world, HOURS.admin);
    await agenda.advance();
    expect(await world.refusal("consumer", "pay", payment())).toBeNull();
    await pass(world, HOURS.owner - HOURS.admin);
    await agenda.advance();
    expect(agenda.waiting()).toEqual([]);
    expect(await world.refusalOf(BYSTANDER, "pause", [])).toBeNull();
  });

  test("does not stop refunds and releases", async () => {
    await world.act("guardian", "pause", []);
    expect(await world.refusal("consumer", "refund", [scene.bought.thief, UNIT])).toBeNull();
    expect(await world.refusal(THIEF, "releaseSurplus", [PROVIDER, token])).toBeNull();
    expect(
      await world.refusal("wallet", "moveOperationalWallet", [PROVIDER, token, world.people.other.address]),
    ).toBeNull();
  });
});

describe("a stolen arbiter's key", () => {
  test("blocks all surplus until the next arbiter lowers the reserve", async () => {
    await world.act("arbiter", "setReserve", [PROVIDER, token, MOST]);
    expect(await world.refusal("wallet", "releaseSurplus", [PROVIDER, token])).toBe("NothingToRelease");
    await replace("arbiter");
    expect(await world.refusalOf("arbiter", "setReserve", [PROVIDER, token, 0n])).toBe("AccessManagerUnauthorizedCall");
    await world.act(BYSTANDER, "setReserve", [PROVIDER, token, 0n]);
    expect(await world.refusal("wallet", "releaseSurplus", [PROVIDER, token])).toBeNull();
  });

  test("can pay the vault out to its provider's customers, up to what each has paid", async () => {
    const { payer, thief } = scene.bought;
    const calls = [payer, thief].map((facts) => ownCall(world, "arbiter", "payOut", [facts, facts.gross]));
    const agenda = agendaOf(world);
    for (const call of calls) await agenda.add(call);
    await pass(world, HOURS.payOut);
    await agenda.advance();
    expect(await world.balance(scene.places.vault)).toBe(0n);
    expect(await world.balance(world.people.consumer.address)).toBe(1_000n * UNIT);
    const again = [{ ...payer, paidOut: payer.gross }, 1n];
    await world.schedule("arbiter", "payOut", again);
    await pass(world, HOURS.payOut);
    expect(await world.refusalOf("arbiter", "payOut", again)).toBe("ExceedsGross");
  });
});

describe("a stolen registrar's key", () => {
  test("can register unregistered hashes and get what is paid to them by `pay`, while `settle` refuses", async () => {
    const squatted = hashDid("did:aeap:44444444-4444-4444-8444-444444444444");
    const wallet = world.people.wallet.address;
    await world.act("registrar", "registerProvider", [squatted, token, world.people[THIEF].address, THRESHOLD]);
    await replace("registrar");
    expect(await world.refusalOf(BYSTANDER, "registerProvider", [squatted, token, wallet, THRESHOLD])).toBe(
      "ProviderExists",
    );
    const before = await world.balance(world.people[THIEF].address);
    await world.send("consumer", "pay", [token, PAYMENT, squatted, CONSUMER]);
    expect(await world.balance(world.people[THIEF].address)).toBe(before + 8_995_500n);
    expect(await world.refusal("consumer", "settle", [paymentOf(world, { providerDidHash: squatted })])).toBe(
      "WalletDiffers",
    );
  });
});

describe("a stolen registrar's and guardian's key", () => {
  test("executes its calls in the end, but the reserve holds until the wallet is the provider's again", async () => {
    const keys = ["registrar", "guardian"] as const;
    const thief = thiefOf(scene, keys);
    await thief.strike();
    const defence = defenceOf(scene, keys, thief);
    await defence.answer();
    await pass(world, HOURS.admin);
    await thief.advance();
    await defence.advance();
    const { wallet } = world.people;
    expect(await split()).toEqual([world.people[THIEF].address, 0n]);
    await pass(world, HOURS.owner - HOURS.admin);
    await defence.advance();
    const agenda = agendaOf(world);
    await agenda.add(
      roleCall(world, "owner", "grantRole", [ROLES.REGISTRAR_DELAYED.id, world.people.other.address, 0]),
    );
    await pass(world, HOURS.owner);
    await defence.advance();
    // The grant removes the delay of an existing member. That change itself waits for the length of the removed delay.
    await agenda.advance();
    await pass(world, HOURS.admin);
    const [present] = await split();
    expect(isDone(await world.act(BYSTANDER, "setOperationalWallet", [PROVIDER, token, present, wallet.address]))).toBe(
      true,
    );
    await world.act(BYSTANDER, "setThreshold", [PROVIDER, token, THRESHOLD]);
    await world.act("arbiter", "setReserve", [PROVIDER, token, 0n]);
    expect(await split()).toEqual([wallet.address, THRESHOLD]);
    expect(await released(PROVIDER)).toBe(5n * UNIT);
    expect((await lossesOf(scene)).taken).toBe(0);
  });
});

const split = () => world.read<[Hex, bigint]>("splitOf", [PROVIDER, token]);

describe("a stolen wallet's key", () => {
  const move = (to: Hex) => [PROVIDER, token, to];

  test("evades the registrar's call by moving the wallet again, but not a role without a delay", async () => {
    const { wallet, other, feeRecipient, guardian } = world.people;
    await world.send("wallet", "moveOperationalWallet", move(feeRecipient.address));
    const rescue = [PROVIDER, token, feeRecipient.address, other.address];
    await world.schedule("registrar", "setOperationalWallet", rescue);
    await pass(world, HOURS.admin);
    await world.send("feeRecipient", "moveOperationalWallet", move(guardian.address));
    expect(await world.refusalOf("registrar", "setOperationalWallet", rescue)).toBe("WalletDiffers");
    const agenda = agendaOf(world);
    await agenda.add(roleCall(world, "owner", "grantRole", [ROLES.REGISTRAR_DELAYED.id, other.address, 0]));
    await pass(world, HOURS.owner);
    await world.send("guardian", "moveOperationalWallet", move(wallet.address));
    await agenda.advance();
    // The call names the present wallet.
    const [present] = await world.read<[Hex]>("splitOf", [PROVIDER, token]);
    expect(isDone(await world.act(BYSTANDER, "setOperationalWallet", [PROVIDER, token, present, other.address]))).toBe(
      true,
    );
    expect(await world.refusal("wallet", "moveOperationalWallet", move(wallet.address))).toBe("WalletDiffers");
  });

  test("gets no surplus once the arbiter has reserved it, and never reaches the threshold", async () => {
    await world.act("arbiter", "setReserve", [PROVIDER, token, MOST]);
    expect(await world.refusal("wallet", "releaseSurplus", [PROVIDER, token])).toBe("NothingToRelease");
  });
});

describe("a stolen admin's key", () => {
  test("delists the token after its delay, which stops payments, but not payouts and releases", async () => {
    const delist = ownCall(world, "admin", "listToken", [token, 0n]);
    const agenda = agendaOf(world);
    await agenda.add(delist);
    const award = ownCall(world, "arbiter", "payOut", [scene.bought.payer, UNIT]);
    await agenda.add(award);
    await pass(world, HOURS.admin);
    await agenda.advance();
    expect(agenda.waiting()).toEqual([]);
    expect(await world.refusal("consumer", "pay", payment())).toBe("UnknownToken");
    expect(await world.refusal(THIEF, "releaseSurplus", [PROVIDER, token])).toBeNull();
  });

  test("keeps payments paused together with the guardian's, until the owner has replaced both", async () => {
    await world.act("guardian", "pause", []);
    await renounce(world, "admin", ROLES.ADMIN.id);
    const grant = roleCall(world, "owner", "grantRole", [
      ROLES.ADMIN.id,
      world.people[BYSTANDER].address,
      DELAYS.admin,
    ]);
    const agenda = agendaOf(world);
    for (const call of [...replacements("guardian"), grant]) await agenda.add(call);
    for (const call of agenda.waiting()) await cancel(world, "guardian", call);
    for (const _delay of ["first", "second"]) {
      await pass(world, HOURS.owner);
      await agenda.advance();
    }
    expect(agenda.waiting()).toEqual([]);
    await agenda.add(ownCall(world, BYSTANDER, "unpause", []));
    await pass(world, HOURS.admin);
    await agenda.advance();
    expect(await world.refusal("consumer", "pay", payment())).toBeNull();
  });
});

describe("a stolen owner's key", () => {
  test("revokes every role after its delay, which the guardian cannot cancel, so that payouts stop", async () => {
    const agenda = agendaOf(world);
    const calls = (["guardian", "arbiter", "registrar", "admin"] as const).flatMap((key) =>
      lostRoles([key]).map(({ id }) => roleCall(world, "owner", "revokeRole", [id, world.people[key].address])),
    );
    for (const call of calls) {
      await agenda.add(call);
      expect(isDone(await cancel(world, "guardian", call))).toBe(false);
    }
    await pass(world, HOURS.owner);
    await agenda.advance();
    const award = ownCall(world, "arbiter", "payOut", [scene.bought.payer, UNIT]);
    expect(isDone(await schedule(world, award))).toBe(false);
    expect(isDone(await world.send("consumer", "pay", payment()))).toBe(true);
  });

  test("can renounce its role, so that no key can be replaced, but all else goes on, and every escrow can go home", async () => {
    await renounce(world, "owner", ROLES.OWNER.id);
    const grant = roleCall(world, "owner", "grantRole", [ROLES.OWNER.id, world.people.owner.address, 0]);
    expect(isDone(await schedule(world, grant))).toBe(false);
    expect(isDone(await world.send("consumer", "pay", payment()))).toBe(true);
    const agenda = agendaOf(world);
    for (const provider of [PROVIDER, OTHER_PROVIDER]) {
      await agenda.add(ownCall(world, "registrar", "setLowThreshold", [provider, token, THRESHOLD, 0n]));
    }
    await world.act("arbiter", "setReserve", [PROVIDER, token, 0n]);
    await pass(world, HOURS.admin);
    await agenda.advance();
    expect(await released(PROVIDER)).toBe(20n * UNIT);
    expect(await released(OTHER_PROVIDER)).toBe(15n * UNIT);
  });

  test("pauses payments for ever together with the guardian's, so that half of the base goes home and the rest is locked", async () => {
    await world.act("guardian", "pause", []);
    await renounce(world, "owner", ROLES.OWNER.id);
    const unpause = ownCall(world, "admin", "unpause", []);
    await schedule(world, unpause);
    expect(isDone(await cancel(world, "guardian", unpause))).toBe(true);
    expect(await world.refusal("consumer", "pay", payment())).toBe("PaymentsPaused");
    await world.act("registrar", "setThreshold", [OTHER_PROVIDER, token, HALF]);
    expect(await released(OTHER_PROVIDER)).toBe(HALF);
    const low = ownCall(world, "registrar", "setLowThreshold", [OTHER_PROVIDER, token, HALF, 0n]);
    await schedule(world, low);
    expect(isDone(await cancel(world, "guardian", low))).toBe(true);
  });
});

/** Releases the surplus, as anyone may, and returns its amount. */
async function released(provider: Hex): Promise<bigint> {
  const receipt = await world.send(BYSTANDER, "releaseSurplus", [provider, token]);
  const [event] = parseEventLogs({ abi: settlementAbi, logs: receipt.logs, eventName: "SurplusReleased" });
  return event?.args.amount ?? 0n;
}
