// Reads the facts of a network from its chain (CHN-31), with one JSON-RPC batch to each node. Answers of a node on another chain are ignored, and a
// fact that a node does not state is null. live-faults.ts judges the facts.
import { decodeFunctionResult, encodeFunctionData, toFunctionSelector } from "viem/utils";
import { runConcurrently } from "../core/retry.ts";
import { authorityAbi, settlementAbi, tokenAbi } from "./abi.ts";
import type { BlockRef, ChainUnavailable } from "./gateway.ts";
import { blockSchema, buildBlockCall, toBlockRef } from "./logs.ts";
import type { Network } from "./networks.ts";
import { type AskNode, createAskNode, nameRefusal, type RpcCall, type RpcReply } from "./rpc.ts";
import { SIGNER_ROLE_NAMES, SIGNER_ROLES, SIGNERS, type SignerName, type SignerRole } from "./sign.ts";

/** The addresses of the service's own keys; null if a secret is not a valid key. */
export type SignerAddresses = Readonly<Record<SignerName, string | null>>;

/** `reason`: why the node's answers are ignored; null if they count. */
export type NodeFacts = {
  readonly reason: ChainUnavailable["reason"] | null;
  readonly chainId: number | null;
  readonly head: BlockRef | null;
};
export type TokenFacts = {
  readonly hasCode: boolean;
  readonly decimals: number | null;
  readonly symbol: string | null;
};
/** `delay`: seconds from scheduling a call to executing it. `grantDelay`: seconds until a new holder has the role. */
export type RoleFacts = {
  readonly role: SignerRole;
  readonly held: boolean | null;
  readonly delay: number | null;
  readonly grantDelay: number | null;
  /** Functions of the role that the authority does not let the holder call. */
  readonly closed: readonly string[];
};
export type EditionFacts = {
  readonly contract: string;
  readonly hasCode: boolean;
  /** Null unless the address is a token. */
  readonly decimals: number | null;
  readonly feeBps: number | null;
  readonly feeRecipient: string | null;
  readonly paused: boolean | null;
  /** The threshold of an unrated provider in base units; 0 if the contract does not take the token. */
  readonly base: bigint | null;
  readonly namedAuthority: string | null;
  readonly authorityHasCode: boolean;
  readonly adminDelay: number | null;
  readonly roles: readonly RoleFacts[];
};
export type AccountFacts = { readonly address: string | null; readonly wei: bigint | null };
export type NetworkFacts = {
  readonly node: NodeFacts;
  /** Null if none is configured. */
  readonly fallback: NodeFacts | null;
  /** Null if the node's answers are ignored. */
  readonly token: TokenFacts | null;
  /** The present edition first; empty if the node's answers are ignored. */
  readonly editions: readonly EditionFacts[];
  readonly accounts: Readonly<Record<SignerName, AccountFacts>>;
};

export type SeenNetwork = NetworkFacts & { readonly network: Network };

/** Returns the facts in the order of the networks. A node that fails is a fact of its network, not an error. */
export async function readNetworkFacts(
  networks: readonly Network[],
  signers: SignerAddresses,
  ask: AskNode = createAskNode(),
): Promise<SeenNetwork[]> {
  const nothing = { ...toUnreadFacts(signers, "unreachable"), fallback: null };
  const facts = networks.map((network): SeenNetwork => ({ network, ...nothing }));
  const put = (at: number, read: Partial<NetworkFacts>) => {
    const known = facts[at];
    if (known) facts[at] = { ...known, ...read };
  };
  // Each node is a question of its own, and few are asked at once: an invocation has few connections, and a request's timeout runs while it waits
  // for one.
  const questions = networks.flatMap((network, at) => {
    const { fallback_rpc_url: second } = network;
    const first = async () => put(at, await askNode(ask, network, signers));
    return second ? [first, async () => put(at, { fallback: await askSecond(ask, network, second) })] : [first];
  });
  await runConcurrently(questions, (question) => question());
  return facts;
}

type FirstNode = Omit<NetworkFacts, "fallback">;

async function askNode(ask: AskNode, network: Network, signers: SignerAddresses): Promise<FirstNode> {
  const batch = createCallBatch();
  const node = askHead(batch, network);
  const token = askToken(batch, network.token);
  const editions = [network, ...network.earlier_editions].map((edition) =>
    askEdition(batch, edition, network, signers),
  );
  const accounts = askAccounts(batch, signers);
  const answer = await ask(network.rpc_url, batch.calls);
  if (!answer.ok) return toUnreadFacts(signers, answer.reason);
  const { replies } = answer;
  const facts = node(replies);
  if (facts.reason !== null) return { ...toUnreadFacts(signers, facts.reason), node: facts };
  if (replies.some(isRefusedByNode))
    return { ...toUnreadFacts(signers, "bad_answer"), node: { ...facts, reason: "bad_answer" } };
  return {
    node: facts,
    token: token(replies),
    editions: editions.map((edition) => edition(replies)),
    accounts: accounts(replies),
  };
}

async function askSecond(ask: AskNode, network: Network, url: string): Promise<NodeFacts> {
  const batch = createCallBatch();
  const node = askHead(batch, network);
  const answer = await ask(url, batch.calls);
  return answer.ok ? node(answer.replies) : toSilentNode(answer.reason);
}

const toSilentNode = (reason: ChainUnavailable["reason"]): NodeFacts => ({ reason, chainId: null, head: null });

const toUnreadFacts = (signers: SignerAddresses, reason: ChainUnavailable["reason"]): FirstNode => ({
  node: toSilentNode(reason),
  token: null,
  editions: [],
  accounts: mapSigners((signer) => ({ address: signers[signer], wei: null })),
});

const mapSigners = <T>(make: (signer: SignerName) => T): Record<SignerName, T> =>
  Object.fromEntries(SIGNERS.map((signer) => [signer, make(signer)])) as Record<SignerName, T>;

/** True if the node itself refused the request, for example because of a rate limit. An error of a contract is an answer. */
function isRefusedByNode(reply: RpcReply): boolean {
  if (reply.ok) return false;
  return nameRefusal(reply.error) === "refused" && !/execution|opcode|out of gas|stack/i.test(reply.error.message);
}

// ---- Questions -----------------------------------------------------------------------------------------------------------

type Reader<T> = (replies: readonly RpcReply[]) => T;
type Batch = {
  readonly calls: readonly RpcCall[];
  readonly add: <T>(call: RpcCall, read: (result: unknown) => T | null) => Reader<T | null>;
};

function createCallBatch(): Batch {
  const calls: RpcCall[] = [];
  return {
    calls,
    add: (call, read) => {
      const at = calls.push(call) - 1;
      return (replies) => {
        const reply = replies[at];
        return reply?.ok ? read(reply.result) : null;
      };
    },
  };
}

function askHead(batch: Batch, { chain_id }: Network): Reader<NodeFacts> {
  const chain = batch.add({ method: "eth_chainId", params: [] }, parseSmallQuantity);
  const latest = batch.add(buildBlockCall("latest"), (result) => {
    const block = blockSchema.safeParse(result);
    return block.success ? toBlockRef(block.data) : null;
  });
  return (replies) => {
    const [chainId, head] = [chain(replies), latest(replies)];
    const isOther = chainId !== null && chainId !== chain_id;
    const reason = isOther ? "wrong_chain" : chainId === null || head === null ? "bad_answer" : null;
    return { reason, chainId, head };
  };
}

function askToken(batch: Batch, address: string): Reader<TokenFacts> {
  const code = askCode(batch, address);
  const decimals = batch.add(
    encodeView(address, encodeFunctionData({ abi: tokenAbi, functionName: "decimals" })),
    parseSmallWord,
  );
  const symbol = batch.add(
    encodeView(address, encodeFunctionData({ abi: tokenAbi, functionName: "symbol" })),
    decodeSymbol,
  );
  return (replies) => ({ hasCode: code(replies), decimals: decimals(replies), symbol: symbol(replies) });
}

function askEdition(
  batch: Batch,
  { settlement_contract, authority }: Pick<Network, "settlement_contract" | "authority">,
  { token }: Network,
  signers: SignerAddresses,
): Reader<EditionFacts> {
  const ask = <T>(data: string, read: (result: unknown) => T | null) =>
    batch.add(encodeView(settlement_contract, data), read);
  const call = encodeFunctionData;
  const code = askCode(batch, settlement_contract);
  const authorityCode = askCode(batch, authority);
  const decimals = ask(call({ abi: tokenAbi, functionName: "decimals" }), parseSmallWord);
  const feeBps = ask(call({ abi: settlementAbi, functionName: "feeBps" }), parseSmallWord);
  const feeRecipient = ask(call({ abi: settlementAbi, functionName: "feeRecipient" }), parseAddress);
  const paused = ask(call({ abi: settlementAbi, functionName: "paused" }), parseFlag);
  const base = ask(call({ abi: settlementAbi, functionName: "baseOf", args: [toLowerHex(token)] }), parseWord);
  const named = ask(call({ abi: settlementAbi, functionName: "authority" }), parseAddress);
  const adminArgs = [toLowerHex(settlement_contract)] as const;
  const adminDelay = batch.add(
    encodeView(authority, call({ abi: authorityAbi, functionName: "getTargetAdminDelay", args: adminArgs })),
    parseSmallWord,
  );
  const roles = SIGNER_ROLE_NAMES.map((role) => askRole(batch, { settlement_contract, authority }, role, signers));
  return (replies) => ({
    contract: settlement_contract,
    hasCode: code(replies),
    decimals: decimals(replies),
    feeBps: feeBps(replies),
    feeRecipient: feeRecipient(replies),
    paused: paused(replies),
    base: base(replies),
    namedAuthority: named(replies),
    authorityHasCode: authorityCode(replies),
    adminDelay: adminDelay(replies),
    roles: roles.map((role) => role(replies)),
  });
}

function askRole(
  batch: Batch,
  { settlement_contract, authority }: Pick<Network, "settlement_contract" | "authority">,
  role: SignerRole,
  signers: SignerAddresses,
): Reader<RoleFacts> {
  const { id, functions, holder } = SIGNER_ROLES[role];
  const [address, target] = [signers[holder], toLowerHex(settlement_contract)];
  const ask = <T>(data: string, read: (result: unknown) => T | null) => batch.add(encodeView(authority, data), read);
  const grants = ask(
    encodeFunctionData({ abi: authorityAbi, functionName: "getRoleGrantDelay", args: [id] }),
    parseSmallWord,
  );
  const account = toLowerHex(address ?? NOBODY);
  const member = ask(
    encodeFunctionData({ abi: authorityAbi, functionName: "hasRole", args: [id, account] }),
    parseFlagAndSeconds,
  );
  const callable = functions.map((name) => {
    const args = [account, target, computeSelector(name)] as const;
    return ask(encodeFunctionData({ abi: authorityAbi, functionName: "canCall", args }), parseFlagAndSeconds);
  });
  return (replies) => {
    const found = address === null ? null : member(replies);
    const allows = (at: number): boolean => {
      const [atOnce = false, seconds = 0] = callable[at]?.(replies) ?? [];
      return atOnce || seconds > 0;
    };
    return {
      role,
      held: found?.[0] ?? null,
      delay: found?.[0] ? found[1] : null,
      grantDelay: grants(replies),
      closed: found?.[0] ? functions.filter((_, at) => !allows(at)) : [],
    };
  };
}

function askAccounts(batch: Batch, signers: SignerAddresses): Reader<Record<SignerName, AccountFacts>> {
  const balances = mapSigners((signer) => {
    const address = signers[signer];
    return address === null
      ? () => null
      : batch.add({ method: "eth_getBalance", params: [address, "latest"] }, parseQuantity);
  });
  return (replies) => mapSigners((signer) => ({ address: signers[signer], wei: balances[signer](replies) }));
}

function askCode(batch: Batch, address: string): Reader<boolean> {
  const code = batch.add({ method: "eth_getCode", params: [address, "latest"] }, (result) => result !== "0x");
  return (replies) => code(replies) ?? false;
}

/** Optional, because an error is an answer too: another contract is at the address. */
const encodeView = (to: string, data: string): RpcCall => ({
  method: "eth_call",
  params: [{ to: to.toLowerCase(), data }, "latest"],
  optional: true,
});

const NOBODY = `0x${"00".repeat(20)}`;

function computeSelector(name: string) {
  const entry = settlementAbi.find((one) => one.type === "function" && one.name === name);
  if (entry?.type !== "function") throw new Error(`the contract has no function ${name}`);
  return toFunctionSelector(entry);
}

// ---- Answers -------------------------------------------------------------------------------------------------------------

const toLowerHex = (text: string) => text.toLowerCase() as `0x${string}`;

function parseWords(result: unknown, count: number): bigint[] | null {
  if (typeof result !== "string" || !new RegExp(`^0x[0-9a-fA-F]{${64 * count}}$`).test(result)) return null;
  return Array.from({ length: count }, (_, at) => BigInt(`0x${result.slice(2 + 64 * at, 66 + 64 * at)}`));
}

const parseWord = (result: unknown): bigint | null => parseWords(result, 1)?.[0] ?? null;

const toSafeNumber = (value: bigint | null): number | null =>
  value !== null && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : null;

const parseSmallWord = (result: unknown): number | null => toSafeNumber(parseWord(result));

const toFlag = (value: bigint | undefined): boolean | null => (value === 0n ? false : value === 1n ? true : null);

const parseFlag = (result: unknown): boolean | null => toFlag(parseWords(result, 1)?.[0]);

function parseFlagAndSeconds(result: unknown): readonly [boolean, number] | null {
  const [first, second = 0n] = parseWords(result, 2) ?? [];
  const [flag, seconds] = [toFlag(first), toSafeNumber(second)];
  return flag === null || seconds === null ? null : [flag, seconds];
}

const parseAddress = (result: unknown): string | null => {
  const value = parseWord(result);
  return value === null || value >= 2n ** 160n ? null : `0x${value.toString(16).padStart(40, "0")}`;
};

const parseQuantity = (result: unknown): bigint | null =>
  typeof result === "string" && /^0x[0-9a-fA-F]{1,64}$/.test(result) ? BigInt(result) : null;

const parseSmallQuantity = (result: unknown): number | null => toSafeNumber(parseQuantity(result));

/** Returns null for an old token whose symbol is not a string. */
function decodeSymbol(result: unknown): string | null {
  try {
    return decodeFunctionResult({ abi: tokenAbi, functionName: "symbol", data: String(result) as `0x${string}` });
  } catch {
    return null;
  }
}
