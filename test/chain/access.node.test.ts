// The settlement contract's roles are separate keys (CHN-5 to CHN-7): every role against every restricted function, and
// everybody against the vaults.
import type { Hex } from "viem";
import { describe, expect, test } from "vitest";
import { artifacts } from "../../scripts/chain/deploy.ts";
import { settlementAbi } from "../../src/chain/contracts/abi.ts";
import {
  CONSUMER,
  OTHER_PROVIDER,
  type Person,
  PROVIDER,
  REASON,
  UNIT,
  useWorld,
  type World,
  ZERO_HASH,
} from "./support.ts";

let world: World;
let token: Hex;

useWorld((built) => {
  world = built;
  token = built.chain.token;
});

describe("the roles", () => {
  const role = async (name: string) => world.read<Hex>(name);
  // Every function that not everybody may call, the one role that may, and a call that is good but for the caller.
  const PRIVILEGED: Record<string, { by: Person; args: () => Promise<readonly unknown[]> | readonly unknown[] }> = {
    registerProvider: { by: "registrar", args: () => [OTHER_PROVIDER, token, world.people.other.address, 1n] },
    setThreshold: { by: "registrar", args: () => [PROVIDER, token, 1n] },
    setOperationalWallet: { by: "registrar", args: () => [PROVIDER, token, world.people.other.address] },
    payOut: { by: "arbiter", args: () => [1n, 1n, REASON] },
    releaseEscrow: { by: "admin", args: () => [PROVIDER, token, world.people.wallet.address, 1n] },
    setFeeBps: { by: "admin", args: () => [1n] },
    setFeeRecipient: { by: "admin", args: () => [world.people.other.address] },
    setTokenAllowed: { by: "admin", args: () => [token, false] },
    pause: { by: "admin", args: () => [] },
    unpause: { by: "admin", args: () => [] },
    grantRole: { by: "admin", args: async () => [await role("ARBITER_ROLE"), world.people.other.address] },
    revokeRole: { by: "admin", args: async () => [await role("ARBITER_ROLE"), world.people.arbiter.address] },
    beginDefaultAdminTransfer: { by: "admin", args: () => [world.people.other.address] },
    cancelDefaultAdminTransfer: { by: "admin", args: () => [] },
    changeDefaultAdminDelay: { by: "admin", args: () => [172_800n] },
    rollbackDefaultAdminDelay: { by: "admin", args: () => [] },
  };
  // Called by anybody, for themselves. The last two only ever give the caller's own role up or take an offered one.
  const OPEN = [
    "pay",
    "payIntent",
    "payWithAuthorization",
    "depositEscrow",
    "renounceRole",
    "acceptDefaultAdminTransfer",
  ];
  const CALLERS: readonly Person[] = [
    "admin",
    "registrar",
    "arbiter",
    "consumer",
    "wallet",
    "feeRecipient",
    "stranger",
  ];

  test("every function that changes something is in one of the two tables", () => {
    const writes = settlementAbi.flatMap((entry) =>
      entry.type === "function" && entry.stateMutability !== "view" ? [entry.name] : [],
    );
    expect([...writes].sort()).toEqual([...Object.keys(PRIVILEGED), ...OPEN].sort());
  });

  test.each(Object.entries(PRIVILEGED))("%s is for one role alone", async (name, { by, args }) => {
    await world.send("consumer", "pay", [token, 10n * UNIT, PROVIDER, CONSUMER]);
    await world.mint(await world.vault(PROVIDER), 100n * UNIT);
    if (name === "unpause") await world.send("admin", "pause", []);
    const values = await args();
    for (const person of CALLERS) {
      const expected = person === by ? null : "AccessControlUnauthorizedAccount";
      expect([person, await world.refusal(person, name, values)]).toEqual([person, expected]);
    }
  });

  test("nobody takes the admin's role by the ordinary ways", async () => {
    const args = [ZERO_HASH, world.people.stranger.address];
    expect(await world.refusal("admin", "grantRole", args)).toBe("AccessControlEnforcedDefaultAdminRules");
    expect(await world.refusal("stranger", "acceptDefaultAdminTransfer", [])).toBe("AccessControlInvalidDefaultAdmin");
  });

  test("nobody gives up another's role", async () => {
    const args = [await role("ARBITER_ROLE"), world.people.arbiter.address];
    expect(await world.refusal("stranger", "renounceRole", args)).toBe("AccessControlBadConfirmation");
  });
});

describe("a vault", () => {
  test.each(["admin", "registrar", "arbiter", "consumer", "wallet", "stranger"] as const)(
    "releases nothing to %s, nor does the code it is a clone of",
    async (person) => {
      const vault = await world.vault(PROVIDER);
      await world.mint(vault, UNIT);
      const args = [token, world.people[person].address, UNIT];
      for (const address of [vault, world.chain.vaultImplementation]) {
        const refusal = await world.refusalAt(person, address, artifacts.EscrowVault.abi, "release", args);
        expect(refusal).toBe("NotSettlementContract");
      }
    },
  );

  test("takes its settlement contract from its code", async () => {
    const vault = { address: await world.vault(PROVIDER), abi: artifacts.EscrowVault.abi };
    expect(await world.client.readContract({ ...vault, functionName: "settlementContract" })).toBe(
      world.chain.settlementContract,
    );
    const code = await world.client.getCode({ address: vault.address });
    expect(code?.toLowerCase()).toContain(world.chain.vaultImplementation.slice(2).toLowerCase());
  });
});
