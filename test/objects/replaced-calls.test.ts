// Tests calls that are no longer wanted while they wait for their block (CHN-15), and counts that are not believed (CHN-16). Only this file uses
// the network `lab-replaced`.
import { encodeFunctionData } from "viem/utils";
import { describe, expect, it } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { MINUTE_MS } from "../../src/core/limits.ts";
import { tendSigner } from "../../src/objects/signers.ts";
import { account, asRole, chainOf, spoil } from "../support/chain.ts";
import { REGISTRAR } from "../support/lab.ts";
import { ageDoubt, ageSent, keptHashes } from "../support/signer.ts";
import { env } from "../support/world.ts";
import { type Asked, outcome, soon, useSigner } from "./support.ts";

const LAB = "lab-replaced";
const { lab, mine, signer, registration, submit, submitted, tend, count, transaction, isMined } = useSigner(LAB);

describe("another call for a purpose whose first call waits", () => {
  const toOther = ({ key }: Asked, wallet = account(7)) => ({ key, call: registration(didOf(key), wallet).call });
  const didOf = (key: string) => key.slice("provider_split:".length);

  it("replaces the first under its nonce, so that only the new call is mined", async () => {
    await lab("evm_setAutomine", false);
    const asked = registration();
    const before = await count("latest");
    const old = await submitted(asked);
    const { maxFeePerGas, nonce } = await transaction(old);
    const other = toOther(asked);
    const hash = await submitted(other);
    const replacing = await transaction(hash);
    expect([replacing.nonce, replacing.input]).toEqual([nonce, other.call.data]);
    expect(BigInt(replacing.maxFeePerGas)).toBeGreaterThanOrEqual((BigInt(maxFeePerGas) * 9n) / 8n);
    // A repeated request returns the same transaction.
    expect(await submitted(other)).toBe(hash);
    await mine();
    expect([await isMined(old), await isMined(hash)]).toEqual([false, true]);
    expect(await count("latest")).toBe(before + 1);
  });

  it("leaves the first in place and waits for it, if it is submitted that way", async () => {
    await lab("evm_setAutomine", false);
    const asked = registration();
    const hash = await submitted(asked);
    const { key, call } = toOther(asked);
    expect(await signer.submit(key, call, "behind", soon())).toEqual(outcome({ state: "submitted", txHash: hash }));
    await mine();
    expect(await isMined(hash)).toBe(true);
  });

  it("withdraws the first even if the contract refuses the new call", async () => {
    await lab("evm_setAutomine", false);
    const asked = registration();
    const old = await submitted(asked);
    const refused = toOther(asked, chainOf(LAB).settlement_contract);
    expect(await submit(refused)).toEqual(outcome({ state: "refused", reason: "InvalidWallet" }));
    await mine();
    expect(await isMined(old)).toBe(false);
  });

  it("is not sent if the first was mined meanwhile, and the caller plans again", async () => {
    const asked = registration();
    const hash = await submitted(asked);
    await mine();
    const before = await count("pending");
    expect(await submit(toOther(asked))).toEqual(outcome({ state: "mined", txHash: hash }));
    expect(await count("pending")).toBe(before);
  });

  it("waits while fees are above the bound, and the first stays as it is", async () => {
    await lab("evm_setAutomine", false);
    const asked = registration();
    const hash = await submitted(asked);
    const block = await lab("eth_getBlockByNumber", "latest", false);
    const dear = { ...block, baseFeePerGas: "0x1784389e00" };
    await spoil(LAB, { method: "eth_getBlockByNumber", times: 9, how: "answer", result: dear });
    expect(await submit(toOther(asked))).toEqual(outcome({ state: "waiting", reason: "fee_above_bound" }));
    expect(await signer.withdraw(asked.key, soon())).toEqual(outcome({ state: "waiting", reason: "fee_above_bound" }));
    await mine();
    expect(await isMined(hash)).toBe(true);
  });

  it("may be no call at all: an empty transfer replaces the first, and then nothing waits", async () => {
    await lab("evm_setAutomine", false);
    const asked = registration();
    const old = await submitted(asked);
    const withdrawn = await signer.withdraw(asked.key, soon());
    if (!withdrawn.ok || withdrawn.value.state !== "submitted") throw new Error(JSON.stringify(withdrawn));
    const { txHash } = withdrawn.value;
    expect(await transaction(txHash)).toMatchObject({ input: "0x", to: REGISTRAR.toLowerCase(), value: "0x0" });
    expect(await signer.withdraw(asked.key, soon())).toEqual(withdrawn);
    await mine();
    expect([await isMined(old), await isMined(txHash)]).toEqual([false, true]);
    expect(await signer.withdraw(asked.key, soon())).toEqual(outcome({ state: "mined", txHash }));
    expect(await signer.withdraw(asked.key, soon())).toEqual({ ok: true, value: { state: "clear" } });
  });

  it("is the only call that is mined if a reorg left two waiting", async () => {
    const asked = registration();
    const key = asked.key;
    const { token } = chainOf(LAB);
    const threshold = (units: bigint): Asked => {
      const args = [hashDid(didOf(key)), token as `0x${string}`, units] as const;
      const data = encodeFunctionData({ abi: settlementAbi, functionName: "setThreshold", args });
      return { key, call: { network: LAB, ...asRole(LAB, data) } };
    };
    const inBlock = async (one: Asked): Promise<string> => {
      const hash = await submitted(one);
      await mine();
      await tend();
      return hash;
    };
    await lab("evm_setAutomine", false);
    await inBlock(asked);
    const first = await inBlock(threshold(8_000_000n));
    const second = await inBlock(threshold(9_000_000n));
    await lab("anvil_rollback", 2);
    expect(await tend()).toMatchObject({ waiting: 2 });
    expect(await submitted(threshold(8_000_000n))).toBe(first);
    await mine();
    expect([await isMined(first), await isMined(second)]).toEqual([true, false]);
  });
});

describe("a node that counts far too few or too many transactions", () => {
  const bad = { ok: false, error: { kind: "chain_unavailable", reason: "bad_answer" } };
  const countOnce = (result: string) =>
    spoil(LAB, { method: "eth_getTransactionCount", times: 1, how: "answer", result });
  const look = () => tendSigner(env, "registrar", LAB);

  it("does not make the signer forget a waiting transaction or reuse its nonce, if it does so once", async () => {
    const before = await count("latest");
    await lab("anvil_setNonce", REGISTRAR, "0x64");
    // This is far above the last count, so it is believed only after a minute.
    expect(await look()).toMatchObject(bad);
    await ageDoubt(LAB, MINUTE_MS);
    expect(await look()).toMatchObject({ ok: true });
    await lab("evm_setAutomine", false);
    await submitted(registration());
    for (const few of ["0x1", `0x${before.toString(16)}`]) {
      await countOnce(few);
      expect(await look()).toMatchObject(bad);
      await ageSent(LAB, MINUTE_MS + 1);
      await ageDoubt(LAB, MINUTE_MS);
      expect(await look()).toMatchObject({ ok: true, value: { waiting: 1 } });
    }
    const other = await submitted(registration());
    expect(Number((await transaction(other)).nonce)).toBe(101);
    await mine();
    expect(await count("latest")).toBe(102);
  });

  it("does not cause a gap before a call's nonce, if it does so once", async () => {
    const before = await count("latest");
    const asked = registration();
    await countOnce("0x2710");
    expect(await submit(asked)).toMatchObject(bad);
    const hash = await submitted(asked);
    expect(Number((await transaction(hash)).nonce)).toBe(before);
  });

  it("is believed after a minute, and transactions far above its count are dropped, because the chain was reset", async () => {
    await lab("evm_setAutomine", false);
    const hash = await submitted(registration());
    await lab("anvil_dropTransaction", hash);
    const reset = { method: "eth_getTransactionCount", times: 99, how: "answer", result: "0x1" } as const;
    await spoil(LAB, reset);
    expect(await look()).toMatchObject(bad);
    expect(await look()).toMatchObject(bad);
    expect(await keptHashes(LAB)).toContain(hash);
    await ageDoubt(LAB, MINUTE_MS);
    expect(await look()).toMatchObject({ ok: true });
    expect(await keptHashes(LAB)).not.toContain(hash);
    await spoil(LAB);
    await look();
    await ageDoubt(LAB, MINUTE_MS);
  });
});
