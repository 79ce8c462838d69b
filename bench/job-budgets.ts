// The budgets of jobs and of the follower's message, like those of the operations (budgets.ts).
import { BULK, type Budget, EACH, job, sweep } from "./budget.ts";

export const JOB_BUDGETS: Readonly<Record<string, Budget>> = {
  // Each job once: its own row is read in one trip with its due rows, which an index finds. A job that finds some writes its row.
  ...job("hand_on_events", { trips: 1, rowsRead: 4, rowsWritten: 0 }, { trips: 3, rowsRead: 4, rowsWritten: 2 }),
  ...job("list_events", { trips: 1, rowsRead: 4, rowsWritten: 0 }, { trips: 4, rowsRead: 8, rowsWritten: 5 }),
  ...job("prune_events", { trips: 1, rowsRead: 10, rowsWritten: 0 }, { trips: 3, rowsRead: 30, rowsWritten: 7 }),
  ...job("prune_idempotency_outcomes", BULK, { trips: 3, rowsRead: 9, rowsWritten: 2 }),
  ...job("end_attestations", EACH, { trips: 5, rowsRead: 19, rowsWritten: 23, queues: 1 }),
  ...job("notify_expiring", EACH, { trips: 5, rowsRead: 8, rowsWritten: 8, queues: 1 }),
  ...job("finish_cascades", EACH, { trips: 5, rowsRead: 19, rowsWritten: 16, queues: 1 }),
  ...job("restate_agents", EACH, { trips: 6, rowsRead: 20, rowsWritten: 9, queues: 1 }),
  ...job("note_authority_keys", EACH, { trips: 5, rowsRead: 5, rowsWritten: 4 }),
  ...job("open_status_lists", BULK),
  // Counting reads the taken places, whose number is added to these: once an hour.
  "job open_status_lists (counted)": sweep({ trips: 4, rowsRead: 5, rowsWritten: 2 }),
  ...job("auto_confirm_tasks", EACH, { trips: 5, rowsRead: 46, rowsWritten: 22, queues: 1 }),
  ...job("abandon_intents", BULK, { trips: 5, rowsRead: 19, rowsWritten: 9, queues: 1 }),
  ...job("spend_paid_intents", { ...EACH, rowsRead: 3 }, { trips: 5, rowsRead: 14, rowsWritten: 7 }),
  ...job("rate_abandoned_intents", EACH, { trips: 5, rowsRead: 25, rowsWritten: 11, queues: 1 }),
  // The job's own row; the clock of the one sandbox that was moved, and the due rows of each kind.
  ...job("sweep_sandboxes", { trips: 6, rowsRead: 30, rowsWritten: 4 }),
  ...job("follow_thresholds", EACH, { trips: 3, rowsRead: 3, rowsWritten: 2, queues: 1 }),
  // A provider whose markets already wait is sent to the queue again.
  ...job("move_editions", { ...EACH, rowsRead: 5 }, { trips: 6, rowsRead: 14, rowsWritten: 4, queues: 1 }),
  "job move_editions (a provider moves)": sweep({ trips: 7, rowsRead: 22, rowsWritten: 13, queues: 2 }),
  // A plan for each network, and the rows that it scans.
  "job move_editions (an edition is new)": sweep({ trips: 4, rowsRead: 10, rowsWritten: 3 }),
  ...job("apply_wallet_changes", { ...EACH, rowsRead: 3 }, { trips: 3, rowsRead: 4, rowsWritten: 2, queues: 1 }),
  ...job("resume_market_provisioning", { ...EACH, rowsRead: 3 }, { trips: 3, rowsRead: 4, rowsWritten: 2, queues: 1 }),
  ...job("watch_registrations", EACH, { trips: 5, rowsRead: 5, rowsWritten: 4, fetches: 1 }),
  ...job("end_dispute_days", EACH, { trips: 6, rowsRead: 89, rowsWritten: 10, queues: 2 }),
  ...job("publish_ratings", EACH, { trips: 5, rowsRead: 21, rowsWritten: 8, queues: 1 }),
  // A row for each environment says whether something is due.
  ...job("sign_directory_heads", { ...EACH, rowsRead: 5 }, { trips: 7, rowsRead: 12, rowsWritten: 7 }),
  ...job("index_directory", { ...EACH, rowsRead: 3 }, { trips: 5, rowsRead: 6, rowsWritten: 3 }),
  ...job("prune_directory", { ...EACH, rowsRead: 3 }, { trips: 5, rowsRead: 13, rowsWritten: 6 }),
  ...job("keep_reserves", EACH, { trips: 3, rowsRead: 4, rowsWritten: 3, queues: 1 }),
  ...job("pay_awards", EACH, { trips: 3, rowsRead: 4, rowsWritten: 3, queues: 1 }),
  ...job("fail_unpaid_refunds", EACH, { trips: 4, rowsRead: 6, rowsWritten: 4 }),
  // Forty escrows from one place and forty from the first, each with its markets and its agent.
  ...job(
    "find_leaving",
    { trips: 1, rowsRead: 300, rowsWritten: 0 },
    { trips: 3, rowsRead: 300, rowsWritten: 2, queues: 1 },
  ),
  ...job("release_escrows", { ...EACH, rowsRead: 3 }, { trips: 3, rowsRead: 6, rowsWritten: 3, queues: 1 }),
  // One of two networks is read, as by a message but with one row more for the run in the trigger. A message is sent for the other.
  ...job("follow_chains", { trips: 6, rowsRead: 200, rowsWritten: 2, queues: 1, fetches: 2 }),
  // Movements are read twice, in one more request, and recorded in between: two trips and a row. One more trip is for the calls that wait in the
  // authority. Each run compares forty vaults with their lines. Each further movement writes three rows; a payment that is bound to its intent writes
  // eight, three of them for its event.
  "message follow_chain": sweep({ trips: 6, rowsRead: 200, rowsWritten: 2, fetches: 4 }),
  "message follow_chain (a deposit)": sweep({ trips: 10, rowsRead: 220, rowsWritten: 7, fetches: 7 }),
  "message follow_chain (ten deposits)": sweep({ trips: 10, rowsRead: 350, rowsWritten: 34, fetches: 7 }),
  "message follow_chain (a payment)": sweep({ trips: 10, rowsRead: 260, rowsWritten: 14, queues: 1, fetches: 7 }),
  // Each payment is looked up among its provider's wallets (FAC-22).
  "message follow_chain (ten payments)": sweep({ trips: 10, rowsRead: 600, rowsWritten: 105, queues: 1, fetches: 7 }),
  // The keys' objects are asked for the senders, and the provider is read. An alert, and the escrow whose threshold is to be reset.
  "message follow_chain (an act of a key)": sweep({
    trips: 12,
    rowsRead: 290,
    rowsWritten: 14,
    objects: 4,
    fetches: 7,
  }),
  // Ten movements of one vault are one total. The rows that a run reads of its forty vaults depend on which vaults have their turn.
  "message follow_chain (a deposit, with a long ledger)": sweep({
    trips: 10,
    rowsRead: 350,
    rowsWritten: 7,
    fetches: 7,
  }),
  "message follow_chain (ten deposits, with a long ledger)": sweep({
    trips: 10,
    rowsRead: 350,
    rowsWritten: 25,
    fetches: 7,
  }),
  "message follow_chain (a payment, with a long ledger)": sweep({
    trips: 10,
    rowsRead: 350,
    rowsWritten: 14,
    queues: 1,
    fetches: 7,
  }),
  "message follow_chain (ten payments, with a long ledger)": sweep({
    trips: 10,
    rowsRead: 600,
    rowsWritten: 105,
    queues: 1,
    fetches: 7,
  }),
  ...job("tend_signers", { trips: 1, rowsRead: 2, rowsWritten: 0, objects: 2 }),
  ...job("tend_arbiters", { trips: 1, rowsRead: 2, rowsWritten: 0, objects: 2 }),
  ...job("sign_activity_heads", EACH, { trips: 6, rowsRead: 13, rowsWritten: 6 }),
  // Searches for its events that are not listed, too.
  ...job("erase_closed_accounts", EACH, { trips: 5, rowsRead: 9, rowsWritten: 4 }),
  ...job("sweep_documents", { ...BULK, trips: 1, rowsRead: 2 }),
  ...job("remove_unverified_accounts", BULK, { trips: 3, rowsRead: 34, rowsWritten: 4 }),
  ...job("prune_account_credentials", { ...BULK, rowsRead: 7 }, { trips: 3, rowsRead: 25, rowsWritten: 2 }),
  ...job("announce", BULK, { trips: 6, rowsRead: 8, rowsWritten: 5 }),
  // The trigger looks, and the message looks again.
  ...job("mail_notices", BULK, { trips: 6, rowsRead: 16, rowsWritten: 6 }),
  ...job("mail_alerts", BULK, { trips: 6, rowsRead: 5, rowsWritten: 4 }),
};
