// The payer's half of a settlement (CHN-2, CHN-8), pure: turns a payment intent, as the service answered it, into what the payer's wallet signs or
// sends. It signs and sends nothing itself; amounts, hashes and addresses come from the service, the bounds from the payer.
//
// Amounts are base units of the token, times epoch seconds, both as bigint. Hashes are 32 bytes, 0x and lower-case hex. Addresses are accepted in
// one case or with a correct checksum (EIP-55), and returned with it. Every fault is a PaymentError that names its field.
import { encodeHex } from "../core/encoding.ts";
import { computeKeccak256, type Hex, hashText, toChecksumAddress } from "./keccak.ts";

/** The payment that a payer agrees to: `SettlementContract.Payment`, member by member. */
export type Payment = {
  /** A token that the contract accepts. */
  readonly token: Hex;
  /** Gross, base units: 1 to 2^96-1. */
  readonly amount: bigint;
  /** Keccak-256 of the provider's DID. */
  readonly providerDidHash: Hex;
  /** Keccak-256 of the consumer's DID. */
  readonly consumerDidHash: Hex;
  /** The on-chain name of the intent, see `computeIntentHash`. */
  readonly intentHash: Hex;
  /** The provider's wallet; a payment to another wallet reverts. */
  readonly operationalWallet: Hex;
  /** The highest accepted fee, in hundredths of a percent of the gross; a higher one reverts. */
  readonly maxFeeBps: number;
  /** Epoch seconds; a later block reverts. */
  readonly deadline: bigint;
  /** The address that receives refunds and payouts. Only its holder can change it later, or the arbiter if the token refuses it. */
  readonly refundTo: Hex;
};

/** The members of the answer to `POST /v1/payment-intents` that a payment needs. Others are ignored. */
export type PayableIntent = {
  readonly amount_base_units: string;
  readonly token: string;
  readonly contract: string;
  readonly chain_id: number;
  readonly provider_did_hash: string;
  readonly consumer_did_hash: string;
  readonly intent_hash: string;
  readonly operational_wallet: string;
  /** ISO 8601 with a zone. */
  readonly expires_at: string;
  /** If given, the hashes must be those of the first three, and the key that of the payment. */
  readonly provider_did?: string;
  readonly consumer_did?: string;
  readonly intent_id?: string;
  readonly settlement_key?: string;
  /** The only address that may pay it; null if any address may. */
  readonly payer?: string | null;
};

/** The payer's choices. */
export type PayerTerms = {
  /** 0 to 65,535; the contract's own maximum is 50. */
  readonly maxFeeBps: number;
  /** An address of the payer, preferably one with another key than the paying one. */
  readonly refundTo: string;
};

export type PreparedPayment = {
  readonly chainId: number;
  /** The settlement contract: the receiver of calldata and authorization, and the spender of an allowance. */
  readonly contract: Hex;
  readonly payment: Payment;
  /** The contract's key of the payment (`keyOf`). */
  readonly settlementKey: Hex;
};

export type AuthorizationTerms = {
  /** The payer: the account, or smart wallet (ERC-1271), that holds the tokens. */
  readonly from: string;
  /** 32 bytes, see `drawSalt`. */
  readonly salt: Hex;
  /** Epoch seconds: the block has to be later; default 0. */
  readonly validAfter?: bigint;
  /** Epoch seconds: the block has to be earlier; default the payment's deadline. */
  readonly validBefore?: bigint;
  /** `name()` and `version()` of the token; default those of USDC on Base. USDC on Base Sepolia is named "USDC". */
  readonly domain?: { readonly name: string; readonly version: string };
};

/** The data to sign, and the values to submit with the signature. */
export type Authorization = Required<Omit<AuthorizationTerms, "domain">> & {
  readonly from: Hex;
  readonly typedData: ReceiveWithAuthorization;
};

/** EIP-712, as JSON for `eth_signTypedData_v4` and unchanged for viem's `signTypedData`; numbers are decimal strings. */
export type ReceiveWithAuthorization = {
  readonly domain: {
    readonly name: string;
    readonly version: string;
    readonly chainId: number;
    readonly verifyingContract: Hex;
  };
  readonly types: Record<string, readonly { readonly name: string; readonly type: string }[]>;
  readonly primaryType: "ReceiveWithAuthorization";
  readonly message: Record<"from" | "to" | "value" | "validAfter" | "validBefore" | "nonce", string>;
};

/** Thrown for a value that no payment can have. `field` is its name, as given. */
export class PaymentError extends TypeError {
  override readonly name = "PaymentError";
  readonly field: string;
  constructor(field: string, problem: string) {
    super(`${field} ${problem}`);
    this.field = field;
  }
}

/** The EIP-712 domain of USDC on Base. */
const USDC_DOMAIN = { name: "USD Coin", version: "2" } as const;
const ZERO = /^0x0+$/;
const PAYMENT_TUPLE = "(address,uint256,bytes32,bytes32,bytes32,address,uint16,uint64,address)";

/**
 * Makes the payment of an intent, on the payer's terms.
 *
 * @throws PaymentError if a member is malformed or out of range, an address or hash is zero, a hash is not that of the text given with it, or the
 * answered settlement key is not the payment's
 */
export function preparePayment(intent: PayableIntent, terms: PayerTerms): PreparedPayment {
  const { chain_id: chainId, provider_did, consumer_did, intent_id, settlement_key } = intent;
  if (!Number.isSafeInteger(chainId) || chainId <= 0) throw new PaymentError("chain_id", "is not a chain id");
  const payment: Payment = {
    token: toNonZeroAddress("token", intent.token),
    amount: parseBaseUnits("amount_base_units", intent.amount_base_units),
    providerDidHash: toHash("provider_did_hash", intent.provider_did_hash, provider_did),
    consumerDidHash: toHash("consumer_did_hash", intent.consumer_did_hash, consumer_did),
    intentHash: toHash("intent_hash", intent.intent_hash, intent_id, (id) =>
      computeIntentHash(id, intent.payer ?? null),
    ),
    operationalWallet: toNonZeroAddress("operational_wallet", intent.operational_wallet),
    maxFeeBps: terms.maxFeeBps,
    deadline: parseEpochSeconds("expires_at", intent.expires_at),
    refundTo: toNonZeroAddress("refundTo", terms.refundTo),
  };
  checkPayment(payment);
  const key = computeSettlementKey(payment);
  if (settlement_key !== undefined && settlement_key.toLowerCase() !== key) {
    throw new PaymentError("settlement_key", "is not the one of this payment");
  }
  return { chainId, contract: toNonZeroAddress("contract", intent.contract), payment, settlementKey: key };
}

/**
 * Checks everything that the contract or its token would refuse in any state of the chain.
 *
 * @throws PaymentError naming the first faulty member
 */
export function checkPayment(payment: Payment): void {
  for (const field of ["token", "operationalWallet", "refundTo"] as const) toNonZeroAddress(field, payment[field]);
  for (const field of ["providerDidHash", "consumerDidHash", "intentHash"] as const) toHash(field, payment[field]);
  if (payment.amount === 0n) throw new PaymentError("amount", "is zero");
  encodeUint("amount", payment.amount, 96);
  encodePayment(payment);
}

const HASH_DIGITS = 64;
const ADDRESS_DIGITS = 40;
const HIGHEST_BIT = 8;

/**
 * The on-chain name of an intent. Without a payer: Keccak-256 of its id, whose highest bit is clear. With a payer: that bit is set, the low 20 bytes
 * are the payer's address, and the bits between are those of Keccak-256 of the id. The contract accepts the payment of such an intent only from
 * that address (`PayerDiffers`).
 */
export function computeIntentHash(intentId: string, payer: string | null): Hex {
  const hash = hashText(intentId);
  if (payer === null) return hash;
  const first = (Number.parseInt(hash.charAt(2), 16) | HIGHEST_BIT).toString(16);
  const rest = hash.slice(3, 2 + HASH_DIGITS - ADDRESS_DIGITS);
  return `0x${first}${rest}${toNonZeroAddress("payer", payer).slice(2).toLowerCase()}`;
}

/** The parts of a settlement's key. Hashes and token as hex of any case. */
export type SettlementTerms = Readonly<Record<"providerDidHash" | "consumerDidHash" | "intentHash" | "token", string>> &
  Pick<Payment, "amount">;

/** The key of a settlement: keccak256(abi.encode(provider, consumer, intent, token, amount)). Each key can be paid once (`AlreadyPaid`). */
export function computeSettlementKey(payment: SettlementTerms): Hex {
  const { providerDidHash, consumerDidHash, intentHash, token, amount } = payment;
  return computeKeccak256(
    decodeHexWords([
      encodeBytes32("providerDidHash", providerDidHash),
      encodeBytes32("consumerDidHash", consumerDidHash),
      encodeBytes32("intentHash", intentHash),
      encodeAddress("token", token),
      encodeUint("amount", amount, 256),
    ]),
  );
}

/** The nonce of the payment's authorization: keccak256(abi.encode(payment, salt)). It cannot be used for anything else. */
export const computeAuthorizationNonce = (payment: Payment, salt: Hex): Hex =>
  computeKeccak256(decodeHexWords([...encodePayment(payment), encodeBytes32("salt", salt)]));

/** 32 random bytes. Use one salt per authorization: with another salt, the same payment could be authorized a second time. */
export const drawSalt = (): Hex => `0x${encodeHex(crypto.getRandomValues(new Uint8Array(32)))}`;

/**
 * Makes the data for the payer to sign, so that anyone may submit the payment and pay its gas (EIP-3009, `receiveWithAuthorization`).
 *
 * @throws PaymentError if a term is malformed, or no instant lies between the times
 */
export function authorize(
  { chainId, contract, payment }: Pick<PreparedPayment, "chainId" | "contract" | "payment">,
  terms: AuthorizationTerms,
): Authorization {
  const { salt, validAfter = 0n, validBefore = payment.deadline, domain: { name, version } = USDC_DOMAIN } = terms;
  const from = toNonZeroAddress("from", terms.from);
  for (const [field, time] of Object.entries({ validAfter, validBefore })) encodeUint(field, time, 256);
  if (validBefore <= validAfter) throw new PaymentError("validBefore", "is not later than validAfter");
  const nonce = computeAuthorizationNonce(payment, salt);
  const times = { validAfter: String(validAfter), validBefore: String(validBefore) };
  const typedData: ReceiveWithAuthorization = {
    domain: { name, version, chainId, verifyingContract: toNonZeroAddress("token", payment.token) },
    types: {
      EIP712Domain: parseMembers("string name", "string version", "uint256 chainId", "address verifyingContract"),
      ReceiveWithAuthorization: parseMembers(
        "address from",
        "address to",
        "uint256 value",
        "uint256 validAfter",
        "uint256 validBefore",
        "bytes32 nonce",
      ),
    },
    primaryType: "ReceiveWithAuthorization",
    message: { from, to: toNonZeroAddress("contract", contract), value: String(payment.amount), ...times, nonce },
  };
  return { from, salt, validAfter, validBefore, typedData };
}

/** Calldata of `settle(Payment)`: pays from the sender's allowance, on exactly these terms. */
export const encodeSettle = (payment: Payment): Hex =>
  encodeCalldata(`settle(${PAYMENT_TUPLE})`, encodePayment(payment));

/** Calldata of `payIntent`: pays from the sender's allowance, with the wallet and fee that are in force; refunds go to the sender. */
export function encodePayIntent(payment: Payment): Hex {
  const [token = "", amount = "", provider = "", consumer = "", intent = ""] = encodePayment(payment);
  return encodeCalldata("payIntent(address,uint256,bytes32,bytes32,bytes32)", [
    token,
    amount,
    provider,
    consumer,
    intent,
  ]);
}

/**
 * Calldata of `settleWithAuthorization`; anyone may send it.
 *
 * @param signature of an account (65 bytes), or in the form that a smart wallet accepts, over `authorization.typedData`
 */
export function encodeSettleWithAuthorization(
  payment: Payment,
  { from, validAfter, validBefore, salt }: Omit<Authorization, "typedData">,
  signature: Hex,
): Hex {
  if (!/^0x(?:[0-9a-fA-F]{2})*$/.test(signature)) throw new PaymentError("signature", "is not bytes in hex");
  const head = [
    ...encodePayment(payment),
    encodeAddress("from", from),
    encodeUint("validAfter", validAfter, 256),
    encodeUint("validBefore", validBefore, 256),
    encodeBytes32("salt", salt),
  ];
  const bytes = signature.slice(2).toLowerCase();
  // The signature's bytes follow the head, which ends with their place.
  const place = encodeUint("place", BigInt((head.length + 1) * WORD_BYTES), 256);
  const length = encodeUint("length", BigInt(bytes.length / 2), 256);
  const tail = bytes.padEnd(Math.ceil(bytes.length / WORD_DIGITS) * WORD_DIGITS, "0");
  const name = `settleWithAuthorization(${PAYMENT_TUPLE},address,uint256,uint256,bytes32,bytes)`;
  return encodeCalldata(name, [...head, place, length, tail]);
}

// ---- Words of the ABI: 64 hex digits ---------------------------------------------------------------------------------

const WORD_BYTES = 32;
const WORD_DIGITS = 2 * WORD_BYTES;

function encodePayment(payment: Payment): string[] {
  return [
    encodeAddress("token", payment.token),
    encodeUint("amount", payment.amount, 256),
    encodeBytes32("providerDidHash", payment.providerDidHash),
    encodeBytes32("consumerDidHash", payment.consumerDidHash),
    encodeBytes32("intentHash", payment.intentHash),
    encodeAddress("operationalWallet", payment.operationalWallet),
    encodeUint("maxFeeBps", payment.maxFeeBps, 16),
    encodeUint("deadline", payment.deadline, 64),
    encodeAddress("refundTo", payment.refundTo),
  ];
}

const encodeCalldata = (signature: string, content: readonly string[]): Hex =>
  `${hashText(signature).slice(0, 10) as Hex}${content.join("")}`;

function decodeHexWords(content: readonly string[]): Uint8Array {
  const digits = content.join("").match(/../g) ?? [];
  return Uint8Array.from(digits, (pair) => Number.parseInt(pair, 16));
}

function encodeUint(field: string, value: bigint | number, bits: number): string {
  const isWhole = typeof value === "bigint" || Number.isSafeInteger(value);
  if (!isWhole || value < 0 || BigInt(value) >= 1n << BigInt(bits)) {
    throw new PaymentError(field, `is not a whole number from 0 to 2^${bits}-1`);
  }
  return value.toString(16).padStart(WORD_DIGITS, "0");
}

function encodeBytes32(field: string, value: string): string {
  const digits = /^0x([0-9a-fA-F]{64})$/.exec(value)?.[1];
  if (digits === undefined) throw new PaymentError(field, "is not 32 bytes in hex");
  return digits.toLowerCase();
}

const encodeAddress = (field: string, value: string): string =>
  toAddress(field, value).slice(2).toLowerCase().padStart(WORD_DIGITS, "0");

// ---- Values ----------------------------------------------------------------------------------------------------------

function toAddress(field: string, value: string): Hex {
  const checked = toChecksumAddress(value);
  if (checked === undefined) throw new PaymentError(field, "is not an address, or its checksum is wrong");
  return checked;
}

function toNonZeroAddress(field: string, value: string): Hex {
  const checked = toAddress(field, value);
  if (ZERO.test(checked)) throw new PaymentError(field, "is the zero address");
  return checked;
}

function toHash(field: string, value: string, text?: string, expected: (text: string) => Hex = hashText): Hex {
  const hash: Hex = `0x${encodeBytes32(field, value)}`;
  if (ZERO.test(hash)) throw new PaymentError(field, "is zero");
  if (text !== undefined && expected(text) !== hash) throw new PaymentError(field, `is not the hash of ${text}`);
  return hash;
}

function parseBaseUnits(field: string, text: string): bigint {
  if (!/^(?:0|[1-9]\d{0,77})$/.test(text)) throw new PaymentError(field, "is not a whole number in decimal digits");
  return BigInt(text);
}

/** Rounded down: a block in that second is still in time. */
function parseEpochSeconds(field: string, text: string): bigint {
  const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (Number.isNaN(instant)) throw new PaymentError(field, "is not an instant of ISO 8601 with a zone");
  return BigInt(Math.floor(instant / 1_000));
}

const parseMembers = (...declared: string[]): { name: string; type: string }[] =>
  declared.map((text) => {
    const [type = "", name = ""] = text.split(" ");
    return { name, type };
  });
