// Tests that sent transactions reach a block whatever the node does (CHN-15 to CHN-18): it loses answers, forgets transactions, refuses bytes,
// requires other fees and undoes blocks. Only this file uses the network `lab-signer`.
import { encodeFunctionData } from "viem/utils";
import { afterEach, describe, expect, it } from "vitest";
import { tokenAbi } from "../../scripts/chain/abi.ts";
import { deriveAddress } from "../../src/chain/sign.ts";
import { SECOND_MS } from "../../src/core/limits.ts";
import { createSigner } from "../../src/objects/signers.ts";
import { account, chainOf, spoil } from "../support/chain.ts";
import { REGISTRAR, RICH } from "../support/lab.ts";
import { ageSent, insteadOfPauses, keptHashes, replaceKey } from "../support/signer.ts";
import { env } from "../support/world.ts";
import { type Asked, nextDid, outcome, soon, useSigner } from "./support.ts";

const LAB = "lab-signer";
/** A failed request is tried once more. */
const ATTEMPTS = 2;
const { lab, mine, registration, submit, submitted, tend, count, transaction, isMined } = useSigner(LAB);
const unheard = { ok: false, error: { kind: "chain_unavailable" } };

describe("a signer whose node loses an answer", () => {
  it("returns the hash of a transaction that the node took when the same call is repeated, and sends nothing else", async () => {
    await lab("evm_setAutomine", false);
    const asked = registration();
    const before = await count("latest");
    await spoil(LAB, { method: "eth_sendRawTransaction", times: ATTEMPTS, how: "lose_answer" });
    expect(await submit(asked)).toMatchObject(unheard);
    const hash = await submitted(asked);
    expect(await count("pending")).toBe(before + 1);
    await mine();
    expect(await isMined(hash)).toBe(true);
    expect(await count("latest")).toBe(before + 1);
  });

  it("sends bytes that never arrived again, and the transaction that was sent after them is mined too", async () => {
    const [first, second] = [registration(), registration()];
    const before = await count("latest");
    await spoil(LAB, { method: "eth_sendRawTransaction", times: ATTEMPTS, how: "lose" });
    expect(await submit(first)).toMatchObject(unheard);
    const behind = await submitted(second);
    expect(await isMined(behind)).toBe(false);
    await ageSent(LAB, 10 * SECOND_MS);
    expect(await tend()).toMatchObject({ reason: null });
    await mine();
    expect(await isMined(behind)).toBe(true);
    expect(await count("latest")).toBe(before + 2);
    expect(await tend()).toMatchObject({ waiting: 0, oldestSentAt: null });
  });

  it("uses the nonce of bytes that the node then refuses for good otherwise, so that no later transaction hangs", async () => {
    const [first, second] = [registration(), registration()];
    const before = await count("latest");
    const refuse = { method: "eth_sendRawTransaction", how: "refuse", message: "invalid transaction" } as const;
    await spoil(LAB, { method: "eth_sendRawTransaction", times: ATTEMPTS, how: "lose" });
    expect(await submit(first)).toMatchObject(unheard);
    const behind = await submitted(second);
    await ageSent(LAB, 10 * SECOND_MS);
    await spoil(LAB, { ...refuse, times: 1 });
    expect(await tend()).toMatchObject({ reason: null });
    await mine();
    expect(await isMined(behind)).toBe(true);
    expect(await count("latest")).toBe(before + 2);
    // The call itself was never made, so it is sent when it is requested again.
    const again = await submitted(first);
    await mine();
    expect(await isMined(again)).toBe(true);
  });
});

describe("a transaction that the pool has lost", () => {
  it("is sent again with the same bytes under the same nonce", async () => {
    await lab("evm_setAutomine", false);
    const asked = registration();
    const hash = await submitted(asked);
    await lab("anvil_dropTransaction", hash);
    expect(await transaction(hash)).toBeNull();
    await tend();
    expect(await transaction(hash)).toBeNull();
    await ageSent(LAB, 10 * SECOND_MS);
    await tend();
    expect(await transaction(hash)).not.toBeNull();
    await mine();
    expect(await isMined(hash)).toBe(true);
  });

  it("is also sent again when the same call is requested again", async () => {
    await lab("evm_setAutomine", false);
    const asked = registration();
    const hash = await submitted(asked);
    await lab("anvil_dropTransaction", hash);
    await ageSent(LAB, 10 * SECOND_MS);
    expect(await submitted(asked)).toBe(hash);
    await mine();
    expect(await isMined(hash)).toBe(true);
  });

  it("is mined again after a reorg removed its block", async () => {
    await lab("evm_setAutomine", false);
    const hash = await submitted(registration());
    await mine();
    expect(await isMined(hash)).toBe(true);
    await tend();
    await lab("anvil_rollback", 1);
    expect(await isMined(hash)).toBe(false);
    await ageSent(LAB, 10 * SECOND_MS);
    await tend();
    await mine();
    expect(await isMined(hash)).toBe(true);
  });

  it("is forgotten once its block is a quarter of an hour old", async () => {
    const hash = await submitted(registration());
    await mine();
    expect(await isMined(hash)).toBe(true);
    await tend();
    expect(await keptHashes(LAB)).toContain(hash);
    await ageSent(LAB, 15 * 60 * SECOND_MS + 1);
    await tend();
    expect(await keptHashes(LAB)).toEqual([]);
  });
});

describe("a signer's call", () => {
  it("is one transaction when it is made ten times at once", async () => {
    await lab("evm_setAutomine", false);
    const asked = registration();
    const before = await count("latest");
    const hashes = await Promise.all(Array.from({ length: 10 }, () => submitted(asked)));
    expect(new Set(hashes).size).toBe(1);
    expect(await count("pending")).toBe(before + 1);
  });

  it("has a nonce of its own when others are made at once, and all are mined", async () => {
    const hashes = await Promise.all(Array.from({ length: 10 }, () => submitted(registration())));
    await mine();
    expect(new Set(hashes).size).toBe(10);
    for (const hash of hashes) expect(await isMined(hash)).toBe(true);
  });

  it("takes the next nonce if another user of the same key has used the first one", async () => {
    const asked = registration();
    await spoil(LAB, {
      method: "eth_getTransactionCount",
      times: 1,
      how: "answer",
      result: `0x${((await count("latest")) - 1).toString(16)}`,
    });
    const hash = await submitted(asked);
    await mine();
    expect(await isMined(hash)).toBe(true);
  });

  it("takes the next nonce if a transaction of another user of the same key waits for its block", async () => {
    await lab("evm_setAutomine", false);
    const before = await count("latest");
    const fee = `0x${(10n ** 12n).toString(16)}`;
    const theirs = { from: REGISTRAR, to: account(1), maxFeePerGas: fee, maxPriorityFeePerGas: fee };
    const other = await lab("eth_sendTransaction", theirs);
    await insteadOfPauses(LAB, () => mine());
    const hash = await submitted(registration());
    expect([Number((await transaction(other)).nonce), Number((await transaction(hash)).nonce)]).toEqual([
      before,
      before + 1,
    ]);
    await mine();
    expect(await isMined(hash)).toBe(true);
  });

  it("is not sent if the contract refuses it, and the refusal names the contract's error", async () => {
    const did = nextDid();
    await submitted(registration(did));
    await mine();
    await tend();
    const before = await count("pending");
    const other = registration(did, account(7));
    expect(await submit(other)).toEqual(outcome({ state: "refused", reason: "ProviderExists" }));
    expect(await count("pending")).toBe(before);
  });
});

describe("a transaction's fee", () => {
  const gwei = (n: number) => `0x${BigInt(Math.round(n * 1e9)).toString(16)}`;

  it("is raised by at least an eighth if it is too low to be mined, and later transactions are mined", async () => {
    await lab("evm_setAutomine", false);
    const [first, second] = [registration(), registration()];
    const low = await submitted(first);
    const { maxFeePerGas, nonce: taken } = await transaction(low);
    // Blocks become more expensive than it pays.
    await lab("anvil_setNextBlockBaseFeePerGas", `0x${(BigInt(maxFeePerGas) + 1n).toString(16)}`);
    await mine();
    expect(await isMined(low)).toBe(false);
    const behind = await submitted(second);
    await ageSent(LAB, 61 * SECOND_MS);
    expect(await tend()).toMatchObject({ waiting: 2 });
    const replaced = await submitted(first);
    expect(replaced).not.toBe(low);
    const { maxFeePerGas: raised, nonce } = await transaction(replaced);
    expect(BigInt(raised)).toBeGreaterThanOrEqual((BigInt(maxFeePerGas) * 9n) / 8n);
    expect(nonce).toBe(taken);
    await mine();
    expect(await isMined(replaced)).toBe(true);
    await ageSent(LAB, 61 * SECOND_MS);
    await tend();
    await mine(2);
    const hash = await submitted(second);
    expect((await isMined(behind)) || (await isMined(hash))).toBe(true);
  });

  it("includes the tip that the node suggests, up to the network's bound", async () => {
    await lab("evm_setAutomine", false);
    await spoil(LAB, { method: "eth_maxPriorityFeePerGas", times: 9, how: "answer", result: gwei(5_000) });
    const { maxPriorityFeePerGas, maxFeePerGas } = await transaction(await submitted(registration()));
    expect(BigInt(maxPriorityFeePerGas)).toBe(5_000_000_000n);
    expect(BigInt(maxFeePerGas)).toBeLessThanOrEqual(100_000_000_000n);
  });

  it("is not paid above the bound: nothing is sent, and the call is reported as waiting", async () => {
    await lab("evm_setAutomine", false);
    const waiting = await submitted(registration());
    const block = await lab("eth_getBlockByNumber", "latest", false);
    const dear = { ...block, baseFeePerGas: gwei(101) };
    await spoil(LAB, { method: "eth_getBlockByNumber", times: 9, how: "answer", result: dear });
    const before = await count("pending");
    expect(await submit(registration())).toEqual(outcome({ state: "waiting", reason: "fee_above_bound" }));
    expect(await count("pending")).toBe(before);
    expect(await transaction(waiting)).not.toBeNull();
  });
});

describe("an empty gas account", () => {
  it("sends nothing and reports that; once it is filled, the call goes through", async () => {
    const asked = registration();
    const before = await count("pending");
    await lab("anvil_setBalance", REGISTRAR, "0x0");
    const empty = outcome({ state: "waiting", reason: "insufficient_gas" });
    expect(await submit(asked)).toEqual(empty);
    expect(await tend()).toMatchObject({ balance: 0n, waiting: 0 });
    await lab("anvil_setBalance", REGISTRAR, "0x1");
    expect(await submit(asked)).toEqual(empty);
    expect(await count("pending")).toBe(before);
    await lab("anvil_setBalance", REGISTRAR, RICH);
    const hash = await submitted(asked);
    await mine();
    expect(await isMined(hash)).toBe(true);
  });
});

describe("a key that replaces another", () => {
  const NEW_KEY = `0x${"5b".repeat(32)}`;
  const address = deriveAddress(NEW_KEY);
  /** A call that any account may make. */
  const approval = (purpose: string): Asked => {
    const { settlement_contract: spender, token: to } = chainOf(LAB);
    const args = [spender as `0x${string}`, 1n] as const;
    return {
      key: purpose,
      call: { network: LAB, to, data: encodeFunctionData({ abi: tokenAbi, functionName: "approve", args }) },
    };
  };
  afterEach(() => replaceKey(LAB, env.CHAIN_REGISTRAR_KEY));

  it("has nonces of its own, and leaves the transactions of the other key as they are", async () => {
    await lab("anvil_setBalance", address, RICH);
    await lab("evm_setAutomine", false);
    const asked = registration();
    const old = await submitted(asked);
    await replaceKey(LAB, NEW_KEY);
    // Even for the same purpose, the waiting transaction of the other key is not its own.
    const hash = await submitted(approval(asked.key));
    expect(hash).not.toBe(old);
    expect(await transaction(hash)).toMatchObject({ from: address.toLowerCase(), nonce: "0x0" });
    await lab("anvil_dropTransaction", old);
    await ageSent(LAB, 10 * SECOND_MS);
    expect(await tend()).toMatchObject({ address, waiting: 1 });
    expect(await transaction(old)).toBeNull();
    await mine();
    expect(await isMined(hash)).toBe(true);
    expect(await tend()).toMatchObject({ address, waiting: 0 });

    await replaceKey(LAB, env.CHAIN_REGISTRAR_KEY);
    await ageSent(LAB, 10 * SECOND_MS);
    expect(await tend()).toMatchObject({ waiting: 1 });
    await mine();
    expect(await isMined(old)).toBe(true);
  });
});

describe("a network that is not configured", () => {
  it("is reported as an error and throws nothing", async () => {
    const elsewhere = createSigner(env, "registrar", "elsewhere");
    const { key, call } = registration();
    expect(await elsewhere.submit(key, call, "instead", soon())).toMatchObject({
      ok: false,
      error: { reason: "unknown_network" },
    });
  });
});
