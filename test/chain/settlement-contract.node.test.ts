// The settlement contract: payments, providers and deposits (CHN-1 to CHN-5).
import { type Abi, decodeEventLog, type Hex, toFunctionSelector } from "viem";
import { describe, expect, test } from "vitest";
import { receiptOf } from "../../scripts/chain/client.ts";
import { artifacts } from "../../scripts/chain/deploy.ts";
import { settlementAbi } from "../../src/chain/contracts/abi.ts";
import {
  CONSUMER,
  eventsOf,
  INTENT,
  OTHER_PROVIDER,
  PROVIDER,
  pay,
  THRESHOLD,
  UNIT,
  useWorld,
  vaultBalance,
  type World,
  ZERO_ADDRESS,
  ZERO_HASH,
} from "./support.ts";

let world: World;
let token: Hex;

useWorld((built) => {
  world = built;
  token = built.chain.token;
});

describe("paying", () => {
  test("pay has the selector that AEA/P clients call", () => {
    expect(toFunctionSelector("pay(address,uint256,bytes32,bytes32)")).toBe("0x8edb6743");
    expect(settlementAbi.find((entry) => "name" in entry && entry.name === "pay")).toMatchObject({
      inputs: [{ type: "address" }, { type: "uint256" }, { type: "bytes32" }, { type: "bytes32" }],
    });
  });

  test("a payment is split into 5 bps fee, 10 % of the net for escrow, and the rest", async () => {
    const { consumer, feeRecipient, wallet } = world.people;
    const receipt = await pay(world, 10n * UNIT);
    expect(receipt.status).toBe("success");
    expect(await world.balance(feeRecipient.address)).toBe(5_000n);
    expect(await vaultBalance(world)).toBe(999_500n);
    expect(await world.balance(wallet.address)).toBe(8_995_500n);
    expect(await world.balance(consumer.address)).toBe(990n * UNIT);
    expect(await world.balance(world.chain.settlementContract)).toBe(0n);
  });

  test("Settled has the published signature, intentHash zero for pay, and the numbering event right behind it", async () => {
    const receipt = await pay(world, 10n * UNIT);
    const [settled, recorded] = eventsOf(receipt);
    expect(settled).toMatchObject({
      eventName: "Settled",
      args: {
        providerDidHash: PROVIDER,
        consumerDidHash: CONSUMER,
        intentHash: ZERO_HASH,
        token,
        payer: world.people.consumer.address,
        gross: 10n * UNIT,
        fee: 5_000n,
        escrow: 999_500n,
        operational: 8_995_500n,
      },
    });
    expect(recorded).toMatchObject({
      eventName: "SettlementRecorded",
      args: {
        settlementId: 1n,
        providerDidHash: PROVIDER,
        payer: world.people.consumer.address,
        token,
        vaultBalance: 999_500n,
      },
    });
    expect(recorded?.logIndex).toBe((settled?.logIndex ?? 0) + 1);
    // Three indexed hashes, then six words: decoded here by its text, independently of the generated ABI.
    const published = {
      type: "event",
      name: "Settled",
      inputs: [
        ...["providerDidHash", "consumerDidHash", "intentHash"].map((name) => ({
          name,
          type: "bytes32",
          indexed: true,
        })),
        ...["token", "payer"].map((name) => ({ name, type: "address", indexed: false })),
        ...["gross", "fee", "escrow", "operational"].map((name) => ({ name, type: "uint256", indexed: false })),
      ],
    };
    const log = receipt.logs.find(({ logIndex }) => logIndex === settled?.logIndex);
    expect(log && decodeEventLog({ abi: [published] as Abi, data: log.data, topics: log.topics })).toMatchObject({
      eventName: "Settled",
    });
  });

  test("payIntent carries the intent's hash, and settlements are numbered from 1 on", async () => {
    await pay(world, UNIT);
    const [settled, recorded] = eventsOf(
      await world.send("consumer", "payIntent", [token, UNIT, PROVIDER, CONSUMER, INTENT]),
    );
    expect(settled?.args).toMatchObject({ intentHash: INTENT, gross: UNIT });
    expect(recorded?.args).toMatchObject({ settlementId: 2n });
    expect(await world.read("settlementCount")).toBe(2n);
    expect(await world.read("settlementOf", [2n])).toEqual({
      providerDidHash: PROVIDER,
      token,
      gross: UNIT,
      payer: world.people.consumer.address,
      paidOut: 0n,
    });
  });

  test("escrow stops at the threshold, and everything above is operational", async () => {
    await world.mint(await world.vault(PROVIDER), THRESHOLD - 7n);
    const [settled] = eventsOf(await pay(world, 10n * UNIT));
    expect(settled?.args).toMatchObject({ escrow: 7n, operational: 10n * UNIT - 5_000n - 7n });
    expect(eventsOf(await pay(world, 10n * UNIT))[0]?.args).toMatchObject({
      escrow: 0n,
      operational: 10n * UNIT - 5_000n,
    });
  });

  test("one base unit goes to the operational wallet whole", async () => {
    expect(eventsOf(await pay(world, 1n))[0]?.args).toMatchObject({ gross: 1n, fee: 0n, escrow: 0n, operational: 1n });
  });

  test("quote returns the split that pay makes", async () => {
    expect(await world.read("quote", [token, 10n * UNIT, PROVIDER])).toEqual([5_000n, 999_500n, 8_995_500n]);
  });

  test.each([
    ["a zero amount", "ZeroAmount", () => [token, 0n, PROVIDER, CONSUMER]],
    ["an unknown provider", "UnknownProvider", () => [token, UNIT, OTHER_PROVIDER, CONSUMER]],
    ["an unlisted token", "UnknownToken", () => [world.people.other.address, UNIT, PROVIDER, CONSUMER]],
    ["a zero provider hash", "ZeroHash", () => [token, UNIT, ZERO_HASH, CONSUMER]],
    ["a zero consumer hash", "ZeroHash", () => [token, UNIT, PROVIDER, ZERO_HASH]],
    ["more than the payer has", "ERC20InsufficientBalance", () => [token, 1_001n * UNIT, PROVIDER, CONSUMER]],
  ])("pay refuses %s", async (_, error, args) => {
    // A token's own error is not in our ABI: there the selector is enough.
    const name = await world.refusal("consumer", "pay", args());
    expect(name).toBe(error === "ERC20InsufficientBalance" ? "0xe450d38c" : error);
    expect((await world.send("consumer", "pay", args())).status).toBe("reverted");
    expect(await vaultBalance(world)).toBe(0n);
  });

  test("payIntent refuses a zero intent", async () => {
    expect(await world.refusal("consumer", "payIntent", [token, UNIT, PROVIDER, CONSUMER, ZERO_HASH])).toBe("ZeroHash");
  });

  test("pay needs the payer's own allowance", async () => {
    await world.mint(world.people.stranger.address, UNIT);
    expect((await world.send("stranger", "pay", [token, UNIT, PROVIDER, CONSUMER])).status).toBe("reverted");
  });

  test("a delisted token is taken no more", async () => {
    await world.send("admin", "setTokenAllowed", [token, false]);
    expect(await world.refusal("consumer", "pay", [token, UNIT, PROVIDER, CONSUMER])).toBe("UnknownToken");
  });
});

describe("registering a provider", () => {
  const register = (wallet: Hex, threshold = THRESHOLD, provider: Hex = OTHER_PROVIDER) =>
    [provider, token, wallet, threshold] as const;

  test("makes the vault at the address that was known before", async () => {
    const predicted = await world.vault(OTHER_PROVIDER);
    expect(await world.client.getCode({ address: predicted })).toBeUndefined();
    const receipt = await world.send("registrar", "registerProvider", register(world.people.other.address));
    expect(eventsOf(receipt)[0]).toMatchObject({
      eventName: "ProviderRegistered",
      args: { vault: predicted, operationalWallet: world.people.other.address, threshold: THRESHOLD },
    });
    expect(await world.client.getCode({ address: predicted })).toMatch(/^0x/);
    expect(await world.read("splitOf", [OTHER_PROVIDER, token])).toEqual([world.people.other.address, THRESHOLD]);
  });

  test("the same again changes nothing, other values are refused", async () => {
    const { other, stranger } = world.people;
    await world.send("registrar", "registerProvider", register(other.address));
    const again = await world.send("registrar", "registerProvider", register(other.address));
    expect([again.status, again.logs]).toEqual(["success", []]);
    for (const args of [register(stranger.address), register(other.address, 1n)]) {
      expect(await world.refusal("registrar", "registerProvider", args)).toBe("ProviderExists");
    }
  });

  test("two providers have two vaults, and a second token shares the provider's vault", async () => {
    expect(await world.vault(PROVIDER)).not.toBe(await world.vault(OTHER_PROVIDER));
    const second = await deployToken();
    await world.send("admin", "setTokenAllowed", [second, true]);
    const args = [PROVIDER, second, world.people.other.address, 5n];
    expect((await world.send("registrar", "registerProvider", args)).status).toBe("success");
    expect(await world.read("splitOf", [PROVIDER, second])).toEqual([world.people.other.address, 5n]);
    expect(await world.read("splitOf", [PROVIDER, token])).toEqual([world.people.wallet.address, THRESHOLD]);
  });

  test("refuses a zero hash, a zero wallet, the vault or the contract as wallet, an unlisted token, a huge threshold", async () => {
    const { other, stranger } = world.people;
    const refusal = (args: readonly unknown[]) => world.refusal("registrar", "registerProvider", args);
    expect(await refusal(register(other.address, 1n, ZERO_HASH))).toBe("ZeroHash");
    expect(await refusal(register(ZERO_ADDRESS))).toBe("ZeroAddress");
    expect(await refusal(register(await world.vault(OTHER_PROVIDER)))).toBe("InvalidWallet");
    expect(await refusal(register(world.chain.settlementContract))).toBe("InvalidWallet");
    expect(await refusal([OTHER_PROVIDER, stranger.address, other.address, 1n])).toBe("UnknownToken");
    expect(await refusal(register(other.address, 2n ** 96n))).toBe("SafeCastOverflowedUintDowncast");
  });

  test("threshold and wallet are set for later payments", async () => {
    const { stranger } = world.people;
    await world.send("registrar", "setThreshold", [PROVIDER, token, 0n]);
    await world.send("registrar", "setOperationalWallet", [PROVIDER, token, stranger.address]);
    expect(eventsOf(await pay(world, UNIT))[0]?.args).toMatchObject({ escrow: 0n, operational: UNIT - 500n });
    expect(await world.balance(stranger.address)).toBe(UNIT - 500n);
  });

  test("the setters refuse an unknown provider and an impossible wallet", async () => {
    const { other } = world.people;
    expect(await world.refusal("registrar", "setThreshold", [OTHER_PROVIDER, token, 1n])).toBe("UnknownProvider");
    const setWallet = (provider: Hex, wallet: Hex) =>
      world.refusal("registrar", "setOperationalWallet", [provider, token, wallet]);
    expect(await setWallet(OTHER_PROVIDER, other.address)).toBe("UnknownProvider");
    expect(await setWallet(PROVIDER, ZERO_ADDRESS)).toBe("ZeroAddress");
    expect(await setWallet(PROVIDER, await world.vault(PROVIDER))).toBe("InvalidWallet");
  });
});

describe("pre-funding", () => {
  test("anyone deposits into a vault", async () => {
    const receipt = await world.send("consumer", "depositEscrow", [PROVIDER, token, 15n * UNIT]);
    expect(eventsOf(receipt)[0]).toMatchObject({
      eventName: "EscrowDeposited",
      args: {
        providerDidHash: PROVIDER,
        token,
        from: world.people.consumer.address,
        amount: 15n * UNIT,
        vaultBalance: 15n * UNIT,
      },
    });
    expect(await world.read("escrowBalance", [PROVIDER, token])).toBe(15n * UNIT);
    expect(eventsOf(await pay(world, UNIT))[0]?.args).toMatchObject({ escrow: 0n });
  });

  test("refuses nothing, an unknown provider and an unlisted token", async () => {
    const refusal = (args: readonly unknown[]) => world.refusal("consumer", "depositEscrow", args);
    expect(await refusal([PROVIDER, token, 0n])).toBe("ZeroAmount");
    expect(await refusal([OTHER_PROVIDER, token, 1n])).toBe("UnknownProvider");
    expect(await refusal([PROVIDER, world.people.other.address, 1n])).toBe("UnknownToken");
  });
});

async function deployToken(): Promise<Hex> {
  const hash: Hex = await world.client.transport.request({
    method: "eth_sendTransaction",
    params: [{ from: world.people.other.address, data: artifacts.TestUSDC.bytecode, gas: "0x4c4b40" }],
  });
  const receipt = await receiptOf(world.client, hash);
  return receipt.contractAddress ?? ZERO_ADDRESS;
}
