// The operators' side of disputes (DSP-16): the list of all disputes, and the arbiter's verdict with its signed award.
import { type OperatorCall, readPage } from "../call.ts";
import { formatTokenUnits, requireNetwork, toCaip2 } from "../chain/networks.ts";
import { commitAll } from "../commit.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { SECOND_MS } from "../core/limits.ts";
import { tryMove } from "../core/machine.ts";
import { parseAmount } from "../core/money.ts";
import { hashListing, type Page } from "../core/page.ts";
import { Conflict } from "../core/retry.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { signAward } from "../protocol/award.ts";
import { verdictReads } from "../tasks/verdict.ts";
import { isSettlementReversed, recordEscalation } from "./deadlines.ts";
import { type Ended, endDispute, pickClockOffset } from "./end.ts";
import { noteDecision } from "./entries.ts";
import { listAllDisputes } from "./list-store.ts";
import { recordDecisionNotices } from "./notices.ts";
import type { OperatorDisputeQuery, VerdictInput } from "./operator-schema.ts";
import { queueReserve } from "./reserve.ts";
import type { DisputeFile } from "./responses.ts";
import type { DisputeView } from "./schema.ts";
import { disputeMachine, toEffectiveDispute } from "./states.ts";
import {
  findBothAccounts,
  findDispute,
  findEvidence,
  findMessages,
  findRefundedDispute,
  putAward,
  type RefundedDispute,
  selectTaskOfDispute,
} from "./store.ts";
import { toDisputeFile, toDisputePage } from "./views.ts";

export async function getAllDisputes(call: OperatorCall, query: OperatorDisputeQuery): Promise<Page<DisputeView>> {
  const { db, deps } = call;
  const filter = { status: query.status, platformId: query.platform_id, environment: query.environment };
  const page = await readPage(call, query, hashListing("all disputes", [], filter));
  const real = deps.clock.now();
  const { found } = await call.read({ found: listAllDisputes(db, filter, real, page) });
  return toDisputePage(deps.config, found, page, real);
}

type DisputePath = { readonly dispute_id: string };

export const findNamedDispute = ({ db }: OperatorCall, { dispute_id }: DisputePath) => findDispute(db, dispute_id);
export const findNamedRefunded = ({ db }: OperatorCall, { dispute_id }: DisputePath) =>
  findRefundedDispute(db, dispute_id);

export async function resolveDispute(
  call: OperatorCall<RefundedDispute>,
  disputeId: string,
  input: VerdictInput,
): Promise<DisputeFile> {
  const { db, deps } = call;
  const done = await retryUnderLocks(deps.env, async (touches) => {
    const reads = {
      ...verdictReads(db, selectTaskOfDispute(disputeId)),
      messages: findMessages(db, disputeId),
      evidence: findEvidence(db, disputeId),
      ...findBothAccounts(db, disputeId),
    };
    const {
      caller,
      object: found,
      messages,
      evidence,
      sellersAccount,
      buyersAccount,
      ...read
    } = await call.read(reads);
    const facts = { ...read, found };
    const { dispute: before } = found;
    touches([before.providerDid, before.consumerDid]);
    const now = deps.clock.now() + pickClockOffset(facts);
    const present = toEffectiveDispute(before, now);
    const refund = parseAwardedRefund(call, before, input);
    if (!tryMove(disputeMachine, present.status, "resolve").ok) throw toNotInArbitrationError(present);
    if (isSettlementReversed(facts)) throw toReversedSettlementError(present);
    // If no job has recorded that the parties' days are over, this call does.
    if (before.status !== present.status) {
      await commitAll(deps, recordEscalation(deps, before, "days_end", before.answersUntil, now).statements);
      throw new Conflict(new Error("the dispute has just come to its arbiter"));
    }
    const ending = {
      resolution: input.resolution,
      refund,
      from: refund > 0 ? ("vault" as const) : null,
      endedBy: "arbiter" as const,
      finding: input.reason,
    };
    const ended = endDispute(deps, facts, before, "resolve", ending, now);
    const award = await signDisputeAward(call, ended.row, now);
    const view = toDisputeFile(deps.config, { dispute: ended.row, award, messages, evidence }, now);
    await call.commit(
      [
        ...ended.statements,
        putAward(db, disputeId, award),
        ...recordDecisionNotices(deps, { sellersAccount, buyersAccount }, ended.row),
        ...noteDecision(db, caller.actor, found, view, now),
        recordOperatorEntry(db, caller.actor, deps.clock.now(), {
          action: "dispute.resolved",
          subject: { type: "dispute", id: disputeId },
          platformId: before.consumerPlatformId,
          detail: { resolution: input.resolution, refund_amount: view.refund_amount },
        }),
      ],
      view,
    );
    return { ended, view };
  });
  call.background(queueReserve(deps, done.ended.row));
  return done.view;
}

const toNotInArbitrationError = ({ status, resolution }: DisputeRow): ServiceError =>
  new ServiceError("invalid_status", {
    message: `The dispute is in ${status}: an arbiter can decide it only in arbitration.`,
    detail: { status, ...(resolution !== null && { resolution }) },
  });

const toReversedSettlementError = ({ status }: DisputeRow): ServiceError =>
  new ServiceError("invalid_status", {
    message: "A reorg removed the settlement: there is nothing to decide.",
    detail: { status },
  });

/** The arbiter awards all that is disputed unless the input names less. */
function parseAwardedRefund(
  { deps }: OperatorCall,
  { network, disputed }: DisputeRow,
  { resolution, refund_amount: given }: VerdictInput,
): number {
  if (resolution === "rejected") return 0;
  if (given === undefined || given === null) return disputed;
  const parsed = parseAmount(given, requireNetwork(deps.config.networks, network).decimals);
  if (!parsed.ok) throw toValidationError([toFieldError("refund_amount", parsed.fault)]);
  if (parsed.units === 0) throw toValidationError([toFieldError("refund_amount", "too_small")]);
  if (parsed.units <= disputed) return parsed.units;
  throw toValidationError([toFieldError("refund_amount", "too_big", "Must be at most the disputed amount.")]);
}

async function signDisputeAward({ deps }: OperatorCall, row: Ended["row"], now: number): Promise<string> {
  const network = requireNetwork(deps.config.networks, row.network);
  const amount = (units: number) => formatTokenUnits(network, units);
  const { resolution, bountyBy } = row;
  if (resolution === null || resolution === "settled" || resolution === "withdrawn" || bountyBy === null)
    throw new Error("unreachable: an arbiter decides for one side");
  const { signing } = await deps.ca();
  return signAward(
    {
      iss: deps.config.issuer,
      iat: Math.floor(deps.clock.now() / SECOND_MS),
      jti: row.disputeId,
      environment: row.environment,
      transaction_id: row.transactionId,
      provider_did: row.providerDid,
      consumer_did: row.consumerDid,
      network: row.network,
      caip2: toCaip2(network),
      contract: row.contract,
      settlement_key: row.settlementKey,
      reason: row.reason,
      resolution,
      disputed_amount: amount(row.disputed),
      refund_amount: amount(row.refund),
      bounty_amount: amount(row.bounty),
      bounty_owed_by: bountyBy,
      currency: row.currency,
      finding: row.finding ?? "",
      filed_at: toIso(row.filedAt),
      resolved_at: toIso(now),
    },
    signing,
  );
}
