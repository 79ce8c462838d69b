// Tests what no theft changes (CHN-5 to CHN-7): the root of the authority has no holder, so the table of functions stays as it was deployed, even
// for a thief with every role, and no role can move a vault or a wallet at once.
import { type Abi, encodeFunctionData, type Hex, parseEventLogs, toFunctionSelector } from "viem";
import { describe, expect, test } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { DELAYS, ROLES } from "../../scripts/chain/roles.ts";
import { OTHER_PROVIDER, PEOPLE, type Person, PROVIDER, THRESHOLD, UNIT, useWorld, type World } from "./support.ts";
import { thiefOf } from "./thefts-plays.ts";
import {
  cancel,
  HALF,
  HOURS,
  isDone,
  KEYS,
  managerRefusal,
  managerView,
  pass,
  roleCall,
  type Scene,
  schedule,
  setScene,
  THIEF,
} from "./thefts-scene.ts";

const ROOT = 0n;
const NOBODYS_ROLE = 8n;

let scene: Scene;
let world: World;
useWorld(async (built) => {
  world = built;
  scene = await setScene(built);
}, DELAYS);

/** Every call that needs the root. */
const rootCalls = (): readonly (readonly [string, readonly unknown[]])[] => {
  const { settlementContract, authority } = world.chain;
  const thief = world.people[THIEF].address;
  const payOut = [toFunctionSelector(signatureOf("payOut"))];
  return [
    ["setTargetFunctionRole", [settlementContract, payOut, ROLES.ADMIN.id]],
    ["setTargetFunctionRole", [authority, payOut, ROLES.ADMIN.id]],
    ["setTargetClosed", [settlementContract, true]],
    ["setTargetClosed", [authority, true]],
    ["setTargetAdminDelay", [settlementContract, 0]],
    ["updateAuthority", [settlementContract, thief]],
    ["setRoleAdmin", [ROLES.ARBITER_DELAYED.id, ROLES.GUARDIAN.id]],
    ["setRoleGuardian", [ROLES.ARBITER_DELAYED.id, NOBODYS_ROLE]],
    ["setGrantDelay", [ROLES.ARBITER_DELAYED.id, 0]],
    ["labelRole", [ROLES.ADMIN.id, "ROOT"]],
    ["grantRole", [ROOT, thief, 0]],
    ["revokeRole", [ROOT, thief]],
    ["grantRole", [NOBODYS_ROLE, thief, 0]],
  ];
};
const signatureOf = (name: string) => {
  const entry = (settlementAbi as Abi).find((one) => one.type === "function" && one.name === name);
  if (entry?.type !== "function") throw new Error(name);
  return entry;
};

/** Returns how such calls are refused, in every way in which they can be made. */
async function refusalsOf(person: Person): Promise<Set<string | null>> {
  const refusals = new Set<string | null>();
  for (const [functionName, args] of rootCalls()) {
    const data = encodeFunctionData({ abi: authorityAbi as Abi, functionName, args });
    refusals.add(await managerRefusal(world, person, functionName, args));
    refusals.add(await managerRefusal(world, person, "execute", [world.chain.authority, data]));
    refusals.add(await managerRefusal(world, person, "schedule", [world.chain.authority, data, 0]));
    refusals.add(await managerRefusal(world, person, "multicall", [[data]]));
  }
  return refusals;
}
const REFUSED = new Set(["AccessManagerUnauthorizedAccount", "AccessManagerUnauthorizedCall"]);

describe("the root", () => {
  test("has no holder, and the members of the roles are those of the table with its delays", async () => {
    const logs = await world.client.getLogs({ address: world.chain.authority, fromBlock: 0n });
    const events = parseEventLogs({ abi: authorityAbi, logs });
    const members = new Map<string, number>();
    for (const event of events) {
      if (event.eventName === "RoleGranted") members.set(memberOf(event.args), event.args.delay);
      if (event.eventName === "RoleRevoked") members.delete(memberOf(event.args));
    }
    const planned = Object.values(ROLES).map(({ id, holder, delay }) => [
      memberOf({ roleId: id, account: world.people[holder].address }),
      delay === null ? 0 : DELAYS[delay],
    ]);
    expect(Object.fromEntries(members)).toEqual(Object.fromEntries(planned));
  });

  test.each(PEOPLE)("cannot be used by %s in any way", async (person) => {
    expect(await refusalsOf(person)).toEqual(REFUSED);
  });

  test("cannot be used by a thief who has every key and every role without a delay", async () => {
    const thief = thiefOf(scene, KEYS);
    await thief.strike();
    await pass(world, HOURS.owner);
    await thief.advance();
    for (const { id } of Object.values(ROLES)) {
      const access = await managerView(world, "hasRole", [id, world.people[THIEF].address]);
      expect(access).toEqual([true, 0]);
    }
    expect(await refusalsOf(THIEF)).toEqual(REFUSED);
    // So a thief can never have more than all keys together.
    expect(await world.refusalOf(THIEF, "releaseSurplus", [PROVIDER, world.chain.token])).toBe(
      "AccessManagerUnauthorizedCall",
    );
  });
});

test("a grant can be made in one way only, which the guardian can cancel", async () => {
  const { authority } = world.chain;
  const manager = authorityAbi as Abi;
  const args = [ROLES.REGISTRAR_DELAYED.id, world.people[THIEF].address, 0];
  const grant = encodeFunctionData({ abi: manager, functionName: "grantRole", args });
  const wrapped = [
    encodeFunctionData({ abi: manager, functionName: "multicall", args: [[grant]] }),
    encodeFunctionData({ abi: manager, functionName: "execute", args: [authority, grant] }),
  ];
  for (const data of wrapped) {
    for (const [name, args] of [["execute", [authority, data]] as const, ["schedule", [authority, data, 0]] as const]) {
      expect(await managerRefusal(world, "owner", name, args)).toBe("AccessManagerUnauthorizedCall");
    }
  }
  expect(await managerRefusal(world, "owner", "grantRole", args)).toBe("AccessManagerNotScheduled");
  const call = roleCall(world, "owner", "grantRole", args);
  await schedule(world, call);
  expect(isDone(await cancel(world, "guardian", call))).toBe(true);
});

const memberOf = ({ roleId, account }: { roleId: bigint; account: Hex }) => `${roleId} ${account}`;

describe("the contract", () => {
  test("has no open function that changes its authority or takes its payers' allowances", () => {
    const writes = settlementAbi.flatMap((entry) =>
      entry.type === "function" && entry.stateMutability !== "view" && entry.stateMutability !== "pure"
        ? [entry.name]
        : [],
    );
    const restricted = Object.values(ROLES).flatMap(({ functions }) => [...functions]);
    const open = writes.filter((name) => !restricted.some((one) => one === name));
    expect(open.sort()).toEqual([
      "depositEscrow",
      "moveOperationalWallet",
      "moveRefundTo",
      "pay",
      "payIntent",
      "refund",
      "releaseSurplus",
      "settle",
      "settleWithAuthorization",
      "sweepFees",
    ]);
  });

  test("accepts restricted calls from the authority alone", async () => {
    const { token } = world.chain;
    for (const person of PEOPLE) {
      expect(await world.refusal(person, "setReserve", [PROVIDER, token, 0n])).toBe("NotAuthority");
      expect(await world.refusal(person, "payOut", [scene.bought.thief, 1n])).toBe("NotAuthority");
    }
  });
});

describe("before a delay is over", () => {
  const delayed = (): Readonly<Record<string, readonly [Person, readonly unknown[]]>> => {
    const { token } = world.chain;
    const thief = world.people[THIEF].address;
    return {
      setOperationalWallet: ["registrar", [PROVIDER, token, world.people.wallet.address, thief]],
      setLowThreshold: ["registrar", [PROVIDER, token, THRESHOLD, 0n]],
      payOut: ["arbiter", [scene.bought.thief, 10n * UNIT]],
      setRefundTo: ["arbiter", [scene.bought.payer, thief]],
      unpause: ["admin", []],
      setFeeBps: ["admin", [50n]],
      setFeeRecipient: ["admin", [thief]],
      listToken: ["admin", [token, 0n]],
    };
  };

  test("no call with a delay can be executed, neither now nor just too early", async () => {
    const calls = delayed();
    const waiting = Object.values(ROLES).flatMap(({ delay, functions }) => (delay === null ? [] : [...functions]));
    expect(Object.keys(calls).sort()).toEqual(waiting.sort());
    for (const [name, [person, args]] of Object.entries(calls)) {
      expect([name, await world.refusalOf(person, name, args)]).toEqual([name, "AccessManagerNotScheduled"]);
      for (const other of PEOPLE.filter((one) => one !== person)) {
        expect(await world.refusalOf(other, name, args)).toBe("AccessManagerUnauthorizedCall");
      }
      await world.schedule(person, name, args);
    }
    await pass(world, HOURS.payOut - 0.1);
    expect(await world.refusalOf("arbiter", "payOut", calls["payOut"]?.[1] ?? [])).toBe("AccessManagerNotReady");
    await pass(world, HOURS.rest);
    for (const [name, [person, args]] of Object.entries(calls)) {
      expect([name, await world.refusalOf(person, name, args)]).toEqual([
        name,
        person !== "arbiter" ? "AccessManagerNotReady" : name === "payOut" ? null : "RefundToAccepted",
      ]);
    }
  });

  test("the registrar can lower no threshold below half of the base, and the arbiter's reserve moves nothing", async () => {
    const { token } = world.chain;
    expect(await world.refusalOf("registrar", "setThreshold", [PROVIDER, token, HALF - 1n])).toBe("InvalidThreshold");
    const before = await world.balance(scene.places.vault);
    await world.act("arbiter", "setReserve", [PROVIDER, token, 0n]);
    expect(await world.balance(scene.places.vault)).toBe(before);
  });

  test("all keys together can take only the part of a vault above half of the base, and only with its provider's wallet", async () => {
    await thiefOf(scene, KEYS).strike();
    expect(await world.balance(scene.places.vault)).toBe(HALF);
    expect(await world.read("escrowBalance", [OTHER_PROVIDER, world.chain.token])).toBe(15n * UNIT);
  });
});
