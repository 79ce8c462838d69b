// The budgets, as data: the cost that every operation and job was built for. Costs are counted exactly, so any increase fails `npm run bench --
// --check`; a decrease is a reason to lower the number. A change that shows in the directory writes two rows for the entry, three if its place in the
// listing moves, and reads about five.

import { PUBLIC } from "../scripts/openapi/documents.ts";
import { JOBS } from "../src/cron.ts";
import { EVENT_TYPES } from "../src/journal/events.ts";
import { advance, type Budget, KIB, mutation, pageAhead, read, withoutDatabase } from "./budget.ts";
import { DIRECTORY_BUDGETS } from "./directory-budgets.ts";
import { DISPUTE_BUDGETS } from "./dispute-budgets.ts";
import { JOB_BUDGETS } from "./job-budgets.ts";
import { JOURNAL_BUDGETS } from "./journal-budgets.ts";
import { SESSION_BUDGETS } from "./session-budgets.ts";
import { WEBHOOK_BUDGETS } from "./webhook-budgets.ts";

export const BUDGETS: Readonly<Record<string, Budget>> = {
  // The agent's lock does not count as a subrequest.
  "GET /v1/agents/{did}/aid": read(3, 6 * KIB),
  "GET /v1/agents/{did}/aid (304)": read(3, 0),
  "GET /.well-known/aeap-ca-jwks": withoutDatabase(2 * KIB),
  "GET /v1/verify/challenge": withoutDatabase(300),
  "POST /v1/principals": mutation(15, 16, 2 * KIB),
  "POST /v1/principals (Idempotency-Key)": mutation(15, 16, 2 * KIB, { objects: 2 }),
  "POST /v1/principals (proven by a Verifier)": mutation(9, 14, 2 * KIB),
  "POST /v1/agents": mutation(14, 16, 6 * KIB),
  // An activity entry writes four rows, its own and three in indexes, and reads one: the number before it.
  "POST /v1/agents/{did}/activate": mutation(15, 22, 6 * KIB, { objects: 3 }),
  // Each platform that is a side adds a row to a list of transactions (FAC-19).
  "POST /v1/facilitate (intent)": mutation(22, 19, 4 * KIB, { objects: 1, fetches: 1 }),
  "POST /v1/facilitate (client form)": mutation(23, 19, 4 * KIB, { objects: 1, fetches: 1 }),
  "POST /v1/facilitate (client form, an older intent by name)": mutation(23, 19, 4 * KIB, { objects: 1, fetches: 1 }),
  // A second platform costs about seven rows, each delegator three.
  "POST /v1/facilitate (second platform)": mutation(32, 22, 4 * KIB, { objects: 1, fetches: 1 }),
  "POST /v1/facilitate (one delegator)": mutation(26, 22, 4 * KIB, { objects: 1, fetches: 1 }),
  "POST /v1/facilitate (two delegators)": mutation(29, 25, 4 * KIB, { objects: 1, fetches: 1 }),
  "POST /v1/facilitate (the vault reaches its threshold)": mutation(27, 24, 4 * KIB, { objects: 1, fetches: 1 }),
  // Reads the log index of every settlement of the transaction: one row each, and one beyond their range.
  "POST /v1/facilitate (100 settlements of its transaction before)": mutation(25 + 102, 22, 4 * KIB, {
    objects: 1,
    fetches: 1,
  }),

  // The rest of the path. A page of 20 reads each row, its principal's row, and one more to know whether there is a next page.
  "GET /v1/principals": read(25, 16 * KIB),
  "GET /v1/principals (external_ref=crm-1)": read(25, 16 * KIB),
  "GET /v1/principals (status=SUSPENDED)": read(25, 16 * KIB),
  "GET /v1/agents (status=DRAFT)": read(45, 24 * KIB),
  // The principal of an agent that is stored as SUSPENDED is not read.
  "GET /v1/agents (status=SUSPENDED)": read(30, 24 * KIB),
  "GET /v1/agents (economic_role=CONSUMER)": read(45, 24 * KIB),
  "GET /v1/principals/{principal_id}": read(4, 2 * KIB),
  "PATCH /v1/principals/{principal_id}": mutation(8, 10, 2 * KIB),
  // Each agent costs five rows read and thirteen written: its own, its certificate, entry, event, and its entry and record in the directory.
  "POST /v1/principals/{principal_id}/suspend": mutation(20, 19, 2 * KIB),
  "POST /v1/principals/{principal_id}/suspend (eleven agents)": mutation(72, 140, 2 * KIB),
  "POST /v1/principals/{principal_id}/reactivate": mutation(8, 9, 2 * KIB),
  "POST /v1/principals/{principal_id}/close": mutation(22, 21, 2 * KIB),
  "POST /v1/principals/{principal_id}/close (eleven agents)": mutation(84, 152, 2 * KIB),
  // Each agent costs seven rows read and two written. An agent that is reactivated gets a new certificate and version: about 23 and 15.
  "POST /v1/principals/{principal_id}/attestations": mutation(17, 13, 2 * KIB),
  "POST /v1/principals/{principal_id}/attestations (eleven agents)": mutation(87, 33, 2 * KIB),
  "POST /v1/principals/{principal_id}/attestations (eleven agents return)": mutation(282, 198, 2 * KIB, { trips: 3 }),
  "POST /v1/attestations/{attestation_id}/revoke (eleven agents, by an operator)": mutation(89, 156, KIB),
  "GET /v1/principals/{principal_id}/attestations": read(25, 16 * KIB),
  "POST /v1/customers": mutation(8, 7, KIB),
  "POST /v1/customers (Idempotency-Key)": mutation(9, 9, KIB, { objects: 2 }),
  "POST /v1/customers/{customer_id}/suspend": mutation(36, 25, KIB),
  "POST /v1/customers/{customer_id}/suspend (eleven agents)": mutation(88, 146, KIB),
  "POST /v1/customers/{customer_id}/suspend (a thousand principals)": mutation(5_200, 4_560, KIB, { queues: 2 }),
  // The guard that discards an unfinished reactivation of the customer's agents costs two rows.
  "POST /v1/customers/{customer_id}/reactivate": mutation(25, 15, KIB),
  "POST /v1/customers/{customer_id}/reactivate (a thousand principals)": mutation(4_550, 5_250, KIB, { queues: 2 }),
  "GET /v1/customers": read(26, 16 * KIB),
  "GET /v1/customers (external_ref=client-1)": read(5, KIB),
  "GET /v1/customers (status=ACTIVE)": read(25, 16 * KIB),
  "GET /v1/customers (status=SUSPENDED)": read(25, 16 * KIB),
  // The key and its platform cost 2 rows, then the key again for each range, and one row more than the page has.
  "GET /v1/principals (much has ended: no filter)": pageAhead(25, 16),
  "GET /v1/principals (much has ended: a customer)": pageAhead(25, 16),
  "GET /v1/principals (much has ended: customer_id=none)": pageAhead(25, 16),
  "GET /v1/principals (much has ended: external_ref=old-1)": pageAhead(5, 2),
  "GET /v1/principals (much has ended: status=ACTIVE)": pageAhead(25, 16),
  // With two ranges, the first row of the other range is read as well.
  "GET /v1/principals (much has ended: status=ATTESTATION_EXPIRED)": pageAhead(27, 16),
  "GET /v1/principals (much has ended: status=SUSPENDED)": pageAhead(25, 16),
  "GET /v1/principals (much has ended: status=CLOSED)": pageAhead(25, 16),
  // Rows that do not fit are read as well: here seven of ten, and every second one.
  "GET /v1/principals (much has ended: a customer and status=ATTESTATION_EXPIRED)": pageAhead(160, 16),
  "GET /v1/principals (much has ended: customer_id=none&status=ATTESTATION_EXPIRED)": pageAhead(50, 16),
  "GET /v1/agents (much has ended: no filter)": pageAhead(45, 24),
  "GET /v1/agents (much has ended: external_ref=ahead-1)": pageAhead(9, 4),
  "GET /v1/agents (much has ended: status=ACTIVE)": pageAhead(26, 24),
  "GET /v1/agents (much has ended: status=FUNDING)": pageAhead(26, 24),
  "GET /v1/agents (much has ended: status=SUSPENDED)": pageAhead(35, 24),
  "GET /v1/agents (much has ended: status=REVOKED)": pageAhead(45, 24),
  "GET /v1/agents (much has ended: economic_role=CONSUMER&status=SUSPENDED)": pageAhead(35, 24),
  "GET /v1/agents (much has ended: a principal and status=ACTIVE)": pageAhead(10, 2),
  "GET /v1/customers/{customer_id}": read(4, KIB),
  "PATCH /v1/customers/{customer_id}": mutation(11, 6, KIB),
  "DELETE /v1/customers/{customer_id}": mutation(10, 5, 0),
  "POST /v1/agents (422)": read(2, 2 * KIB),
  "GET /v1/agents": read(45, 24 * KIB),
  // The key and its platform 2, the agent in its scope 3, one market and one escrow: a range reads one row beyond its end. The agent's row has its
  // rating at this instant.
  "GET /v1/agents/{did}": read(9, 4 * KIB),
  // The agent as above, its counts, and ten events; an open intent or task costs one row more, up to a thousand of each.
  "GET /v1/agents/{did}/overview": read(41, 24 * KIB),
  // The key and its platform 2, the agent 2, the rows of the page and one more, and the first row of each of eight ranges.
  "GET /v1/agents/{did}/tasks": read(38, 24 * KIB),
  "GET /v1/agents/{did}/tasks (status=open)": read(30, 24 * KIB),
  "GET /v1/agents/{did}/tasks (status=confirmed)": read(36, 24 * KIB),
  "GET /v1/agents/{did}/tasks (status=auto_confirmed)": read(30, 24 * KIB),
  "GET /v1/agents/{did}/tasks (status=disputed)": read(4, KIB),
  "GET /v1/agents/{did}/tasks (outcome=confirmed)": read(32, 24 * KIB),
  "GET /v1/agents/{did}/tasks (outcome=partial)": read(30, 24 * KIB),
  "GET /v1/agents/{did}/tasks (since=2026-01-01T00:00:00Z)": read(38, 24 * KIB),
  "GET /v1/agents/{did}/transactions": read(30, 32 * KIB),
  "GET /v1/agents/{did}/events": read(40, 64 * KIB),
  // The key and its platform 2, the key again for each of three ranges and the first row of each, and one row more than the page has.
  "GET /v1/tasks": read(175, 32 * KIB),
  "GET /v1/tasks (role=provider)": read(175, 32 * KIB),
  "GET /v1/tasks (role=consumer)": read(280, 32 * KIB),
  "GET /v1/tasks (did)": read(285, 32 * KIB),
  "GET /v1/tasks (since=2026-01-01T00:00:00Z)": read(175, 32 * KIB),
  // Scans a thousand of the newest, three rows each.
  "GET /v1/tasks (status=open)": read(3_012, 32 * KIB),
  "GET /v1/transactions": read(30, 32 * KIB),
  "GET /v1/transactions (role=provider)": read(28, 32 * KIB),
  "GET /v1/transactions (role=consumer)": read(28, 32 * KIB),
  "GET /v1/transactions (did)": read(30, 32 * KIB),
  "GET /v1/transactions (since=2026-01-01T00:00:00Z)": read(30, 32 * KIB),
  "POST /v1/agents/{did}/certificate": mutation(20, 13, 4 * KIB, { objects: 1 }),
  "POST /v1/agents/{did}/rotate-key": mutation(22, 22, 6 * KIB, { objects: 3 }),
  // Two rows are the amount that the sandbox's vault reserves for disputes. In both environments there are a market and an escrow on one vault; the
  // rows that a provider writes beyond a consumer's are these and a count.
  "POST /v1/agents/{did}/environment": mutation(44, 23, 6 * KIB, { objects: 1 }),
  "POST /v1/agents/{did}/environment (a consumer)": mutation(34, 23, 6 * KIB, { objects: 1 }),
  "POST /v1/agents/{did}/transfer": mutation(23, 22, 6 * KIB, { objects: 1 }),
  "POST /v1/agents/{did}/transfer (Idempotency-Key)": mutation(24, 24, 6 * KIB, { objects: 3 }),
  "POST /v1/agents/{did}/revoke": mutation(16, 17, 6 * KIB, { objects: 1 }),
  "PATCH /v1/agents/{did}": mutation(20, 12, 6 * KIB, { objects: 1 }),
  "PATCH /v1/agents/{did}/scope": mutation(19, 16, 6 * KIB, { objects: 1 }),
  "PATCH /v1/agents/{did}/status": mutation(17, 16, 6 * KIB, { objects: 1 }),
  "PATCH /v1/agents/{did}/status (TERMINATED)": mutation(16, 17, 6 * KIB, { objects: 1 }),
  "PATCH /v1/agents/{did}/status (its principal has stopped it)": mutation(15, 16, 6 * KIB, { objects: 1 }),
  // One more pair of trips before and after the chain's part, so that a crash between them is resumed, and the lock that lets one call at a time
  // change the agent's markets. The account is read for a notice about another wallet.
  "POST /v1/agents/{did}/scope/authorized_markets": mutation(28, 21, 4 * KIB, {
    trips: 5,
    objects: 3,
    queues: 2,
    fetches: 4,
  }),
  // One row more, which counts the mainnet registrations.
  "POST /v1/agents/{did}/scope/authorized_markets (on a mainnet with a sandbox key)": mutation(31, 22, 4 * KIB, {
    trips: 5,
    objects: 3,
    queues: 2,
    fetches: 4,
  }),
  "DELETE /v1/agents/{did}/scope/authorized_markets/{market}": mutation(19, 13, 0, { objects: 1 }),
  "GET /v1/agents/{did}/scope/authorized_markets": read(9, 2 * KIB),
  // Ten lines of the vault, each with its transaction.
  "GET /v1/agents/{did}/escrow": read(40, 6 * KIB),
  // Writes the wish, then the chain's answer, and then the rest of the wish.
  "POST /v1/agents/{did}/escrow/release": mutation(35, 12, 2 * KIB, { trips: 5, objects: 2, fetches: 4 }),
  // The lines that the follower books after reading them twice, and the comparison of the vault with its lines.
  "POST /v1/agents/{did}/escrow/sync": mutation(55, 7, 6 * KIB, { trips: 11, queues: 0, fetches: 7 }),
  "GET /v1/platform": read(5, 4 * KIB),
  "GET /v1/platform (session)": read(5, 4 * KIB),
  "PATCH /v1/platform": mutation(8, 5, 4 * KIB),
  // The caller is read before the body, 2 rows, and again with the rest, 2; the file itself is in R2.
  "POST /v1/platform/documents (1 MiB)": mutation(12, 8, KIB, { trips: 3 }),
  "GET /v1/platform/documents": read(25, 16 * KIB),
  "GET /v1/platform/documents/{document_id}": read(5, KIB),
  "POST /v1/platform/verification": mutation(8, 11, 2 * KIB),
  // Writes at most one slice: about eight rows read and eleven written for each agent of the first slice, however many the account has.
  "POST /v1/platform/close": mutation(85, 42, KIB, { objects: 4 }),
  "POST /v1/platform/close (eleven agents)": mutation(177, 172, KIB, { objects: 4 }),
  "POST /v1/operator/platforms/{platform_id}/suspend": mutation(33, 27, KIB),
  "POST /v1/operator/platforms/{platform_id}/suspend (eleven agents)": mutation(125, 157, KIB),
  "POST /v1/operator/platforms/{platform_id}/reinstate": mutation(24, 26, KIB),
  "POST /v1/operator/platforms/{platform_id}/reinstate (eleven agents)": mutation(138, 146, KIB),
  "GET /v1/agents/{did}/aid (application/jwt)": read(3, 8 * KIB),
  "GET /v1/agents/{did}/aid (earlier version)": read(1, 6 * KIB),
  "GET /v1/agents/{did}/aid (revision)": read(3, 6 * KIB),
  // Another party's change made the document stale: the same statement reads its facts, then it is signed and stored.
  "GET /v1/agents/{did}/aid (stale: signed anew)": read(8, 6 * KIB, { trips: 2, rowsWritten: 1 }),
  // Reads the text that was signed within the last minute; or signs all exceptions of the list, which are counted separately: one row for the list,
  // one for the end of its range, and one for keeping the text, which D1 counts as read and as written.
  "GET /.well-known/aeap-status-lists/{n}": read(1, KIB),
  "GET /.well-known/aeap-status-lists/{n} (signed anew)": read(3, 16 * KIB, { trips: 2, rowsWritten: 1 }),
  // The agent, whose row has its rating at this instant and its escrow's state, and its principal. In a sandbox, one row more for the platform whose
  // clock dates the rating.
  "GET /v1/agents/{did}/status": read(2, KIB),
  "GET /v1/agents/{did}/status (in a sandbox)": read(3, KIB),
  "GET /v1/facilitations/{facilitation_id}": read(1, KIB),
  "GET /v1/agents/{did}/rating": read(1, KIB),
  "GET /v1/agents/{did}/rating (in a sandbox)": read(2, KIB),
  "GET /v1/agents/{did}/certificate": read(2, 4 * KIB),
  "GET /v1/agents/{did}/did.json": read(2, 2 * KIB),
  "GET /v1/agents/{did}/did-web/did.json": read(2, 3 * KIB),
  "GET /1.0/identifiers/{identifier}": read(2, 3 * KIB),
  "GET /1.0/identifiers/{identifier} (a part)": read(2, 2 * KIB),
  "GET /contexts/aeap/v1": withoutDatabase(KIB),
  "GET /v1/markets": withoutDatabase(16 * KIB),
  "GET /.well-known/aeap-ca-jwks.json": withoutDatabase(2 * KIB),
  "GET /.well-known/aeap": withoutDatabase(KIB),
  "GET /v1/rating-method": withoutDatabase(2 * KIB),
  "POST /v1/verify/certificate": read(3, 4 * KIB),
  // The certificate's row, as above (IDN-25).
  "POST /v1/verify/proof (challenge)": read(3, KIB, { objects: 1 }),
  "POST /v1/verify/proof (bound)": read(3, KIB),
  "POST /v1/verify/aid": withoutDatabase(KIB),
  // Grows with the operations and webhooks, because each has its examples.
  "GET /openapi.json": withoutDatabase((PUBLIC.length + EVENT_TYPES.length) * 4_000),
  "GET /healthz": withoutDatabase(100),
  // For each network that could settle the order: how far it was read, and any other reason to close it.
  "POST /v1/payment-intents": mutation(37, 9, 2 * KIB, { objects: 1 }),
  "POST /v1/payment-intents (Idempotency-Key)": mutation(38, 11, 2 * KIB, { objects: 3 }),
  "GET /v1/payment-intents": read(60, 24 * KIB, { objects: 1 }),
  "GET /v1/payment-intents (status=SETTLED)": read(20, 4 * KIB, { objects: 1 }),
  // The chain is read to its head between the two trips, and the result is recorded (PAY-23). A turn of the follower checks up to twenty paid intents
  // of others for the end of their time.
  "POST /v1/payment-intents/{intent_id}/cancel": mutation(37, 9, 2 * KIB, {
    trips: 5,
    objects: 1,
    queues: 1,
    fetches: 1,
  }),
  "GET /v1/payment-intents/{intent_id}": read(5, 2 * KIB, { objects: 1 }),
  // A network that was once behind real time has a row for that.
  "POST /v1/agents/{did}/spend-policy/evaluate": read(28, 2 * KIB, { objects: 1 }),
  "POST /v1/agents/{did}/spend-policy/evaluate (management key)": read(28, 2 * KIB),
  "GET /v1/payment-address": read(5, KIB, { objects: 1 }),
  "GET /v1/payment-address (intent)": mutation(35, 9, KIB, { objects: 1 }),
  "POST /v1/facilitate (retry)": read(25, 4 * KIB, { objects: 1 }),
  "GET /v1/tasks/{task_id}": read(6, 2 * KIB, { objects: 1 }),
  "POST /v1/tasks/{task_id}/confirm": mutation(41, 20, 2 * KIB, { objects: 1 }),
  // The four heaviest counterparties of each side, and a second market of the provider.
  "POST /v1/tasks/{task_id}/confirm (agents that have traded with many)": mutation(51, 20, 2 * KIB, { objects: 1 }),

  // The password and the address. Objects: a derivation takes a place; an attempt is counted together with it and for its account, and is released
  // afterwards. One row of a link counts its mail (ACC-31).
  "POST /v1/platform/register": mutation(6, 15, KIB, { objects: 1 }),
  "POST /v1/platform/verify-email": mutation(12, 18, KIB, { objects: 4 }),
  // Each table of the account is searched by the account, its volume of the day among them.
  "POST /v1/platform/verify-email/refuse": mutation(30, 20, 0, { queues: 0 }),
  // One more trip after the answer, for an address that waits.
  "POST /v1/platform/verify-email/resend": mutation(5, 4, 300, { queues: 0 }),
  "POST /v1/platform/promote": mutation(9, 14, KIB),
  "GET /v1/platform/keys": read(5, KIB),
  "GET /v1/sandbox/clock": read(8, KIB),
  // The clock, the move, the due rows of each kind, and the intents that are open in any sandbox.
  "POST /v1/sandbox/clock/advance": mutation(26, 6, KIB, { trips: 3 }),
  "POST /v1/sandbox/clock/advance (100 tasks and 100 intents)": advance(1_300, 15),
  "POST /v1/sandbox/clock/advance (100 tasks, 100 intents and 10 disputes)": advance(1_380, 16),
  "POST /v1/platform/keys/rotate": mutation(12, 16, KIB),
  // Links to a contact end too. A reset also forgets the account's failures from all addresses.
  "POST /v1/platform/password": mutation(11, 8, 200, { objects: 4 }),
  "POST /v1/platform/password/forgot": mutation(4, 3, 100, { queues: 0 }),
  "POST /v1/platform/password/reset": mutation(9, 8, 200, { objects: 3 }),
  "POST /v1/platform/email": mutation(13, 4, 100, { objects: 4, queues: 0 }),
  // The password is read, and guarded.
  "POST /v1/platform/verify-email (a new address)": mutation(8, 11, 300, { objects: 4 }),
  "GET /v1/platform/verify-email": withoutDatabase(2 * KIB),
  "GET /v1/platform/password/reset": withoutDatabase(2 * KIB),
  // Operators have no rows in the database, so the act's own trip is the only one.
  "POST /v1/operator/notices": mutation(1, 6, KIB, { trips: 1, queues: 0 }),

  // Operators: pages, and one row for each job.
  "GET /v1/operator/platforms": read(21, 16 * KIB),
  "GET /v1/operator/platforms (status=SUSPENDED)": read(21, 16 * KIB),
  "GET /v1/operator/platforms/{platform_id}": read(2, 2 * KIB),
  "GET /v1/operator/platforms/{platform_id}/documents": read(25, 16 * KIB),
  // Each read is recorded before the first byte is sent.
  "GET /v1/operator/platforms/{platform_id}/documents/{document_id}": mutation(4, 4, 2 * KIB, { queues: 0 }),
  // With the attestation of its company: the principal, its history, and its agents.
  "POST /v1/operator/platforms/{platform_id}/decision (approve)": mutation(20, 18, 2 * KIB),
  "POST /v1/operator/platforms/{platform_id}/decision (reject)": mutation(18, 15, 2 * KIB),
  "POST /v1/operator/platforms/{platform_id}/attestation": mutation(14, 12, KIB),
  "POST /v1/operator/verifiers": mutation(1, 4, KIB, { trips: 1, queues: 0 }),
  "GET /v1/operator/verifiers": read(21, 16 * KIB),
  "GET /v1/operator/verifiers/{verifier_id}": read(1, KIB),
  "PATCH /v1/operator/verifiers/{verifier_id}": mutation(3, 4, KIB, { queues: 0 }),
  // One row for each key that the service ever had.
  "GET /v1/operator/ca": read(1, KIB),
  // One row for each job, and five for each network of the bench.
  "GET /v1/operator/jobs": read(JOBS.length + 10, JOBS.length * 195),
  // For each network: its standing and its follower's place, the address of each key, and one request to each node.
  "GET /v1/operator/networks": read(10, 4 * KIB, { objects: 2, fetches: 2 }),
  "GET /v1/operator/alerts": read(25, 8 * KIB),
  "GET /v1/operator/reconciliation": read(65, 16 * KIB),
  "GET /v1/operator/reconciliation (did)": read(65, 16 * KIB),
  "GET /v1/operator/reconciliation (network)": read(65, 16 * KIB),
  "GET /v1/operator/activity": read(25, 16 * KIB),
  "GET /v1/operator/activity (actor)": read(25, 16 * KIB),
  "GET /v1/operator/activity (action)": read(25, 16 * KIB),
  "POST /v1/operator/alerts/{alert_id}/acknowledge": mutation(3, 4, KIB, { queues: 0 }),

  ...DIRECTORY_BUDGETS,
  ...DISPUTE_BUDGETS,
  ...JOB_BUDGETS,
  ...JOURNAL_BUDGETS,
  ...SESSION_BUDGETS,
  ...WEBHOOK_BUDGETS,
};

/** The aim for facilitations a second with one provider, as a share of those with many. */
export const BUSY_RATIO = 0.8;

/** The aim for the p95 of a healthy endpoint while others are dead, relative to its p95 alone. Printed, never a gate. */
export const LAG_RATIO = 2;

export const BUNDLE_GZIP_KIB = 376;
export const STARTUP_MEDIAN_MS = 150;

/** Aims for the ratio of the median latency, printed next to the measured ratio. A slow machine is no reason to fail. */
export const RATIO_TARGETS: Readonly<Record<string, { base: "hello" | "row"; atMost: number }>> = {
  "GET /v1/agents/{did}/aid": { base: "row", atMost: 1.25 },
  "POST /v1/principals": { base: "row", atMost: 2.4 },
  "POST /v1/agents": { base: "row", atMost: 3.5 },
  "POST /v1/payment-intents": { base: "row", atMost: 3.8 },
  "POST /v1/facilitate (intent)": { base: "row", atMost: 5.5 },
  "POST /v1/tasks/{task_id}/confirm (agents that have traded with many)": { base: "row", atMost: 3.4 },
  "POST /v1/agents (422)": { base: "row", atMost: 1.5 },
  "GET /v1/agents": { base: "row", atMost: 1.8 },
  "GET /v1/principals": { base: "row", atMost: 1.8 },
};
