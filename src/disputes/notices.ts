// The mails about disputes (DSP-18): to the provider's account at a filing, to both accounts at the arbiter's decision. They quote neither the
// parties nor the arbiter.
import { formatTokenUnits, requireNetwork } from "../chain/networks.ts";
import type { Deps } from "../context.ts";
import type { Statement } from "../db/batch.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import type { NoticeAccount } from "../journal/notice-store.ts";
import { recordNoticeTo } from "../journal/notices.ts";

const pickDisputeData = ({ environment, disputeId, providerDid, consumerDid, currency }: DisputeRow) => ({
  ...{ environment, disputeId, providerDid, consumerDid, currency },
});

const formatDisputeAmount = ({ config }: Deps, { network }: DisputeRow, units: number): string =>
  formatTokenUnits(requireNetwork(config.networks, network), units);

export const recordFilingNotice = (deps: Deps, account: NoticeAccount | null, dispute: DisputeRow): Statement[] =>
  // Mails are dated in real time, whichever clock rules the dispute.
  recordNoticeTo(deps.db, account, deps.clock.now(), {
    kind: "customer.dispute_filed",
    data: {
      ...pickDisputeData(dispute),
      reason: dispute.reason,
      amount: formatDisputeAmount(deps, dispute, dispute.disputed),
      answersUntil: dispute.answersUntil,
    },
  });

/** An account that has both agents gets one mail. */
export function recordDecisionNotices(
  deps: Deps,
  accounts: { readonly sellersAccount: NoticeAccount | null; readonly buyersAccount: NoticeAccount | null },
  dispute: DisputeRow,
): Statement[] {
  const { sellersAccount, buyersAccount } = accounts;
  const { resolution } = dispute;
  if (resolution === null) throw new Error("unreachable: it is decided");
  const data = { ...pickDisputeData(dispute), resolution, refund: formatDisputeAmount(deps, dispute, dispute.refund) };
  const isOne = sellersAccount?.platformId === buyersAccount?.platformId;
  const sides = isOne ? [sellersAccount] : [sellersAccount, buyersAccount];
  return sides.flatMap((account) =>
    recordNoticeTo(deps.db, account, deps.clock.now(), { kind: "customer.dispute_decided", data }),
  );
}
