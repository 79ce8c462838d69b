// Descriptions of operations and of their answers in the OpenAPI documents, by operationId. An operation without one is described by its summary.

export const OPERATIONS: Readonly<Record<string, string>> = {
  // ---- Platform ----------------------------------------------------------------------------------------------------------
  patchPlatform:
    "Changes the account's profile. A complete profile takes a new account to KYB_PENDING. The tenant principal follows the name and the " +
    "country, and so do the identity documents of its agents. After the submission for review, a new `legal_name`, `country` or " +
    "`registration_number` is a proposal by a session (`pending_profile`), which takes effect once an operator approves it. A new " +
    "`admin_contact_email` takes effect once its mailed link is opened. A key that would change one of these, or `promotion_by`, gets 403 " +
    "`forbidden`, and so does every change by a key in its grace. A session may set `promotion_by` and `admin_contact_email` only within ten " +
    "minutes after its log-in or its confirmation (confirmSession); later it gets 403 with `type` `confirmation_required`.",
  registerPlatform:
    "Registers a platform account and mails a link to its address. The account begins when the link is opened.",
  verifyEmail:
    "Verifies an address with the token of a mailed link, which is used up, and the account's password. The first verification issues the " +
    "sandbox key, once; the verification of a new address makes it the account's address. The link of an admin contact takes no password and " +
    "makes the address the contact. A wrong password leaves the token unused and counts as a failed log-in.",
  refuseVerification:
    "Refuses a mailed link and uses its token up. An account that was registered with this address and never verified is deleted, and the " +
    "address is free again; any other link only ends.",
  resendVerification:
    "Mails the verification link again, at most once a minute and five times an hour, including the mail of the sign-up. Only the link that " +
    "was mailed last counts. The answer is the same for every address.",
  logIn:
    "Opens a session, which may do what a management key may and is the only credential for the account's own routes. The token is also set " +
    "as a cookie, for browsers. The session ends after 12 hours without use, and after 30 days. With TOTP set up, a log-in with the right " +
    "password and without a code is refused with `type` `totp_required`, and with a wrong code with `totp_invalid`. After 100 failures " +
    "within 24 hours, from whatever networks, an address accepts log-ins only from networks that were used to log in to it within the last " +
    "90 days.",
  listSessions: "Returns the sessions that have not ended, latest log-in first.",
  endOtherSessions: "Ends all sessions except the calling one.",
  confirmSession:
    "Confirms the session for ten minutes, in which it may rotate keys, promote, and change what else protects the account. Otherwise those " +
    "calls refuse it with `type` `confirmation_required`. With TOTP set up, only `totp` counts. A failure counts as a failed log-in.",
  changePassword: "Changes the password, and ends every other session and every link that was mailed before.",
  forgotPassword:
    "Mails a link to the verified address of an account, at most once a minute and five times an hour; only the last link counts. The answer " +
    "is the same for every address.",
  resetPassword:
    "Resets the password with the token of a mailed link, which is used up, and ends every session and every other link. A faulty new " +
    "password leaves the token unused.",
  changeEmail:
    "Mails a link to the new address, at most one a minute and five an hour. The change takes effect when the link's token is verified " +
    "(verifyEmail); until then the old address stays. Sessions continue.",
  setUpTotp:
    "Returns the secret for an authenticator app (RFC 6238: SHA-1, six digits, 30 seconds) and ten recovery codes, once. No call needs a " +
    "code until confirmTotp; a set-up that was not confirmed is replaced.",
  confirmTotp:
    "Confirms TOTP with a code of the app. From then on log-ins and confirmations need a code, and the other sessions have ended. A wrong " +
    "code counts as a failed log-in.",
  removeTotp:
    "Removes TOTP. The call needs the password, and a code of the app or a recovery code. The other sessions end.",
  openVerificationPage:
    "Returns the page that the mailed link opens, for people. Opening it uses nothing up: its script sends the token by POST to the same " +
    "path.",
  openResetPage:
    "Returns the page that the mailed link opens, for people. Opening it uses nothing up: its script sends the token by POST to the same " +
    "path.",
  promotePlatform:
    "Promotes the account to production, once, after accreditation, and issues the production key; it moves no agent and makes no market. A " +
    "session may promote, and so may the current sandbox key while the account's `promotion_by` is `key`; a session needs a log-in or a " +
    "confirmation (confirmSession) within the last ten minutes.",
  listKeys: "Returns the keys that work, of both environments, newest first. The key itself is never shown again.",
  rotateKey:
    "Replaces a management key. The previous key ends at once, or after `grace_hours`; a further rotation ends an earlier grace. The current " +
    "key rotates the key of its own environment; a key in its grace rotates none. A session rotates the key of `environment`, else of " +
    "`Service-Environment`, else of the sandbox, and needs a log-in or a confirmation (confirmSession) within the last ten minutes.",
  submitDocument:
    "Submits a PDF, PNG or JPEG of at most 10 MiB, whose format is judged by its bytes. A document of a required type supersedes the current " +
    "one in any state; during a review the new document becomes part of the review. Supporting documents are added to the others.",
  listDocuments: "Returns the documents, newest first, including superseded ones.",
  getDocument: "Returns a document without its file, which only the review may read.",
  submitVerification:
    "Submits the account for review, which needs a complete profile and the required documents. Missing items are named in `field_errors`.",
  advanceSandboxClock:
    "Moves the sandbox's clock forward, at most 400 days ahead in total, and at most 30 days at once if more than 1,000 rows would fall due. " +
    "Tasks, disputes, intents and attestations that fell due are recorded before the call answers. Proofs, keys, sessions, certificates, " +
    "idempotency and quotas stay on real time.",
  listActivity:
    "Returns the log of both environments, newest first by `seq`; either key may read it. `subject_id`, `action` and `actor` are indexed. " +
    "The other filters are compared within at most 1,000 entries of that range a page: if few of them match, a page may hold fewer entries " +
    "than `limit`, or none, and still have more. `Accept: text/csv` streams all entries of at most 31 days, by default the last 31; it takes " +
    "no cursor and ignores `limit`.",
  listActivityHeads:
    "Returns the signed heads of the log, newest first. A head is signed once a day if entries were added. Every hash covers all entries " +
    "before it, so a reader who keeps a head can show that no entry up to it was changed since.",
  verifyActivity:
    "Recomputes the running hash from `from` to `to`, both included, and compares it with the stored hashes and the signed heads. One call " +
    "verifies at most 1,000 entries; while `has_more` is true, call again with `from` = `last_id`.",
  closePlatform:
    "Closes the account for good. The confirmation is the account's legal name, or its email address if it has no name. Keys, sessions, " +
    "links and the password end at once; every agent of both environments is REVOKED and every principal CLOSED. The call is refused while a " +
    "dispute of either environment is open, or an escrow holds funds in production; test money blocks nothing. The history stays readable " +
    "for the other side of each purchase.",
  // ---- Operator ----------------------------------------------------------------------------------------------------------
  removePlatformTotp:
    "Removes an account's TOTP, for a person who has lost the app and the recovery codes and whose identity is certain. Every session of the " +
    "account ends, and its owner gets a mail.",
  readPlatformDocument: "Returns the file of a document. Each reading is recorded in the operators' log.",
  decideVerification:
    "Decides a review. An approval accredits the account, at `TIER_2` unless another tier is named, and attests its tenant principal for " +
    "twelve months. A rejection needs a reason, which the account can see; the account may submit again. With `subject: profile` the " +
    "decision is about the account's `pending_profile`, and an approval changes what is signed. `proposed_at` ensures that the decision is " +
    "about the proposal that was seen.",
  renewTenantAttestation:
    "Renews the attestation of the tenant principal for twelve months, unless `expires_at` names an earlier end. The tenant principal " +
    "returns from ATTESTATION_EXPIRED; the platform has to reactivate each of its agents.",
  getPlatformUsage:
    "Returns the events, deliveries and mails of the present UTC day, and the amount of data that the account keeps. If `events` and " +
    "`deliveries` together, or `event_bytes`, have reached a limit, calls of the account that create or change something are refused until " +
    "`resets_at`.",
  announceToAll:
    "Mails the notice once, within minutes, to the admin contact of every account whose address is verified and that is not closed.",
  suspendPlatform:
    "Suspends an account. From the commit on, its keys, sessions and agents are refused with 403 `account_suspended`, and its agents are " +
    "SUSPENDED with the reason `operator`. Payments that were already made, tasks and auto-confirmation continue.",
  reinstatePlatform:
    "Reinstates a suspended account in the state in which it was suspended, and reactivates the agents that the suspension stopped. An agent " +
    "that something else has stopped meanwhile stays SUSPENDED with that reason.",
  registerVerifier:
    "Registers a Verifier and its keys by value; nothing is fetched. The Verifier is `enabled` unless `status` says otherwise, and from then " +
    "on production takes its attestations.",
  listVerifiers: "Returns all Verifiers, newest first, including disabled ones.",
  patchVerifier:
    "Changes a Verifier. The key set is replaced as a whole. Attestations of a disabled Verifier stay, and no new ones are taken from it.",
  getAuthority:
    "Returns every key that the service has had, newest first: when it was published, from when and until when it signed, and from when it " +
    "may be dropped. `faults` names the faults of the present secret.",
  listDifferences:
    "Returns the cases in which a vault held less than its ledger lines say, newest first. Funds that arrived without an event are a " +
    "deposit, not a difference. The service repairs no difference.",
  listAllDisputes:
    "Returns all disputes, newest first, each in the state that counts at this instant. With `status`, a page may have fewer rows than " +
    "`limit` although more follow; `has_more` shows it.",
  getDisputeCase:
    "Returns a dispute with its purchase, the signed receipt, all messages and evidence, and both agents' ratings at this instant.",
  resolveDispute:
    "Decides a dispute that is in arbitration; other disputes are refused. The refund to the consumer is paid out of the provider's vault, " +
    "and so is the provider's bounty, within what is left of the gross amount. The answer carries the signed award.",
  repeatPayout:
    "Pays an award again after the guardian cancelled its payout and left it `outstanding`; once for each cancellation. The rest of the " +
    "award is scheduled again. Above a configured amount the first call waits until another operator confirms it with the same call.",
  listJobs:
    "Returns the latest run of each job that found something: when it ran, how far behind it was, and what it recorded. A job that finds " +
    "nothing records nothing, except once after a run that found something. `every_minute` and `every_hour` are the triggers: their rows are " +
    "their jobs, and `failed` counts the jobs that could not be started. The first trigger writes its row each quarter of an hour that it " +
    "runs, the second each hour. `networks` shows how far each chain is read and why it takes no new intents. `events` shows the events that " +
    "were not processed yet, and since when the longest due webhook delivery waits.",
  listNetworks:
    "Returns each network as configured, as it is on its chain at this instant, and how far it is read. `faults` names each difference from " +
    "the expected state in a sentence. A node that does not answer is a fault, and the values that it would have given are null. If NETWORKS " +
    "itself is refused, `configuration_fault` says why, and every other call is 500.",
  listAlerts: "Returns the alerts, newest first: the unacknowledged ones, unless `status` asks for the others.",
  acknowledgeAlert:
    "Acknowledges an alert, which removes it from the list. If the same thing is found again, it is a new alert.",
  listOperatorActivity:
    "Returns the acts of the operator's people and keys, newest first. With several filters, a page compares at most 1,000 entries: it may " +
    "hold fewer than `limit` and still have more.",
  // ---- Events ------------------------------------------------------------------------------------------------------------
  listEvents:
    "Returns the events of the key's environment in the last 30 days, newest first, in the order of the changes that they report. With " +
    "`type`, a page looks at no more than 1,000 events: it may hold fewer than `limit`, or none, and still have more.",
  getEvent: "Returns an event. The answer is 404 once the event is older than 30 days.",
  // ---- Webhooks ----------------------------------------------------------------------------------------------------------
  createWebhook:
    "Creates an endpoint, which receives all later events of the key's environment that it selects, signed with its secret according to " +
    "Standard Webhooks. The secret is shown once. See `docs/webhooks.md` for the deliveries and how to verify them.",
  listWebhooks: "Returns the endpoints of the key's environment, newest first.",
  patchWebhook:
    "Changes an endpoint; its environment is fixed. A disabled endpoint gets no events: its waiting deliveries continue when it is enabled " +
    "again, and a replay queues the events that it missed.",
  deleteWebhook: "Deletes an endpoint and its waiting deliveries.",
  rotateWebhookSecret:
    "Rotates the secret of an endpoint. For `grace_hours` each delivery carries a signature under either secret. A further rotation ends an " +
    "earlier grace.",
  testWebhook: "Sends an event of the type `webhook.test` to this endpoint only, whatever types it selects.",
  listDeliveries:
    "Returns the deliveries of the last 30 days, newest first, with the result of each attempt. With a filter, a page looks at no more than " +
    "1,000 deliveries: it may hold fewer than `limit`, or none, and still have more.",
  redeliver:
    "Sends the same bytes again under the same event's id, whatever the earlier result was. A delivery that waits for its next attempt is " +
    "due at once.",
  replayEvents:
    "Queues the events after a place again, if the endpoint selects them, each as a new delivery; at most the events of the last 30 days. If " +
    "two replays run at once, the wider one counts.",
  // ---- Principals --------------------------------------------------------------------------------------------------------
  registerPrincipal:
    "Registers the legal person who answers for agents, with the attestation of an independent Verifier.",
  listPrincipals:
    "Returns the principals except the tenant principal, newest first. With `status`, alone or with `customer_id=none`, the order is by the " +
    "end of the attestation, latest first; a principal whose attestation has ended by its date is ATTESTATION_EXPIRED from that instant. " +
    "`status` and `customer_id` together are compared within at most 1,000 principals a page, which may hold fewer than `limit`, or none, " +
    "and still have more.",
  patchPrincipal:
    "Changes a principal's customer, reference or metadata. `customer_id` null removes it from its customer. Metadata is replaced as a " +
    "whole. The identity stays as it was registered.",
  revokeAttestation:
    "Revokes an attestation. Its Verifier may call it, or an operator, who names the Verifier. From the commit on, no agent of any principal " +
    "that it backs transacts, and it can never be recorded again, by any platform. Revoking it again gives the same answer.",
  recordAttestation:
    "Records an attestation, which counts from now on: the principal returns to ACTIVE, unless something else stops it. Its agents stay " +
    "SUSPENDED until each is reactivated by its status; with `reactivate_agents` they return together. An agent whose certificate names the " +
    "earlier attestation returns with a new certificate for the same key. An agent that was never suspended keeps its certificate, which " +
    "ends with the earlier attestation; before that, `POST /v1/agents/{did}/certificate` issues a new one.",
  listAttestations: "Returns all attestations that were recorded for the principal, newest first.",
  suspendPrincipal:
    "Suspends a principal. From the commit on, none of its agents transacts. If something else has already stopped the principal, it stays " +
    "stopped when that ends.",
  reactivatePrincipal:
    "Reactivates a suspended principal. Its agents stay SUSPENDED until each is reactivated by its status; with `reactivate_agents` they " +
    "return together.",
  closePrincipal:
    "Closes a principal for good: its agents are REVOKED, whatever their state, and its name and its reference are free again. The call is " +
    "refused while an agent of the principal is ACTIVE or FUNDING. The settled history stays readable.",
  // ---- Customers ---------------------------------------------------------------------------------------------------------
  createCustomer:
    "Creates a customer, a label that groups principals. Principals join it when they are registered, or later by a patch.",
  listCustomers: "Returns the customers, newest first.",
  patchCustomer: "Changes a customer. `external_ref` null removes the reference. Metadata is replaced as a whole.",
  deleteCustomer:
    "Deletes a customer, and its reference is free again. The call is refused while the customer groups a principal.",
  suspendCustomer:
    "Suspends a customer and all principals that it groups: from the commit on, none of their agents transacts. No principal can join the " +
    "customer while it is SUSPENDED.",
  reactivateCustomer:
    "Reactivates a customer: removes its suspension from each of its principals, and nothing else that stops them. Their agents stay " +
    "SUSPENDED until each is reactivated by its status; with `reactivate_agents` they return together. The call is refused with " +
    "`Retry-After` while agents are still being suspended.",
  // ---- Agents ------------------------------------------------------------------------------------------------------------
  registerAgent:
    "Registers an agent and returns its full identity document, unsigned, with status DRAFT: it has no keys and no certificate, and cannot " +
    "transact. If the principal's attestation is below the role's tier, the call succeeds and `warnings` says so; otherwise `warnings` is an " +
    "empty list.",
  listAgents:
    "Returns the agents of the key's environment, newest first. With `status` and no `principal_id`, the order is by the end of the " +
    "principal's attestation, latest first. Several filters together are compared within at most 1,000 agents a page, which may hold fewer " +
    "than `limit`, or none, and still have more.",
  patchAgent:
    "Changes an agent's identity. A new profile or address is a new version of the identity document. `external_ref`, which null removes, " +
    "and `metadata`, which is replaced as a whole, are in no document.",
  activateAgent:
    "Activates an agent: draws its key pair, issues the certificate and signs the document. Only this answer contains the private key. If " +
    "the principal's attestation is below the role's tier, the call succeeds and `warnings` says so; otherwise `warnings` is an empty list.",
  reissueAgentCertificate:
    "Issues a new certificate for the same key, after a renewed attestation, or before the old certificate ends. The old certificate stays " +
    "valid until its own end.",
  rotateAgentKey:
    "Draws another key pair for the agent and issues its certificate. Only this answer contains the private key. The previous key and its " +
    "certificates end at once, or after `grace_hours`; a further rotation ends an earlier grace.",
  transferAgent:
    "Transfers an agent to another principal of the same platform and environment, which has to be ACTIVE. The DID and the key stay, and " +
    "with them intents, tasks, disputes, ratings and escrow; the certificate is replaced at once. An agent in a delegation is not " +
    "transferred, and neither is an agent whose principal's attestation was revoked (409 `invalid_status`).",
  revokeAgent:
    "Revokes an agent for good: its certificates become invalid, and its open payment intents end unless they were paid. Its tasks and " +
    "disputes continue.",
  patchAgentScope:
    "Changes an agent's scope and issues a certificate that states the new scope. If the scope is narrowed, earlier certificates count for " +
    "another 24 hours.",
  promoteAgent:
    "Promotes an agent to production, with the production key. The DID, the key and the identity stay; rating, volume, spend and dispute " +
    "counts begin at zero. A provider needs a market in production; until its escrow is funded it is FUNDING, and a further call answers " +
    "`escrow_below_threshold` or makes it ACTIVE.",
  getAgentOverview:
    "Returns the agent's earnings, its escrow, its open intents, tasks and disputes at this instant, and its ten latest events. Open intents " +
    "and tasks are counted up to 1,000.",
  listAgentTasks:
    "Returns the agent's tasks, as consumer or as provider, newest first. A task is in the state that counts at this instant.",
  listAgentTransactions:
    "Returns the agent's transactions, as consumer or as provider, newest first, including those that opened no task.",
  listAgentEvents:
    "Returns the events of the last 30 days, newest first: events of the agent, and of the intents, transactions and tasks that it is a " +
    "party to. A cursor into older events is 410 `cursor_expired`.",
  authorizeMarkets:
    "Opens markets for a provider: provisions the escrow wallet and registers the settlement split on-chain. The call waits for the chain up " +
    "to 20 seconds; a market that is not done by then is PROVISIONING and finishes in the background. Accounts that are not accredited share " +
    'a daily limit of providers registered on mainnets; the next registration is 429 with `detail {bound: "all_accounts"}`. In production a ' +
    "session needs a log-in or a confirmation (confirmSession) within the last ten minutes.",
  listAuthorizedMarkets: "Returns the provider's markets, in the order of their codes.",
  removeAuthorizedMarket:
    "Removes a market from a provider. The vault and its balance stay the provider's. In production a session needs a log-in or a " +
    "confirmation (confirmSession) within the last ten minutes.",
  getAgentEscrow:
    "Returns, for each network, the counted balance, the vault's balance, the thresholds, and the ten newest movements of the vault. A " +
    "consumer has none.",
  syncAgentEscrow:
    "Reads a provider's escrow from the chain at once. Movements that have the network's confirmations are booked, as they would be within a " +
    "minute.",
  releaseAgentEscrow:
    "Sends all that the vault holds above threshold and reserve to the operational wallet: `amount` is the expected amount, and a different " +
    "one is 409 `invalid_status` with `detail.releasable`. A provider that has removed its markets on the network, with nothing open and " +
    "every dispute window closed, has threshold 0. The call is allowed ten times in 24 hours of real time on each network. It waits for the " +
    "chain up to 20 seconds; the rest happens in the background.",
  // ---- Tasks -------------------------------------------------------------------------------------------------------------
  listTasks:
    "Returns tasks, newest first, each in the state that counts at this instant. An agent gets its own tasks. A key or session gets those of " +
    "all agents of the environment, with a task between two of them once, and as `text/csv` like the transactions.",
  getTask:
    "Returns a task to its two agents. After `confirm_by` an unanswered task is auto-confirmed, to the millisecond.",
  confirmTask: "Records the consumer's answer, within 72 hours of the facilitation. Both agents' ratings follow.",
  // ---- Disputes ----------------------------------------------------------------------------------------------------------
  listDisputes:
    "Returns disputes, newest first, each in the state that counts at this instant. An agent gets its own disputes. A key or session gets " +
    "those of all agents of the environment, with a dispute between two of them once, and as `text/csv` like the transactions.",
  fileDispute:
    "Files a dispute on behalf of the consumer, by its agent or with its platform's key, within the window that was fixed at settlement. An " +
    "open task is held; the provider has seven days to answer before an arbiter decides.",
  getDispute: "Returns a dispute with all its messages and evidence, to its two agents and their platforms.",
  respondToDispute:
    "Records the provider's answer, within the parties' seven days. The provider pays its offer out of its own wallet once the consumer " +
    "accepts.",
  acceptOffer:
    "Accepts the provider's last offer on behalf of the consumer. The dispute is settled, and the provider has seven days to pay the offer.",
  concedeDispute:
    "Concedes a dispute on behalf of the provider. The dispute is upheld, and the provider has seven days to refund the whole disputed " +
    "amount.",
  withdrawDispute:
    "Withdraws a dispute on behalf of the consumer. The window of a held task continues with the time that was left, and at least for an " +
    "hour. The dispute may be filed once more.",
  escalateDispute: "Brings a dispute to the arbiter, once the provider has answered. Either party may call it.",
  addDisputeEvidence:
    "Adds a piece of evidence, until the dispute has ended: a link or a digest, which the service does not fetch. Either party may submit at " +
    "most fifty pieces.",
  // ---- Facilitation ------------------------------------------------------------------------------------------------------
  listTransactions:
    "Returns the transactions of all agents of the environment, newest first, with a transaction between two of them once. `Accept: " +
    "text/csv` streams all of at most 31 days, by default the last 31; it takes no cursor and ignores `limit`.",
  facilitate:
    "Checks the proof, reads the settlement on-chain, matches it with its intent, credits the escrow and opens the task, all or nothing. The " +
    "caller sends the consumer's headers (its proof bound to the provider), or is either agent itself. A repeated call with the same intent " +
    "and transaction gets the same answer.",
  getFacilitationStanding:
    "Returns whether a settlement still stands, for anyone who holds its receipt, which states facts and never expires. A settlement that " +
    "the chain no longer has, or never had in this form, is `reversed`, and its receipt no longer counts.",
  // ---- Identity ----------------------------------------------------------------------------------------------------------
  getAgentAid:
    "Returns an agent's identity document. `Accept: application/jwt` returns the signed document as a compact JWS. `?version=N` returns an " +
    "earlier version, and `?revision=N` the present revision without `live`: both are immutable and may be cached.",
  getAgentStatus: "Returns an agent's status, computed at the instant of the call; a certificate never states it.",
  getAgentDidDocument:
    "Returns an agent's DID document. The DID is also known as a did:web, whose document is the same under that id.",
  getAgentDidWebDocument:
    "Returns an agent's DID document for did:web resolvers, which find it by the document's `alsoKnownAs`.",
  getContext: "Returns the context that defines the types of an agent's services. It never changes.",
  resolveDid:
    "Resolves a DID or a DID URL of `did:aeap`, including the `service_did`, by the HTTP binding of W3C DID Resolution. A key or a service " +
    "is requested by its DID URL, percent-encoded; `?service=` redirects to the endpoint with 303. Errors are in the result, or in the " +
    "envelope for a client that accepts only a bare document.",
  getAgentRating:
    "Returns an agent's rating, 0.00 to 1.00, or null while unrated, and all that it follows from: sums scaled forward from `method.origin`, " +
    "and the parts of the counterparties that may hold too much of them, identified by position only. `GET /v1/rating-method` shows how " +
    "signals are weighted.",
  // ---- Verification ------------------------------------------------------------------------------------------------------
  getChallenge:
    "Returns a nonce that is valid for 120 seconds and for one use. The answer to it is a proof over `nonce|agent_did|timestamp`.",
  verifyCertificate:
    "Checks a certificate: its signature and dates, which anyone can check offline from the published keys, and whether it still counts. If " +
    "it does not, `reason` is `revoked`, `replaced`, `expired` or `unknown`, or the fault of the certificate. A suspension does not end a " +
    "certificate; the agent's status shows it.",
  verifyProof:
    "Checks a proof. A challenge response uses its nonce up; a bound proof may be checked again. A certificate that has ended proves nothing.",
  getCaJwks:
    "Returns the CA's public keys, from which alone certificates, identity documents and receipts verify offline.",
  getCaJwksJson:
    "Returns the CA's public keys, from which alone certificates, identity documents and receipts verify offline.",
  getStatusList:
    "Returns a status list with two bits for each certificate: 0 valid, 1 revoked or replaced, 2 suspended. It may be kept until its `iat` " +
    "and `ttl` are over; a new one is signed at most once a minute.",
  // ---- Markets -----------------------------------------------------------------------------------------------------------
  listMarkets:
    "Returns every jurisdiction and currency, with the networks, contracts and confirmations with which they settle.",
  // ---- Ratings -----------------------------------------------------------------------------------------------------------
  getRatingMethod: "Returns the parameters and the formula of `agent_rating`.",
  // ---- Directory ---------------------------------------------------------------------------------------------------------
  listDirectory:
    "Returns every certified agent of the key's environment, of all platforms, ordered by `updated_at` and then by DID; there is no other " +
    "order. An entry has to match all filters. With filters, a page looks at no more than 1,000 entries: it may hold fewer than `limit`, or " +
    "none, and still have more. The `ETag` is weak; with `If-None-Match`, a page that has not changed is a 304.",
  getDirectoryEntry:
    "Returns an entry of the directory. The answer is 404 for a DID that is not a member of the key's environment.",
  listDirectoryChanges:
    "Returns the records of changes in their order, oldest first, without the entries. The first call names its start in `since`, or begins " +
    "with the oldest record that is kept. Every further call sends the `cursor` that the last answer named, which is present even when " +
    "`has_more` is false. Records are kept for 30 days: an earlier place is 410, and the listing has to be read again.",
  getDirectoryHead:
    "Returns a signed head of the change feed. A head is signed each minute in which something has changed, and kept for ever. Its hash " +
    "covers every record up to its `seq`: a reader who recomputes it from the feed knows that nothing was left out, changed or added. With " +
    "`seq`, the answer is the first head that covers that record.",
  // ---- Payments ----------------------------------------------------------------------------------------------------------
  createPaymentIntent:
    "Opens a payment intent. Either party may call it. The amount is held against the spending limits of the consumer and its delegators " +
    "until the intent is paid or ends. A spend_policy_violation names the check, the limit and the attempt in `detail`. To pay, call " +
    "`approve(contract, amount_base_units)` on `token`; then, on `contract`, either `settle`, which pays `operational_wallet` or reverts, or " +
    "`payIntent`.",
  listPaymentIntents:
    "Returns the calling agent's own intents, latest first, as they are at this instant. With `status`, a page may have fewer rows than " +
    "`limit` although more follow; `has_more` shows it.",
  getPaymentIntent: "Returns a payment intent to its two parties.",
  evaluateSpendPolicy:
    "Returns all checks of an intent, each with its outcome, and what is left of the narrowest spending window, without holding anything. " +
    "The agent itself or its platform may call it.",
  getPaymentAddress:
    "Returns the contract and the token to pay with; with `consumer_did`, `provider_did` and `amount` it also opens an intent. Every refusal " +
    "of the intent is then a 403 `spend_policy_violation` whose `detail.failed_check` names the code that POST /v1/payment-intents would " +
    "have answered.",
  cancelPaymentIntent:
    "Cancels a payment intent that is not paid; the chain is read first. Either party may call it. The offer ends now. A payment that is " +
    "mined within 30 seconds still counts, and the hold stands until a later state of the chain was read. For a paid intent, 409 " +
    "`invalid_status` names the transaction in `detail`.",
  // ---- Service -----------------------------------------------------------------------------------------------------------
  getHealth: "Answers while the Worker runs, without asking the database or a chain.",
};

/** Descriptions of successful answers. */
export const ANSWERS: Readonly<Record<string, string>> = {
  // ---- Platform ----------------------------------------------------------------------------------------------------------
  getPlatform: "The account of the presented key.",
  patchPlatform: "The account.",
  registerPlatform: "The account, EMAIL_PENDING.",
  verifyEmail: "The verified address, and the new account's sandbox key.",
  refuseVerification: "The link no longer counts.",
  resendVerification: "Accepted.",
  logIn: "The session; its token is shown once.",
  listSessions: "A page of sessions.",
  endOtherSessions: "The other sessions have ended.",
  logOut: "The session has ended.",
  endSession: "The session has ended.",
  confirmSession: "The instant until which the session counts as confirmed.",
  changePassword: "The password is changed, and the other sessions have ended.",
  forgotPassword: "Accepted.",
  resetPassword: "The password is reset, and every session has ended.",
  changeEmail: "The link is on its way.",
  setUpTotp: "The secret and the recovery codes, shown once.",
  confirmTotp: "TOTP is in force.",
  removeTotp: "TOTP is removed, and log-ins need no code any longer.",
  openVerificationPage: "The page, which is the same for every token.",
  openResetPage: "The page, which is the same for every token.",
  promotePlatform: "The promotion, with the production key, which is shown once.",
  listKeys: "A page of keys.",
  rotateKey: "The new key, which is shown once, and the end of the previous key.",
  submitDocument: "The document.",
  listDocuments: "A page of documents.",
  getDocument: "The document, without its file.",
  submitVerification: "The account, IN_REVIEW.",
  getSandboxClock: "The clock.",
  advanceSandboxClock: "The clock after the move.",
  listActivity: "A page of entries.",
  listActivityHeads: "A page of heads.",
  verifyActivity: "Whether the entries are as they were written.",
  closePlatform: "The account is closed.",
  // ---- Operator ----------------------------------------------------------------------------------------------------------
  listPlatforms: "A page of accounts.",
  removePlatformTotp: "TOTP is removed.",
  listPlatformDocuments: "A page of documents, newest first.",
  readPlatformDocument: "The file, as it was uploaded.",
  getPlatformAccount: "The account, with its last review.",
  decideVerification: "The account after the decision.",
  renewTenantAttestation: "The tenant principal with its new attestation.",
  getPlatformUsage: "The account's usage.",
  announceToAll: "The notice is on its way.",
  suspendPlatform: "The account.",
  reinstatePlatform: "The account.",
  registerVerifier: "The Verifier.",
  listVerifiers: "A page of Verifiers.",
  getVerifier: "The Verifier.",
  patchVerifier: "The Verifier.",
  getAuthority: "The keys.",
  listDifferences: "A page of differences.",
  listAllDisputes: "A page of disputes.",
  getDisputeCase: "The file.",
  resolveDispute: "The dispute with its award.",
  repeatPayout: "The payout has begun, or waits for a second operator.",
  listJobs: "The jobs that have found something, and the triggers.",
  listNetworks: "A page of networks.",
  listAlerts: "A page of alerts.",
  acknowledgeAlert: "The alert.",
  listOperatorActivity: "A page of entries.",
  // ---- Events ------------------------------------------------------------------------------------------------------------
  listEvents: "A page of events.",
  getEvent: "The event.",
  // ---- Webhooks ----------------------------------------------------------------------------------------------------------
  createWebhook: "The endpoint with its secret, which is shown once.",
  listWebhooks: "A page of endpoints.",
  getWebhook: "The endpoint.",
  patchWebhook: "The endpoint.",
  deleteWebhook: "The endpoint is deleted.",
  rotateWebhookSecret: "The endpoint with its new secret, which is shown once.",
  testWebhook: "The delivery of the test event, which is on its way.",
  listDeliveries: "A page of deliveries.",
  redeliver: "The delivery, which is on its way.",
  replayEvents: "The replay, which has begun.",
  // ---- Principals --------------------------------------------------------------------------------------------------------
  registerPrincipal: "The principal.",
  listPrincipals: "A page of principals.",
  getPrincipal: "The principal.",
  patchPrincipal: "The principal.",
  revokeAttestation: "The revocation.",
  recordAttestation: "The attestation, and the principal's status after it.",
  listAttestations: "A page of attestations.",
  suspendPrincipal: "The principal.",
  reactivatePrincipal: "The principal.",
  closePrincipal: "The principal.",
  // ---- Customers ---------------------------------------------------------------------------------------------------------
  createCustomer: "The customer.",
  listCustomers: "A page of customers.",
  getCustomer: "The customer.",
  patchCustomer: "The customer.",
  deleteCustomer: "The customer is deleted.",
  suspendCustomer: "The customer.",
  reactivateCustomer: "The customer.",
  // ---- Agents ------------------------------------------------------------------------------------------------------------
  registerAgent: "The agent's identity document, and warnings.",
  listAgents: "A page of agents.",
  getAgent: "The agent, its markets and its escrow.",
  patchAgent: "The agent.",
  activateAgent: "The agent's credentials.",
  reissueAgentCertificate: "The certificate.",
  rotateAgentKey: "The agent's credentials, and the end of the previous key.",
  transferAgent: "The agent, with its new certificate.",
  revokeAgent: "The agent.",
  patchAgentScope: "The agent.",
  patchAgentStatus: "The agent.",
  promoteAgent: "The agent in production, with its new certificate.",
  getAgentOverview: "The overview.",
  listAgentTasks: "A page of tasks.",
  listAgentTransactions: "A page of transactions.",
  listAgentEvents: "A page of events.",
  authorizeMarkets: "Every market of the agent in the key's environment.",
  listAuthorizedMarkets: "A page of markets.",
  removeAuthorizedMarket: "The market is removed.",
  getAgentEscrow: "The escrow as it was last seen.",
  syncAgentEscrow: "The escrow as it is on the chain.",
  releaseAgentEscrow: "The progress of the release.",
  // ---- Tasks -------------------------------------------------------------------------------------------------------------
  listTasks: "A page of tasks.",
  getTask: "The task.",
  confirmTask: "The closed task and its effect on the ratings.",
  // ---- Disputes ----------------------------------------------------------------------------------------------------------
  listDisputes: "A page of disputes.",
  fileDispute: "The dispute.",
  getDispute: "The dispute.",
  respondToDispute: "The dispute after the answer.",
  acceptOffer: "The dispute after the acceptance.",
  concedeDispute: "The dispute after the concession.",
  withdrawDispute: "The dispute after the withdrawal.",
  escalateDispute: "The dispute after the escalation.",
  addDisputeEvidence: "The evidence.",
  // ---- Facilitation ------------------------------------------------------------------------------------------------------
  listTransactions: "A page of transactions.",
  facilitate: "The settled transaction.",
  getFacilitationStanding: "Whether the settlement stands.",
  // ---- Identity ----------------------------------------------------------------------------------------------------------
  getAgentAid: "The document.",
  getAgentStatus: "The status.",
  getAgentCertificate: "The certificate.",
  getAgentDidDocument: "The DID document.",
  getAgentDidWebDocument: "The DID document.",
  getContext: "The context.",
  resolveDid: "A result, or only the document or a part of it, as `Accept` requests.",
  getAgentRating: "The rating.",
  // ---- Verification ------------------------------------------------------------------------------------------------------
  getChallenge: "The nonce.",
  verifyCertificate: "Whether the certificate is valid, and if not, why.",
  verifyProof: "Whether the proof is valid, and if not, why.",
  verifyAid: "Whether the document is valid, and if not, why.",
  getCaJwks: "The key set.",
  getCaJwksJson: "The key set.",
  getDiscovery: "The discovery document.",
  getStatusList: "A signed list.",
  // ---- Markets -----------------------------------------------------------------------------------------------------------
  listMarkets: "A page of markets, in the order of their codes.",
  // ---- Ratings -----------------------------------------------------------------------------------------------------------
  getRatingMethod: "The method.",
  // ---- Directory ---------------------------------------------------------------------------------------------------------
  listDirectory: "A page of entries.",
  getDirectoryEntry: "The entry.",
  listDirectoryChanges: "A page of records.",
  getDirectoryHead: "A head.",
  // ---- Payments ----------------------------------------------------------------------------------------------------------
  createPaymentIntent: "The intent, and what is needed to pay it.",
  listPaymentIntents: "A page of intents.",
  getPaymentIntent: "The intent as it is at this instant.",
  evaluateSpendPolicy: "The answer that opening the intent would get at this instant.",
  getPaymentAddress: "The contract and token, and the intent if one was requested.",
  cancelPaymentIntent: "The intent, ABANDONED.",
  // ---- Service -----------------------------------------------------------------------------------------------------------
  getHealth: "The Worker answers.",
};
