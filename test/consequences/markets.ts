// The rows of markets, and of the transactions that open them, in the table of consequences (table.ts).
import type { ChainMessage } from "../../src/context.ts";
import { BY_ITSELF, type Cases } from "./words.ts";

/** The document states another market or another wallet. */
const NEW_VERSION = {
  directory: { agent: ["updated"] },
  document: { agent: ["new version"] },
} as const;

const RECORDED_AT_REQUEST = { none: "recorded when the market was requested" } as const;

export const MARKET_OPERATIONS: Readonly<Record<string, Cases>> = {
  authorizeMarkets: [
    {
      when: "the chain answers in time",
      states: ["chain operation none → done", "escrow none → FUNDING", "market none → ACTIVE"],
      tables: ["agent_markets", "agents", "chain_operations", "escrows"],
      activity: ["agent.markets_changed"],
      events: { agent: ["market.provisioned"] },
      ...NEW_VERSION,
    },
    {
      when: "on a mainnet with a sandbox key",
      states: ["chain operation none → done", "escrow none → FUNDING", "market none → ACTIVE"],
      tables: ["agent_markets", "agents", "chain_operations", "escrows", "mainnet_trials"],
      activity: ["agent.markets_changed"],
      events: { agent: ["market.provisioned"] },
      ...NEW_VERSION,
    },
    {
      when: "on a mainnet with a sandbox key, when accounts that are not accredited have used 80 % of their registrations",
      states: ["alert none → open", "chain operation none → done", "escrow none → FUNDING", "market none → ACTIVE"],
      tables: ["agent_markets", "agents", "chain_operations", "escrows", "mainnet_trials"],
      activity: ["agent.markets_changed"],
      events: { agent: ["market.provisioned"] },
      ...NEW_VERSION,
      alerts: ["sandbox_registrations"],
    },
    {
      when: "a DRAFT",
      states: ["chain operation none → done", "escrow none → FUNDING", "market none → ACTIVE"],
      tables: ["agent_markets", "agents", "chain_operations", "escrows"],
      activity: ["agent.markets_changed"],
      events: { agent: ["market.provisioned"] },
      document: { agent: ["unsigned version"] },
    },
    {
      when: "a production market of a sandbox agent",
      states: ["chain operation none → done", "escrow none → FUNDING", "market none → ACTIVE"],
      tables: ["agent_markets", "agents", "chain_operations", "escrows"],
      activity: ["agent.markets_changed"],
      events: { agent: ["market.provisioned"] },
    },
    {
      when: "the chain does not answer in time",
      states: ["chain operation none → waiting", "market none → PROVISIONING"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: ["agent.markets_changed"],
    },
    {
      when: "the registrar has no gas",
      states: ["alert none → open", "chain operation none → waiting", "market none → PROVISIONING"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: ["agent.markets_changed"],
      alerts: ["low_gas"],
    },
    {
      // The sandbox market fails, and the production market's wallet is written to the contract again (MKT-9).
      when: "a production market gets another wallet while the transaction is pending",
      states: ["chain operation none → done", "market ACTIVE → PROVISIONING", "market none → FAILED"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: ["agent.markets_changed"],
    },
    {
      when: "the chain refuses",
      states: ["chain operation none → failed", "market none → FAILED"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: ["agent.markets_changed"],
    },
    {
      // The market first leaves the document, and then returns with the new wallet (MKT-12).
      when: "another wallet",
      tables: ["agent_markets", "agents", "chain_operations", "escrows"],
      activity: ["agent.markets_changed", "agent.wallet_changed"],
      events: { agent: ["market.provisioned"] },
      directory: { agent: ["updated", "updated"] },
      document: { agent: ["new version", "new version"] },
      mails: ["customer.wallet_changed"],
    },
    {
      when: "another wallet, the chain does not answer in time",
      states: ["chain operation done → waiting", "market ACTIVE → PROVISIONING"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: ["agent.markets_changed"],
      ...NEW_VERSION,
    },
    { when: "open already, as requested" },
  ],

  removeAuthorizedMarket: [
    {
      when: "a market of the agent's environment",
      states: ["market ACTIVE → none"],
      tables: ["agent_markets", "agents"],
      activity: ["agent.markets_changed"],
      ...NEW_VERSION,
    },
    {
      when: "a production market of a sandbox agent",
      states: ["market ACTIVE → none"],
      tables: ["agent_markets"],
      activity: ["agent.markets_changed"],
    },
  ],
};

const TENDING: Cases = [
  { when: "the key has gas, and nothing waits" },
  {
    when: "the key is low on gas",
    states: ["alert none → open"],
    activity: BY_ITSELF,
    alerts: ["low_gas"],
  },
  {
    when: "a transaction has waited for five minutes",
    states: ["alert none → open"],
    activity: BY_ITSELF,
    alerts: ["waiting_transaction"],
  },
  {
    when: "the node is of another chain",
    states: ["alert none → open"],
    activity: BY_ITSELF,
    alerts: ["network"],
  },
];

export const MARKET_JOBS: Readonly<Record<string, Cases>> = {
  watch_registrations: [
    { when: "the contract still has it", tables: ["chain_operations"], activity: BY_ITSELF },
    {
      when: "the registration is gone",
      states: ["alert none → open", "market ACTIVE → PROVISIONING"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: BY_ITSELF,
      ...NEW_VERSION,
      alerts: ["chain_reorganised"],
    },
    {
      when: "the contract has a wallet that no market wants any longer",
      states: ["market ACTIVE → PROVISIONING"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: BY_ITSELF,
      ...NEW_VERSION,
    },
    {
      when: "the contract has a wallet that no market has requested",
      states: ["market ACTIVE → PROVISIONING"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: ["agent.wallet_changed"],
      ...NEW_VERSION,
      mails: ["customer.wallet_changed"],
    },
    { when: "the markets still wait", tables: ["chain_operations"], activity: BY_ITSELF },
    {
      when: "the threshold is gone",
      states: ["alert none → open"],
      tables: ["chain_operations", "escrows"],
      activity: BY_ITSELF,
      alerts: ["chain_reorganised"],
    },
  ],

  move_editions: [
    {
      when: "the provider sells, and the queue registers it",
      states: ["market ACTIVE → PROVISIONING"],
      tables: ["agent_markets", "agents"],
      activity: BY_ITSELF,
      ...NEW_VERSION,
    },
    { when: "its markets are waiting already, and are handed to the queue again" },
    { when: "it has no market" },
    {
      when: "no provider is left in an earlier edition",
      tables: ["registered_editions"],
      activity: BY_ITSELF,
    },
  ],

  tend_signers: TENDING,
  tend_arbiters: TENDING,
};

export const MARKET_MESSAGES: Readonly<
  Record<Extract<ChainMessage["kind"], "provision_market" | "follow_threshold">, Cases>
> = {
  provision_market: [
    {
      when: "the contract has it",
      states: ["chain operation waiting → done", "escrow none → FUNDING", "market PROVISIONING → ACTIVE"],
      tables: ["agent_markets", "agents", "chain_operations", "escrows"],
      activity: RECORDED_AT_REQUEST,
      events: { agent: ["market.provisioned"] },
      ...NEW_VERSION,
    },
    {
      when: "a new edition of the contract has it",
      states: ["escrow ACTIVE → FUNDING", "market PROVISIONING → ACTIVE"],
      tables: ["agent_markets", "agents", "chain_operations", "escrows"],
      activity: RECORDED_AT_REQUEST,
      events: { agent: ["agent.escrow_state_changed", "market.provisioned"] },
      ...NEW_VERSION,
    },
    {
      when: "the chain refuses",
      states: ["chain operation waiting → failed", "market PROVISIONING → FAILED"],
      tables: ["agent_markets", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
    },
    {
      when: "the chain refuses another wallet",
      states: ["chain operation waiting → failed", "market PROVISIONING → ACTIVE"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
      ...NEW_VERSION,
    },
    {
      when: "another wallet waits for the contract's delay",
      states: ["chain operation waiting → done", "market PROVISIONING → ACTIVE"],
      tables: ["agent_markets", "agents", "chain_operations", "escrows"],
      activity: ["agent.wallet_changed"],
      events: { agent: ["market.provisioned"] },
      ...NEW_VERSION,
      mails: ["customer.wallet_changed"],
    },
    {
      when: "a wallet that was not requested stays until the delay is over",
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
    },
    {
      when: "the delay is over",
      tables: ["agent_markets", "agents", "chain_operations", "escrows"],
      activity: ["agent.wallet_changed"],
      events: { agent: ["market.provisioned"] },
      ...NEW_VERSION,
      mails: ["customer.wallet_changed"],
    },
    {
      when: "the change was cancelled on-chain",
      states: ["alert none → open", "chain operation done → failed"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
      ...NEW_VERSION,
      alerts: ["operational_wallet"],
    },
    {
      when: "the chain does not answer",
      tables: ["chain_operations"],
      activity: RECORDED_AT_REQUEST,
    },
    {
      when: "no block takes the transaction",
      tables: ["agent_markets", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
    },
    {
      when: "the network's fees are above the bound",
      tables: ["agent_markets", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
    },
    {
      // The production market has completed the operation; the watch finds that within a minute (MKT-14).
      when: "a production market with another wallet has opened meanwhile",
      states: ["chain operation done → failed", "market PROVISIONING → FAILED"],
      tables: ["agent_markets", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
    },
    {
      when: "the agent has ended meanwhile",
      states: ["chain operation waiting → failed", "market PROVISIONING → FAILED"],
      tables: ["agent_markets", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
    },
    {
      when: "the registrar has no gas",
      states: ["alert none → open"],
      tables: ["agent_markets", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
      alerts: ["low_gas"],
    },
  ],

  follow_threshold: [
    {
      when: "the contract has it",
      tables: ["chain_operations", "escrows"],
      activity: BY_ITSELF,
    },
    { when: "the chain does not answer" },
  ],
};
