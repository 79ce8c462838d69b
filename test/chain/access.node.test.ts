// Tests the settlement contract's roles (CHN-5 to CHN-7): they are separate keys, and the authority's root has no holder. Tries every role on every
// restricted function, the delays, and every person on the vaults.
import { type Abi, encodeFunctionData, getAbiItem, getContractAddress, type Hex, toFunctionSelector } from "viem";
import { describe, expect, test } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { artifacts } from "../../scripts/chain/deploy.ts";
import { DELAYS, NO_DELAYS, ROLES } from "../../scripts/chain/roles.ts";
import {
  CONSUMER,
  eventsOf,
  type Facts,
  factsOf,
  OTHER_PROVIDER,
  PEOPLE,
  type Person,
  PROVIDER,
  paymentOf,
  THRESHOLD,
  UNIT,
  useWorld,
  vaultBalance,
  type World,
} from "./support.ts";
import { createTestContract, testContracts } from "./test-contracts.ts";

// Every restricted function, the one person who may call it, and a call that is valid except for its caller.
type Call = {
  readonly by: Person;
  readonly args: (world: World, facts: Facts) => readonly unknown[] | Promise<readonly unknown[]>;
};
const PRIVILEGED: Readonly<Record<string, Call>> = {
  registerProvider: {
    by: "registrar",
    args: ({ chain, people }) => [OTHER_PROVIDER, chain.token, people.other.address, THRESHOLD],
  },
  setThreshold: { by: "registrar", args: ({ chain }) => [PROVIDER, chain.token, THRESHOLD] },
  setLowThreshold: { by: "registrar", args: ({ chain }) => [PROVIDER, chain.token, THRESHOLD, 0n] },
  setOperationalWallet: {
    by: "registrar",
    args: ({ chain, people }) => [PROVIDER, chain.token, people.wallet.address, people.other.address],
  },
  setReserve: { by: "arbiter", args: ({ chain }) => [PROVIDER, chain.token, 1n] },
  payOut: { by: "arbiter", args: (_, facts) => [facts, 1n] },
  setRefundTo: { by: "arbiter", args: async (world) => [await refusedBack(world), world.people.other.address] },
  pause: { by: "guardian", args: () => [] },
  unpause: { by: "admin", args: () => [] },
  setFeeBps: { by: "admin", args: () => [1n] },
  setFeeRecipient: { by: "admin", args: ({ people }) => [people.other.address] },
  listToken: { by: "admin", args: ({ chain }) => [chain.token, 0n] },
};
const OPEN = [
  ...["pay", "payIntent", "settle", "settleWithAuthorization", "depositEscrow", "refund", "releaseSurplus"],
  ...["moveOperationalWallet", "moveRefundTo", "sweepFees"],
];
const DELAYED = [
  "setOperationalWallet",
  "setLowThreshold",
  "payOut",
  "setRefundTo",
  "unpause",
  "setFeeBps",
  "setFeeRecipient",
  "listToken",
];

/** Makes a settlement in a token that refuses its `refundTo`. */
async function refusedBack(world: World): Promise<Facts> {
  const { abi } = testContracts.UsdcLike;
  const { consumer, stranger, wallet } = world.people;
  const token = await createTestContract(world, "UsdcLike", []);
  await listAndRegister(world, token, wallet.address);
  await world.sendTo("other", token, abi, "mint", [consumer.address, 10n * UNIT]);
  await world.sendTo("consumer", token, abi, "approve", [world.chain.settlementContract, 10n * UNIT]);
  const payment = paymentOf(world, { token, refundTo: stranger.address });
  const facts = await factsOf(world, await world.send("consumer", "settle", [payment]));
  await world.sendTo("other", token, abi, "setBlacklisted", [stranger.address, true]);
  return facts;
}

async function listAndRegister(world: World, token: Hex, wallet: Hex): Promise<void> {
  const args = [token, THRESHOLD];
  if ((await world.schedule("admin", "listToken", args)).status === "success") {
    await world.client.increaseTime({ seconds: DELAYS.admin });
  }
  await world.act("admin", "listToken", args);
  await world.act("registrar", "registerProvider", [PROVIDER, token, wallet, THRESHOLD]);
}

const settled = async (world: World): Promise<Facts> =>
  factsOf(world, await world.send("consumer", "pay", [world.chain.token, 10n * UNIT, PROVIDER, CONSUMER]));

test("every function that changes state is in one of the two tables", () => {
  const writes = settlementAbi.flatMap((entry) =>
    entry.type === "function" && entry.stateMutability !== "view" && entry.stateMutability !== "pure"
      ? [entry.name]
      : [],
  );
  expect([...writes].sort()).toEqual([...Object.keys(PRIVILEGED), ...OPEN].sort());
  expect(
    Object.values(ROLES)
      .flatMap(({ functions }) => [...functions] as string[])
      .sort(),
  ).toEqual(Object.keys(PRIVILEGED).sort());
});

describe("without delays", () => {
  let world: World;
  useWorld((built) => {
    world = built;
  }, NO_DELAYS);

  test.each(Object.entries(PRIVILEGED))(
    "%s can be called by one role only, and only through the authority",
    async (name, { by, args }) => {
      const values = await args(world, await settled(world));
      for (const person of PEOPLE) {
        const expected = person === by ? null : "AccessManagerUnauthorizedCall";
        expect([person, await world.refusalOf(person, name, values)]).toEqual([person, expected]);
        expect([person, await world.refusal(person, name, values)]).toEqual([person, "NotAuthority"]);
      }
    },
  );

  test.each(["admin", "registrar", "arbiter", "guardian", "consumer", "wallet", "stranger"] as const)(
    "neither a vault nor its implementation releases anything to %s",
    async (person) => {
      const vault = await world.vault(PROVIDER);
      await world.mint(vault, UNIT);
      const args = [world.chain.token, world.people[person].address, UNIT];
      for (const address of [vault, world.chain.vaultImplementation]) {
        const refusal = await world.refusalAt(person, address, artifacts.EscrowVault.abi, "release", args);
        expect(refusal).toBe("NotSettlementContract");
      }
    },
  );

  test("a vault has its settlement contract in its code", async () => {
    const vault = { address: await world.vault(PROVIDER), abi: artifacts.EscrowVault.abi };
    expect(await world.client.readContract({ ...vault, functionName: "settlementContract" })).toBe(
      world.chain.settlementContract,
    );
    // The vault is a minimal clone (ERC-1167) and nothing else, at an address that follows from the provider alone (CREATE2).
    const implementation = world.chain.vaultImplementation.slice(2).toLowerCase();
    const code = await world.client.getCode({ address: vault.address });
    expect(code).toBe(`0x363d3d373d3d3d363d73${implementation}5af43d82803e903d91602b57fd5bf3`);
    const bytecode: Hex = `0x3d602d80600a3d3981f3${code?.slice(2)}`;
    const from = world.chain.settlementContract;
    expect(getContractAddress({ opcode: "CREATE2", from, salt: PROVIDER, bytecode })).toBe(vault.address);
  });

  test("the table of functions, delays and guardians cannot change, because the authority's root has no holder", async () => {
    const { authority, settlementContract } = world.chain;
    const manager = { address: authority, abi: authorityAbi } as const;
    const selector = toFunctionSelector(getAbiItem({ abi: settlementAbi, name: "payOut" }));
    const changes: readonly (readonly [string, readonly unknown[]])[] = [
      ["setTargetFunctionRole", [settlementContract, [selector], 1n]],
      ["setTargetClosed", [settlementContract, true]],
      ["setTargetAdminDelay", [settlementContract, 0]],
      ["updateAuthority", [settlementContract, world.people.stranger.address]],
      ["setRoleAdmin", [5n, 6n]],
      ["setRoleGuardian", [5n, 1n]],
      ["setGrantDelay", [5n, 0]],
      ["grantRole", [0n, world.people.admin.address, 0]],
      ["labelRole", [5n, "x"]],
    ];
    for (const person of PEOPLE) {
      const { address } = world.people[person];
      expect((await world.client.readContract({ ...manager, functionName: "hasRole", args: [0n, address] }))[0]).toBe(
        false,
      );
      for (const [name, args] of changes)
        expect([name, await world.refusalAt(person, authority, authorityAbi as Abi, name, args)]).toEqual([
          name,
          "AccessManagerUnauthorizedAccount",
        ]);
    }
    expect(await world.read("authority")).toBe(authority);
  });

  test("the owner grants and revokes roles", async () => {
    const { authority } = world.chain;
    const { registrar, other } = world.people;
    const manage = (name: string, args: readonly unknown[]) =>
      world.sendTo("owner", authority, authorityAbi as Abi, name, args);
    await manage("revokeRole", [ROLES.REGISTRAR.id, registrar.address]);
    await manage("grantRole", [ROLES.REGISTRAR.id, other.address, 0]);
    const args = [PROVIDER, world.chain.token, THRESHOLD];
    expect(await world.refusalOf("registrar", "setThreshold", args)).toBe("AccessManagerUnauthorizedCall");
    expect(await world.refusalOf("other", "setThreshold", args)).toBeNull();
  });
});

describe("with the delays of production", () => {
  let world: World;
  useWorld((built) => {
    world = built;
  }, DELAYS);
  const pass = async (seconds: number) => {
    await world.client.increaseTime({ seconds });
    await world.client.mine({ blocks: 1 });
  };
  const delayOf = (name: string): number =>
    PRIVILEGED[name]?.by === "arbiter"
      ? DELAYS.payOut
      : PRIVILEGED[name]?.by === "admin"
        ? DELAYS.admin
        : DELAYS.wallet;

  test.each(DELAYED)("%s is scheduled, and can be executed once, within a week after its delay", async (name) => {
    const call = PRIVILEGED[name];
    if (!call) throw new Error(name);
    const args = await call.args(world, await settled(world));
    expect(await world.refusalOf(call.by, name, args)).toBe("AccessManagerNotScheduled");
    expect((await world.schedule("stranger", name, args)).status).toBe("reverted");
    expect((await world.schedule(call.by, name, args)).status).toBe("success");
    await pass(delayOf(name) - 60);
    expect(await world.refusalOf(call.by, name, args)).toBe("AccessManagerNotReady");
    await pass(60);
    expect((await world.act(call.by, name, args)).status).toBe("success");
    expect(await world.refusalOf(call.by, name, args)).toBe("AccessManagerNotScheduled");
  });

  test.each(DELAYED)("%s can be cancelled by the guardian, who cannot schedule it", async (name) => {
    const call = PRIVILEGED[name];
    if (!call) throw new Error(name);
    const args = await call.args(world, await settled(world));
    await world.schedule(call.by, name, args);
    for (const person of ["stranger", "consumer", "wallet"] as const)
      expect((await world.cancel(person, call.by, name, args)).status).toBe("reverted");
    expect((await world.schedule("guardian", name, args)).status).toBe("reverted");
    expect((await world.cancel("guardian", call.by, name, args)).status).toBe("success");
    await pass(delayOf(name) + 60);
    expect(await world.refusalOf(call.by, name, args)).toBe("AccessManagerNotScheduled");
  });

  test.each(DELAYED)("%s can be cancelled by its scheduler, and then waits its whole delay again", async (name) => {
    const call = PRIVILEGED[name];
    if (!call) throw new Error(name);
    const args = await call.args(world, await settled(world));
    await world.schedule(call.by, name, args);
    await pass(delayOf(name) - 60);
    expect((await world.cancel(call.by, call.by, name, args)).status).toBe("success");
    await world.schedule(call.by, name, args);
    await pass(60);
    expect(await world.refusalOf(call.by, name, args)).toBe("AccessManagerNotReady");
    await pass(delayOf(name));
    expect(await world.refusalOf(call.by, name, args)).toBeNull();
  });

  test.each(DELAYED)("%s can be executed until a week after its delay, and then expires", async (name) => {
    const call = PRIVILEGED[name];
    if (!call) throw new Error(name);
    const args = await call.args(world, await settled(world));
    await world.schedule(call.by, name, args);
    await pass(delayOf(name) + 7 * 86_400 - 60);
    expect(await world.refusalOf(call.by, name, args)).toBeNull();
    await pass(120);
    expect(await world.refusalOf(call.by, name, args)).toBe("AccessManagerExpired");
    expect((await world.act(call.by, name, args)).status).toBe("reverted");
  });

  test("the guardian cancels many calls in one transaction, even while payments are paused", async () => {
    const { chain, people } = world;
    const facts = await settled(world);
    await world.act("guardian", "pause", []);
    const names = ["payOut", "setLowThreshold", "setFeeBps"];
    const calls = await Promise.all(
      names.map(async (name) => {
        const { by, args } = PRIVILEGED[name] ?? {};
        if (!by || !args) throw new Error(name);
        return { by, name, args: await args(world, facts) };
      }),
    );
    for (const { by, name, args } of calls) expect((await world.schedule(by, name, args)).status).toBe("success");
    const manager = authorityAbi as Abi;
    const cancels = calls.map(({ by, name, args }) => {
      const data = encodeFunctionData({ abi: settlementAbi as Abi, functionName: name, args });
      const whose = [people[by].address, chain.settlementContract, data];
      return encodeFunctionData({ abi: manager, functionName: "cancel", args: whose });
    });
    const receipt = await world.sendTo("guardian", chain.authority, manager, "multicall", [cancels]);
    expect(receipt.status).toBe("success");
    await pass(DELAYS.wallet + 60);
    for (const { by, name, args } of calls)
      expect([name, await world.refusalOf(by, name, args)]).toEqual([name, "AccessManagerNotScheduled"]);
  });

  test("a scheduled wallet is not set if the present one has moved meanwhile", async () => {
    const { chain, people } = world;
    const args = [PROVIDER, chain.token, people.wallet.address, people.other.address];
    await world.schedule("registrar", "setOperationalWallet", args);
    await world.send("wallet", "moveOperationalWallet", [PROVIDER, chain.token, people.stranger.address]);
    await pass(DELAYS.wallet + 60);
    expect(await world.refusalOf("registrar", "setOperationalWallet", args)).toBe("WalletDiffers");
  });

  test("a scheduled low threshold is not set if the present one has changed meanwhile", async () => {
    const args = [PROVIDER, world.chain.token, THRESHOLD, 0n];
    await world.schedule("registrar", "setLowThreshold", args);
    await world.act("registrar", "setThreshold", [PROVIDER, world.chain.token, THRESHOLD - 1n]);
    await pass(DELAYS.wallet + 60);
    expect(await world.refusalOf("registrar", "setLowThreshold", args)).toBe("InvalidThreshold");
  });

  test("only one of two scheduled wallets is set", async () => {
    const { chain, people } = world;
    const change = (to: Person) => [PROVIDER, chain.token, people.wallet.address, people[to].address];
    await world.schedule("registrar", "setOperationalWallet", change("other"));
    await world.schedule("registrar", "setOperationalWallet", change("stranger"));
    await pass(DELAYS.wallet + 60);
    expect((await world.act("registrar", "setOperationalWallet", change("other"))).status).toBe("success");
    expect(await world.refusalOf("registrar", "setOperationalWallet", change("stranger"))).toBe("WalletDiffers");
  });

  test("only one of two scheduled awards of a settlement is executed, and the next award has to name it", async () => {
    const facts = await settled(world);
    const awards = [300_000n, 400_000n] as const;
    for (const amount of awards) await world.schedule("arbiter", "payOut", [facts, amount]);
    const next = [{ ...facts, paidOut: awards[0] }, awards[1]];
    await world.schedule("arbiter", "payOut", next);
    await pass(DELAYS.payOut + 60);
    expect(await world.refusalOf("arbiter", "payOut", next)).toBe("UnknownSettlement");
    expect((await world.act("arbiter", "payOut", [facts, awards[0]])).status).toBe("success");
    expect(await world.refusalOf("arbiter", "payOut", [facts, awards[1]])).toBe("UnknownSettlement");
    expect((await world.act("arbiter", "payOut", next)).status).toBe("success");
    const spent = awards[0] + awards[1];
    expect(await vaultBalance(world)).toBe(999_500n - spent);
    expect(await world.balance(facts.refundTo)).toBe(990n * UNIT + spent);
  });

  test("registrations, thresholds, reserves and the pause do not wait", async () => {
    const facts = await settled(world);
    for (const name of ["registerProvider", "setThreshold", "setReserve", "pause"]) {
      const call = PRIVILEGED[name];
      if (!call) throw new Error(name);
      const receipt = await world.act(call.by, name, await call.args(world, facts));
      expect([name, receipt.status, eventsOf(receipt).length]).toEqual([name, "success", 1]);
    }
  });
});
