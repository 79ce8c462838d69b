// Reads the contract again after an operation (MKT-14, CHN-19), and compares it with the wallet that the markets want now. A reorg may have
// undone a registration, or a wallet that is no longer wanted may have arrived. Then the markets wait again and leave the document, and the
// queue repeats the operation.
import type { ProviderOnChain } from "../chain/gateway.ts";
import { hashDid } from "../chain/hashes.ts";
import { requireNetwork } from "../chain/networks.ts";
import { computeFirstCheck, postponeOperation, recordDriven, recordRecheck } from "../chain/operations.ts";
import { toSplitKey, toSplitPurpose } from "../chain/split.ts";
import { findOperation } from "../chain/store.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { SECOND_MS } from "../core/limits.ts";
import { retryConflicts } from "../core/retry.ts";
import { isFinal } from "../core/vocabulary.ts";
import { commit, type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { OperationRow } from "../db/tables/chain.ts";
import { setChainThreshold } from "../escrow/store.ts";
import { pickVaultThreshold } from "../escrow/threshold.ts";
import { parseCertificate } from "../identity/aid.ts";
import { findEscrows, findMarkets, findNewestVersion, findPublicAgent } from "../identity/store.ts";
import { tendOperations } from "../jobs/tend.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { createSigner } from "../objects/signers.ts";
import { signMarketChange } from "./own.ts";
import { findOwner, updateMarket } from "./store.ts";
import { decideWallet, OTHER_WALLET, pickAskedWallet, recordStrangeWallet, wasNeverProviders } from "./wallets.ts";

const REORGANISED = "reorganised";
const WITHDRAWN_WITHIN_MS = 20 * SECOND_MS;

export const watchRegistrations = tendOperations("watch_registrations", "provider_split", watchRegistration);

async function watchRegistration(deps: Deps, network: string, did: string): Promise<boolean> {
  const { db, chain } = deps;
  const { operation } = await readBatch(db, { operation: findOperation(db, toSplitKey(network, did)) });
  if (!operation || operation.nextCheckAt === null) return false;
  if (operation.status === "done") {
    const read = await chain.readProvider(network, hashDid(did));
    // A node that does not answer proves nothing: the next minute's run asks again.
    if (!read.ok) return false;
    if (isAsWanted(operation, read.value)) {
      await commit(db, [recordRecheck(db, operation, Date.now())]);
      return true;
    }
  }
  return retryConflicts(() => compareWithContract(deps, network, did));
}

const isAsWanted = ({ wanted }: OperationRow, { registered, operationalWallet, threshold }: ProviderOnChain): boolean =>
  registered && wanted["wallet"] === operationalWallet && threshold === BigInt(wanted["threshold"] ?? 0);

const buildWatchReads = ({ db }: Deps, network: string, did: string) => ({
  operation: findOperation(db, toSplitKey(network, did)),
  found: findPublicAgent(db, did),
  newest: findNewestVersion(db, did),
  sandbox: findMarkets(db, did, "sandbox"),
  production: findMarkets(db, did, "production"),
  sandboxEscrows: findEscrows(db, did, "sandbox"),
  productionEscrows: findEscrows(db, did, "production"),
  account: findOwner(db, did),
});
type Facts = ReadResults<ReturnType<typeof buildWatchReads>>;

/** Reads the rows before the chain: a change that the chain's answer does not include yet also changes the operation, and is a conflict. */
async function compareWithContract(deps: Deps, network: string, did: string): Promise<boolean> {
  const facts = await readBatch(deps.db, buildWatchReads(deps, network, did));
  const { operation } = facts;
  if (!operation || operation.nextCheckAt === null) return false;
  const read = await deps.chain.readProvider(network, hashDid(did));
  if (!read.ok) return false;
  const onChain = read.value;
  const held = onChain.registered ? onChain.operationalWallet : null;
  const rows = [...facts.production, ...facts.sandbox].filter((row) => row.network === network);
  const asked = rows.filter((row) => pickAskedWallet(row) !== null);
  const wish = decideWallet(rows);
  const arrived = asked.filter((row) => pickAskedWallet(row) === held && (held === wish || row.status === "ACTIVE"));
  const lost = rows.filter(
    (row) => row.status === "ACTIVE" && row.operationalWallet !== held && (held === null || row.pendingWallet !== held),
  );
  if (arrived.length > 0) {
    await commit(deps.db, postponeCheck(deps, operation));
    await provisionAgain(deps, arrived);
  } else if (wish !== null && lost.length > 0) {
    const strange = wasNeverProviders(held, network, [...facts.sandboxEscrows, ...facts.productionEscrows]);
    const reorganised = !strange && (held === null || operation.status === "done");
    await makeMarketsWait(deps, facts, operation, {
      held,
      lost,
      wish,
      reason: strange ? OTHER_WALLET : reorganised ? REORGANISED : null,
    });
  } else if (asked.some((row) => row.status === "PROVISIONING")) await commit(deps.db, postponeCheck(deps, operation));
  else if (wish === null) await commit(deps.db, postponeOperation(deps.db, operation, null, Date.now()));
  else await confirmSplit(deps, facts, operation, onChain);
  return true;
}

/** Waiting markets are driven by other jobs, so the check is postponed. */
const postponeCheck = ({ db }: Deps, operation: OperationRow): Statement[] =>
  postponeOperation(db, operation, computeFirstCheck(Date.now()), Date.now());

async function provisionAgain({ env }: Deps, rows: readonly MarketRow[]): Promise<void> {
  const [first] = rows;
  if (!first) return;
  const { did, network } = first;
  for (const environment of new Set(rows.map((row) => row.environment)))
    await env.CHAIN_QUEUE.send({ kind: "provision_market", did, environment, network });
}

type LostWallet = {
  /** The wallet that the contract has. */
  readonly held: string | null;
  readonly lost: readonly MarketRow[];
  readonly wish: string;
  /** Null: the contract has a wallet that was wanted earlier. */
  readonly reason: typeof REORGANISED | typeof OTHER_WALLET | null;
};

/** Makes open markets wait if they name another wallet than the contract: they then ask for the wallet that is wanted now. */
async function makeMarketsWait(
  deps: Deps,
  facts: Facts,
  operation: OperationRow,
  { held, lost, wish, reason }: LostWallet,
): Promise<void> {
  const { db } = deps;
  const { found, newest, sandbox, production, sandboxEscrows, productionEscrows, account } = facts;
  const { network, subject: did } = operation;
  if (!found) throw new Error("an operation without its agent");
  const now = deps.clock.now();
  const { environment } = found.agent;
  const waiting = new Map(
    lost.map((row): [MarketRow, MarketRow] => {
      return [row, { ...row, operationalWallet: wish, status: "PROVISIONING", reason, updatedAt: now }];
    }),
  );
  const own = environment === "sandbox" ? sandbox : production;
  const source = {
    ...found,
    certificate: newest && parseCertificate(newest.content),
    markets: own.map((row) => waiting.get(row) ?? row),
    escrows: environment === "sandbox" ? sandboxEscrows : productionEscrows,
  };
  const promised = lost.some((row) => row.environment === environment) && !isFinal(found.agent.status);
  await commitAll(deps, [
    ...postponeCheck(deps, operation),
    ...[...waiting].flatMap(([before, after]) => updateMarket(db, before, after)),
    ...(promised ? await signMarketChange(deps, source, now) : []),
    ...(reason === REORGANISED ? [raiseAlert(db, toUndoneAlert(deps, operation))] : []),
    ...(reason === OTHER_WALLET && held !== null
      ? recordStrangeWallet(
          deps,
          { did, network, environment },
          { account, escrows: [...productionEscrows, ...sandboxEscrows] },
          held,
        )
      : []),
  ]);
  await provisionAgain(deps, lost);
}

/** The contract has the markets' wallet. Its threshold is recorded as it is, so that the job corrects a wrong one (MKT-20). */
async function confirmSplit(
  deps: Deps,
  { sandboxEscrows, productionEscrows }: Facts,
  operation: OperationRow,
  onChain: ProviderOnChain,
): Promise<void> {
  const { db, env } = deps;
  const { network, subject: did } = operation;
  if (operation.status !== "done") {
    // A waiting transaction would change the wallet later.
    const left = await createSigner(env, "registrar", network).withdraw(
      toSplitPurpose(did),
      Date.now() + WITHDRAWN_WITHIN_MS,
    );
    if (!left.ok || left.value.state !== "clear") return commit(db, postponeCheck(deps, operation));
  }
  const threshold = Number(onChain.threshold);
  const behind = [...sandboxEscrows, ...productionEscrows]
    .filter((row) => row.network === network)
    .filter((row) => row.chainThreshold !== threshold);
  const gone = behind.some((row) => pickVaultThreshold(row) !== threshold);
  const wanted = { wallet: onChain.operationalWallet, threshold: String(threshold) };
  await commit(db, [
    ...recordDriven(db, operation, { state: "done", onChain, txHash: null }, { wanted }, Date.now()),
    ...(behind.length > 0 ? [setChainThreshold(db, { did, network }, threshold)] : []),
    ...(gone ? [raiseAlert(db, toUndoneAlert(deps, operation))] : []),
  ]);
}

const toUndoneAlert = ({ config }: Deps, { network, subject: did }: OperationRow): Alert => ({
  kind: "chain_reorganised",
  subject: `${did} on ${requireNetwork(config.networks, network).network}`,
  message: "A reorg undid the provider's registration or threshold; it is being repeated.",
});
