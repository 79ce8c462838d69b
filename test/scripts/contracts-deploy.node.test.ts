// `npm run contracts:deploy` against local chains with the chain ids of the public ones: the deployed state, the refusals, and that a run may end
// anywhere and be continued by the next (CHN-5 to CHN-7).
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import solc from "solc";
import {
  type Abi,
  concat,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  numberToHex,
  toFunctionSelector,
} from "viem";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { awaitReceipt, sendData } from "../../scripts/chain/client.ts";
import { artifacts, CREATE2_DEPLOYER, encodeCreation, SALT } from "../../scripts/chain/deploy.ts";
import { DELAYS, ROLES } from "../../scripts/chain/roles.ts";
import { readSource, SETTINGS, type StandardInput } from "../../scripts/chain/solidity.ts";
import { parseNetworks } from "../../src/chain/networks.ts";
import { isWhole } from "../support/scale.ts";
import { end, root } from "./commands.ts";
import { entryIn, meddleWith, openPlace, type Place, ROLES_OF, refusal } from "./deployment-support.ts";

const VERIFIED = /^Verified: .* the deployer holds nothing\.$/m;
const TRANSACTIONS = 3;
const EOA = "--allow-eoa-admin";
const CONTRACTS = join(root, "src/chain/contracts");

/** A node that disconnects after the n-th transaction is mined, before it answers. */
async function leaveAfter({ anvil, client }: Place, last: number): Promise<string> {
  let seen = 0;
  const proxy = await meddleWith(anvil.rpcUrl, async ({ method }, pass) => {
    if (method !== "eth_sendRawTransaction" || ++seen < last) return undefined;
    await awaitReceipt(client, JSON.parse(await pass()).result);
    proxy.close();
    return null;
  });
  return proxy.url;
}

async function expectTakenUp(place: Place, args: readonly string[], last: number): Promise<void> {
  const taken = await place.run(args);
  expect(taken.code, taken.output).toBe(0);
  expect(taken.output).toMatch(VERIFIED);
  expect(taken.output.match(/^Sent/gm) ?? []).toHaveLength(TRANSACTIONS - last);
  expect(await place.sent()).toBe(TRANSACTIONS);
  // The addresses depend only on the settings.
  expect(entryIn(taken)["authority"]).toBe(encodeCreation("AccessManager", [place.deployer], SALT).address);
}

const NETWORKS = [
  ["base-sepolia", 84_532, []],
  ["base", 8_453, [EOA]],
] as const;
describe.each(NETWORKS)("on %s", (network, chainId, args) => {
  let place: Place;
  let snapshot: Hex;
  beforeAll(async () => {
    place = await openPlace(network, chainId);
  });
  afterAll(() => place.anvil.stop());
  beforeEach(async () => {
    snapshot = await place.client.snapshot();
  });
  afterEach(() => place.client.revert({ id: snapshot }));

  const roleOf = async (entry: Record<string, unknown>, id: bigint, account: string) =>
    place.client.readContract({
      address: entry["authority"] as Hex,
      abi: authorityAbi,
      functionName: "hasRole",
      args: [id, account as Hex],
    });

  test("a dry run prints the plan, simulates all of it, and sends nothing", async () => {
    const { code, output } = await place.run([...args, "--dry-run"]);
    expect(code, output).toBe(0);
    expect(output).toMatch(
      /^ {2}1\. AccessManager at 0x\w{40}\n {2}2\. SettlementContract at 0x\w{40}\n {2}3\. the roles/m,
    );
    expect(output).toMatch(/^Simulated: 3 to send, \d{7} gas, at most 0\.\d+ ETH/m);
    for (const address of Object.values(ROLES_OF)) expect(output.toLowerCase()).toContain(address);
    expect(await place.sent()).toBe(0);
  });

  test("a complete run sets the roles, the delays and the settings, and a second one sends nothing", async () => {
    const first = await place.run(args);
    expect(first.code, first.output).toBe(0);
    expect(first.output).toMatch(VERIFIED);
    expect(await place.sent()).toBe(TRANSACTIONS);
    // The keys of the service have no gas yet, which is all that is left to do (CHN-31).
    expect(first.output.match(/^Before the service starts: .*$/gm)).toEqual(
      [
        ["registrar", ROLES_OF.REGISTRAR_ADDRESS],
        ["arbiter", ROLES_OF.ARBITER_ADDRESS],
      ].map(([holder, address]) => {
        const account = `${network}: the ${holder}'s account ${address} holds 0.00 for gas`;
        return `Before the service starts: ${account}, less than low_gas_eth 0.01`;
      }),
    );
    const entry = entryIn(first);
    const [parsed] = parseNetworks(JSON.stringify([{ ...entry, rpc_url: place.anvil.rpcUrl }]));
    expect(parsed).toMatchObject({ network, chain_id: chainId, token: place.token, currency: "USDC", decimals: 6 });
    expect(await roleOf(entry, ROLES.ADMIN.id, ROLES_OF.ADMIN_ADDRESS)).toEqual([true, DELAYS.admin]);
    expect(await roleOf(entry, ROLES.OWNER.id, ROLES_OF.OWNER_ADDRESS)).toEqual([true, DELAYS.owner]);
    expect(await roleOf(entry, ROLES.REGISTRAR_DELAYED.id, ROLES_OF.REGISTRAR_ADDRESS)).toEqual([true, DELAYS.wallet]);
    expect(await roleOf(entry, ROLES.ARBITER_DELAYED.id, ROLES_OF.ARBITER_ADDRESS)).toEqual([true, DELAYS.payOut]);
    expect(await roleOf(entry, ROLES.GUARDIAN.id, ROLES_OF.GUARDIAN_ADDRESS)).toEqual([true, 0]);
    expect(await roleOf(entry, 0n, place.deployer)).toEqual([false, 0]);
    const contract = { address: entry["settlement_contract"] as Hex, abi: settlementAbi } as const;
    const base = await place.client.readContract({ ...contract, functionName: "baseOf", args: [place.token] });
    expect(base).toBe(15_000_000n);
    const second = await place.run(args);
    expect([second.code, entryIn(second)]).toEqual([0, entry]);
    expect(second.output).toMatch(VERIFIED);
    expect(second.output).not.toContain("Sent");
    expect(await place.sent()).toBe(TRANSACTIONS);
  });

  test.each([1, 2, 3])("is continued by the next run if the node disconnects after transaction %i", async (last) => {
    const { code } = await place.run(args, { RPC_URL: await leaveAfter(place, last) });
    expect([code, await place.sent()]).toEqual([1, last]);
    await expectTakenUp(place, args, last);
  });

  test("the other network's settings are refused by the chain id", async () => {
    const other = network === "base" ? "base-sepolia" : "base";
    const { code, output } = await place.run([...args, "--network", other]);
    expect([code, output]).toEqual([1, expect.stringContaining(`the node is of chain ${chainId}; ${other} is `)]);
    expect(await place.sent()).toBe(0);
  });
});

describe("the cold keys on base", () => {
  let place: Place;
  beforeAll(async () => {
    place = await openPlace("base", 8_453);
  });
  afterAll(() => place.anvil.stop());

  const [NONE, LENT, CONTRACT] = ["0x", `0xef0100${"12".repeat(20)}`, "0x60006000fd"] as const;
  test.each([
    ["accounts", NONE, NONE, ["owner", "admin"]],
    ["an owner that is an account", NONE, CONTRACT, ["owner"]],
    ["an admin that has lent itself code", CONTRACT, LENT, ["admin"]],
    ["contracts", CONTRACT, CONTRACT, []],
  ] as const)("%s", async (_, owner, admin, refused) => {
    await place.client.setCode({ address: ROLES_OF.OWNER_ADDRESS, bytecode: owner });
    await place.client.setCode({ address: ROLES_OF.ADMIN_ADDRESS, bytecode: admin });
    const { code, output } = await place.run(["--dry-run"]);
    expect(code, output).toBe(refused.length === 0 ? 0 : 1);
    const objections = [...output.matchAll(/^the (\w+) 0x\w{40} is an account .* --allow-eoa-admin accepts it/gm)];
    expect(objections.map(([, name]) => name)).toEqual(refused);
    expect(await place.sent()).toBe(0);
  });
});

describe("on base-sepolia", () => {
  let place: Place;
  let folder: string;
  beforeEach(async () => {
    place = await openPlace("base-sepolia", 84_532);
    folder = mkdtempSync(join(tmpdir(), "explorer-"));
  });
  afterEach(async () => {
    await place.anvil.stop();
    rmSync(folder, { recursive: true });
  });

  test("a pending transaction of a killed run is awaited, and not sent again", async () => {
    await place.client.setAutomine(false);
    const killed = place.start();
    await killed.untilOutput(/Sent 1 of 3/);
    await end(killed, "SIGKILL");
    // The next run polls for pending transactions, and sends none meanwhile.
    let looks = 0;
    const { promise: hasLookedTwice, resolve } = Promise.withResolvers<void>();
    const watched = await meddleWith(place.anvil.rpcUrl, async ({ method, params }) => {
      if (method === "eth_getTransactionCount" && params?.includes("pending") && ++looks === 4) resolve();
      return undefined;
    });
    const next = place.run([], { RPC_URL: watched.url });
    await hasLookedTwice;
    const { deployer: address } = place;
    expect(await place.client.getTransactionCount({ address, blockTag: "pending" })).toBe(1);
    await place.client.mine({ blocks: 1 });
    await place.client.setAutomine(true);
    const { code, output } = await next;
    watched.close();
    expect(code, output).toBe(0);
    expect(output).not.toContain("Sent 1 of 3");
    expect(output).toMatch(VERIFIED);
    expect(await place.sent()).toBe(TRANSACTIONS);
  });

  test("the delays are configurable", async () => {
    const delays = ["--wallet-delay-hours", "1", "--payout-delay-hours", "0", "--admin-delay-hours", "2"];
    const { code, output } = await place.run(delays);
    expect(code, output).toBe(0);
    expect(output).toMatch(/setOperationalWallet, setLowThreshold: after 1 h$/m);
    // A table that differs from the deployed one is reported, and changes nothing.
    const other = await place.run();
    expect([other.code, other.output]).toEqual([
      1,
      expect.stringContaining("REGISTRAR_DELAYED of the registrar is true,3600 and should be true,172800"),
    ]);
    expect(await place.sent()).toBe(TRANSACTIONS);
  });

  test("an account or a function with a role outside the plan is found, even if the node searches only few blocks at once", async () => {
    await place.client.mine({ blocks: 20 });
    const first = encodeCreation("AccessManager", [place.deployer], SALT);
    await sendData(place.anvil.rpcUrl, place.env["DEPLOYER_KEY"] as Hex, CREATE2_DEPLOYER, first.data);
    const given = toFunctionSelector("consumeScheduledOp(address,bytes)");
    const calls: [string, readonly unknown[]][] = [
      ["grantRole", [ROLES.GUARDIAN.id, place.token, 0]],
      ["setTargetFunctionRole", [first.address, [given], ROLES.GUARDIAN.id]],
    ];
    for (const [functionName, args] of calls) {
      const data = encodeFunctionData({ abi: authorityAbi as Abi, functionName, args });
      await sendData(place.anvil.rpcUrl, place.env["DEPLOYER_KEY"] as Hex, first.address, data);
    }
    const proxy = await meddleWith(place.anvil.rpcUrl, async (call) => {
      const [{ fromBlock, toBlock } = {}] = (call.params ?? []) as { fromBlock?: Hex; toBlock?: Hex }[];
      const tooMany = call.method === "eth_getLogs" && Number(toBlock) - Number(fromBlock) > 10;
      return tooMany ? refusal(call, -32_005, "at most 10 blocks") : undefined;
    });
    const { code, output } = await place.run([], { RPC_URL: proxy.url });
    proxy.close();
    expect([code, output]).toEqual([1, expect.stringContaining(`${place.token} has the role 6 and should not`)]);
    expect(output).toContain("the role of consumeScheduledOp is 6 and should be 0");
  });

  test("code that is not the artifact's is found", async () => {
    const entry = entryIn(await place.run());
    const address = entry["settlement_contract"] as Hex;
    const code = (await place.client.getCode({ address })) ?? "0x";
    const last = Number.parseInt(code.slice(-2), 16) ^ 1;
    await place.client.setCode({
      address,
      bytecode: `${code.slice(0, -2)}${numberToHex(last, { size: 1 }).slice(2)}` as Hex,
    });
    const { code: status, output } = await place.run();
    expect([status, output]).toEqual([
      1,
      expect.stringContaining(`the code at ${address} is not that of SettlementContract`),
    ]);
  });

  test("an authority that was handed over with another contract is not changed", async () => {
    await place.run();
    const { code, output } = await place.run(["--fee-recipient", `0x${"b5".repeat(20)}`]);
    expect([code, output]).toEqual([1, expect.stringContaining("was handed over with another contract")]);
    const another = await place.run(["--fee-recipient", `0x${"b5".repeat(20)}`, "--salt", "second"]);
    expect(another.code, another.output).toBe(0);
  });

  test("a deployer without gas money, and a token without code, are refused before anything is sent", async () => {
    const stranger = await place.run(["--token", `0x${"b6".repeat(20)}`]);
    expect([stranger.code, stranger.output]).toEqual([1, expect.stringContaining("has no code on this chain")]);
    // One unit more than is counted in the token's six decimals.
    const large = await place.run(["--base", "9007199254.740992"]);
    expect([large.code, large.output]).toEqual([1, expect.stringContaining("TOKEN_BASE is zero, or too large")]);
    await place.client.setBalance({ address: place.deployer, value: 10n ** 14n });
    const { code, output } = await place.run();
    expect([code, output]).toEqual([1, expect.stringContaining("the deployer has 0.0001 ETH, less than that")]);
    expect(await place.sent()).toBe(0);
  });

  test("a node without eth_simulateV1 simulates the next transaction", async () => {
    const proxy = await meddleWith(place.anvil.rpcUrl, async (call) =>
      call.method === "eth_simulateV1" ? refusal(call, -32_601, "Method not found") : undefined,
    );
    const { code, output } = await place.run([], { RPC_URL: proxy.url });
    proxy.close();
    expect([code, output]).toEqual([0, expect.stringContaining("only the next transaction was simulated")]);
  });

  test("no output repeats the deployer's key or the node's, whatever the node answers", async () => {
    const secret = "s3cr3t-of-the-node";
    const key = place.env["DEPLOYER_KEY"] ?? "";
    let fails = false;
    const proxy = await meddleWith(place.anvil.rpcUrl, async () =>
      fails ? { status: 500, body: JSON.stringify({ message: `http://node/v2/${secret}?k=${key}` }) } : undefined,
    );
    const env = { RPC_URL: `${proxy.url}/v2/${secret}?apikey=${secret}` };
    const good = await place.run([], env);
    expect(good.code, good.output).toBe(0);
    fails = true;
    const bad = await place.run([], env);
    proxy.close();
    const gone = await place.run([], env);
    for (const { code, output } of [bad, gone]) expect([code, output.length > 20]).toEqual([1, true]);
    for (const { output } of [good, bad, gone]) {
      for (const hidden of [secret, key.slice(2), proxy.url.slice("http://".length)])
        expect(output).not.toContain(hidden);
    }
  });

  test("the files for explorers compile to the code at the addresses that they name", async () => {
    const { code, output } = await place.run(["--out", folder]);
    expect(code, output).toBe(0);
    const read = (file: string) => JSON.parse(readFileSync(join(folder, file), "utf8"));
    for (const name of ["AccessManager", "SettlementContract", "EscrowVault"] as const) {
      const { contract, compiler, constructor_arguments: args, address } = read(`${name}.json`);
      const input = read(`${name}.input.json`);
      expect(compiledFrom(input, contract)).toBe(artifacts[name].bytecode);
      expect(solc.version()).toContain(compiler.slice(1));
      const creation = concat([artifacts[name].bytecode, `0x${args}`]);
      const create2 = { opcode: "CREATE2", from: CREATE2_DEPLOYER, salt: SALT, bytecode: creation } as const;
      // The settlement contract creates the vault first.
      const create = { from: read("SettlementContract.json").address, nonce: 1n };
      expect(getContractAddress(name === "EscrowVault" ? create : create2)).toBe(address);
    }
    expect(read("EscrowVault.json")).toMatchObject({ constructor_arguments: "" });
  });
});

/**
 * The bytecode of a contract of the compiler's input. The compiler takes a minute, so `npm test` compares the input with that of the artifacts, which
 * `npm run check` compiles.
 */
function compiledFrom(input: StandardInput, contract: string): string | undefined {
  const [file = "", name = ""] = contract.split(":");
  if (isWhole()) {
    const compiled = JSON.parse(solc.compile(JSON.stringify(input)));
    return `0x${compiled.contracts[file][name].evm.bytecode.object}`;
  }
  expect(input.settings).toEqual(SETTINGS);
  const contents = Object.entries(input.sources).map(([source, { content }]) => [source, content]);
  expect(Object.keys(input.sources)).toContain(file);
  expect(contents).toEqual(contents.map(([source = ""]) => [source, readSource(CONTRACTS, source)]));
  return artifacts[name as keyof typeof artifacts].bytecode;
}
