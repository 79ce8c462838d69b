// Descriptions of operations and of their answers in the OpenAPI documents, by operationId. An operation without a description repeats its summary.

export const OPERATIONS: Readonly<Record<string, string>> = {
  // ---- Platform ----------------------------------------------------------------------------------------------------------
  patchPlatform:
    "A complete profile takes a new account to KYB_PENDING. The tenant principal follows the name and the country, and the identity documents " +
    "of its agents with it. From the submission for review on, another `legal_name`, `country` or `registration_number` is a proposal of a " +
    "session (`pending_profile`), which changes them once an operator approves it. Another `admin_contact_email` counts once its mailed link " +
    "was opened. A key that would change one of these, or `promotion_by`, is 403 `forbidden`, and so is every change by a key in its grace. A " +
    "session sets `promotion_by` and `admin_contact_email` only within ten minutes after its log-in or its confirmation (confirmSession); " +
    "later it is 403 with `type` `confirmation_required`.",
  registerPlatform: "A link is mailed to the address; the account begins when it is opened.",
  verifyEmail:
    "Uses the token of a mailed link up, by whoever knows the account's password too. The first verification issues the sandbox key, once; " +
    "that of a new address makes it the account's. The link of an admin contact takes no password, and makes the address the contact. A wrong " +
    "password leaves the token as it is, and counts as a failed log-in.",
  refuseVerification:
    "Uses the token up. An account that was registered with this address and never verified is deleted, and the address is free again; another " +
    "link ends alone.",
  resendVerification:
    "The answer is the same for every address. At most once a minute and five times an hour, the mail of the sign-up included; the link that " +
    "is mailed last is the one that counts.",
  logIn:
    "A session may do what a management key may, and is the one credential of the account's own routes. The token is also set as a cookie, for " +
    "browsers. It ends after 12 hours without use, and after 30 days. With TOTP set up, a log-in with the right password and without a code is " +
    "refused with `type` `totp_required`, with a wrong code with `totp_invalid`. After 100 failures within 24 hours, from wherever, an address " +
    "is open only to the networks from which it was logged in to within 90 days.",
  listSessions: "Those that go on, the latest log-in first.",
  endOtherSessions: "All but the calling one.",
  confirmSession:
    "For ten minutes the session rotates keys, promotes, and changes what else guards the account; those calls refuse it otherwise, with " +
    "`type` `confirmation_required`. With TOTP set up only `totp` counts. A failure counts as a failed log-in.",
  changePassword: "Ends every other session, and every link that was mailed before.",
  forgotPassword:
    "The answer is the same for every address. A link is mailed to the verified address of an account, at most once a minute and five times an " +
    "hour, and the last one counts.",
  resetPassword:
    "Uses the token of a mailed link up, and ends every session and every other link. Faults of the new password use nothing up.",
  changeEmail:
    "Mails a link to the new address, at most one a minute and five an hour. The change takes effect when the link's token is verified " +
    "(verifyEmail); until then the old address stays. Sessions go on.",
  setUpTotp:
    "Answers the secret for an authenticator app (RFC 6238: SHA-1, six digits, 30 seconds) and ten recovery codes, once. Nothing needs a code " +
    "until confirmTotp; a set-up that was not confirmed is replaced.",
  confirmTotp:
    "With a code of the app. From then on a log-in and a confirmation need one, and the other sessions have ended. A wrong code counts as a " +
    "failed log-in.",
  removeTotp: "With the password, and a code of the app or a recovery code. The other sessions end.",
  openVerificationPage:
    "What the mailed link opens, for people. It uses nothing up: its script sends the token by POST to the same path.",
  openResetPage:
    "What the mailed link opens, for people. It uses nothing up: its script sends the token by POST to the same path.",
  promotePlatform:
    "Once, after accreditation. It issues the production key: no agent moves, and no market is made. By a session, or by the current sandbox " +
    "key while `promotion_by` of the account is `key`. A session needs a log-in or a confirmation (confirmSession) of the last ten minutes.",
  listKeys: "Keys that work, of both environments, the newest first. A key itself is never shown again.",
  rotateKey:
    "Issues a replacement. The previous key ends at once, or after `grace_hours`; a further rotation ends an earlier grace. The current key " +
    "rotates its own environment, and one in its grace none; of a session, which needs a log-in or a confirmation (confirmSession) of the last " +
    "ten minutes, it is `environment`, else `Service-Environment`, else the sandbox.",
  submitDocument:
    "A PDF, PNG or JPEG of at most 10 MiB, judged by its bytes. A required type supersedes the current one, in any state; during a review the " +
    "new one goes into it. Supporting documents append.",
  listDocuments: "Newest first, superseded ones included.",
  getDocument: "Its file is for the review alone.",
  submitVerification: "With a complete profile and the required documents. What is missing is named in `field_errors`.",
  advanceSandboxClock:
    "Forward only, at most 400 days ahead in all, and at most 30 days at once where more than 1,000 rows would fall due. What fell due is " +
    "recorded when it answers: tasks, disputes, intents and attestations. Proofs, keys, sessions, certificates, idempotency and quotas stay on " +
    "real time.",
  listActivity:
    "One log for both environments, newest first by `seq`, readable with either key. `subject_id`, `action` and `actor` are indexed; the other " +
    "filters are compared within at most 1,000 entries of that range a page: where few of them fit, a page may hold fewer entries than " +
    "`limit`, or none, and still have more. `Accept: text/csv` streams all entries of at most 31 days, by default the last ones; it takes no " +
    "cursor, and `limit` does not count.",
  listActivityHeads:
    "Newest first. A head is signed once a day when entries were added. Whoever keeps one can show that nothing up to its entry was changed " +
    "since, because every hash covers all entries before it.",
  verifyActivity:
    "Recomputes the running hash from `from` to `to`, both included, and compares it with the stored hashes and the signed heads. One call " +
    "verifies at most 1,000 entries; while `has_more` is true, ask again with `from` = `last_id`.",
  closePlatform:
    "For good. The confirmation is the account's legal name, or its email address while it has no name. Keys, sessions, links and the password " +
    "end at once; every agent of both environments is REVOKED and every principal CLOSED. Refused while a dispute of either environment is " +
    "open, or an escrow holds funds in production; test money blocks nothing. The history stays readable for the other side of each purchase.",
  // ---- Operator ----------------------------------------------------------------------------------------------------------
  removePlatformTotp:
    "For a person who has lost the app and the recovery codes, once it is certain who asks. Every session of the account ends, and its owner " +
    "gets a mail.",
  readPlatformDocument: "Each reading is an entry of the operators' log.",
  decideVerification:
    "An approval accredits the account, at `TIER_2` unless another tier is named, and attests its tenant principal for twelve months. A " +
    "rejection needs a reason, which the account is shown; it may submit again. With `subject: profile` the decision is about the " +
    "`pending_profile` of the account: an approval changes what is signed. `proposed_at` makes sure that it is the one that was seen.",
  renewTenantAttestation:
    "For twelve months unless `expires_at` names an earlier end. The tenant principal returns from ATTESTATION_EXPIRED; each of its agents is " +
    "returned by the platform.",
  getPlatformUsage:
    "Events, deliveries and mails of the present UTC day, and what the account keeps. An account whose `events` and `deliveries` together, or " +
    "whose `event_bytes`, have reached a limit is refused what creates or changes until `resets_at`.",
  announceToAll:
    "Mails the notice once to the admin contact of every account whose address is verified and that is not closed, within minutes.",
  suspendPlatform:
    "From the commit on its keys, sessions and agents are refused with 403 `account_suspended`, and its agents are SUSPENDED with the reason " +
    "`operator`. Payments that were made, tasks and auto-confirmation go on.",
  reinstatePlatform:
    "Returns it to the state that it was suspended in, and gives back the agents that the suspension took; an agent that something else stops " +
    "meanwhile stays SUSPENDED with that reason.",
  registerVerifier:
    "Its keys are registered by value: nothing is fetched. It is `enabled` unless `status` says otherwise, and from then on production takes " +
    "its attestations.",
  listVerifiers: "Newest first, the disabled ones too.",
  patchVerifier:
    "The key set is replaced as a whole. What a disabled Verifier has attested stays, and nothing new is taken from it.",
  getAuthority:
    "Every key that the service has had, the newest first: when it was published, from when and until when it signed, and from when on it may " +
    "be dropped. `faults` says what is wrong with the present secret.",
  listDifferences:
    "Newest first: where a vault held less than its lines say. What came without an event is a deposit and no difference. Nothing repairs one.",
  listAllDisputes:
    "Newest first, in the state that counts at this instant. A page by `status` may have fewer rows than `limit` although more follow: " +
    "`has_more` tells.",
  getDisputeCase:
    "With its purchase, the signed receipt, all that was said and handed in, and both agents' ratings at this instant.",
  resolveDispute:
    "In arbitration alone. What the consumer is to get back is paid out of the provider's vault, and so is the provider's bounty within what " +
    "is left of the gross; the answer carries the signed award.",
  repeatPayout:
    "Where the guardian has cancelled the payout of an award, which is `outstanding` since: once for each cancellation. What is left of the " +
    "award is scheduled anew. Above an amount of the configuration the first call waits, and another operator's same call confirms it.",
  listJobs:
    "The latest run of each job that found something: when it ran, how far behind it was, and what it recorded. A job that finds nothing writes " +
    "nothing, but once after a run that found something. `every_minute` and `every_hour` are the triggers: their rows are their jobs, `failed` " +
    "those that could not be started. The first one writes each quarter of an hour that it comes, the other one each hour. `networks`: how far " +
    "each chain is read, and why it takes no new intents. `events`: what nobody has followed up yet, and since when the longest due delivery of " +
    "a webhook waits.",
  listNetworks:
    "Each as configured, as its chain has it at this instant, and how far it is read. `faults` says in a sentence each what is not as it " +
    "should be. A node that does not answer is a fault; what it would have said is null. Where NETWORKS itself is refused, " +
    "`configuration_fault` says why: every other call is 500 then.",
  listAlerts: "Newest first; those that nobody has acknowledged, unless `status` asks for the others.",
  acknowledgeAlert: "Takes it off the list. When the same is found again, it is a new alert.",
  listOperatorActivity:
    "What the operator's people and keys did, newest first. With several filters a page compares at most 1,000 entries: it may hold fewer than " +
    "`limit` and still have more.",
  // ---- Events ------------------------------------------------------------------------------------------------------------
  listEvents:
    "The events of the key's environment in the last 30 days, newest first, in the order of the changes that they report. A page with `type` " +
    "looks at no more than 1,000 events: it may hold fewer than `limit`, or none, and still have more.",
  getEvent: "404 once it is older than 30 days.",
  // ---- Webhooks ----------------------------------------------------------------------------------------------------------
  createWebhook:
    "It gets the events of the key's environment that follow, signed with its secret as Standard Webhooks has it. The secret is shown once. " +
    "See `docs/webhooks.md` for what arrives and how it is verified.",
  listWebhooks: "Those of the key's environment, newest first.",
  patchWebhook:
    "A disabled one gets no events: what waits for it goes on when it is enabled again, and a replay queues what it has missed. The " +
    "environment is fixed.",
  deleteWebhook: "With what waits for it.",
  rotateWebhookSecret:
    "For `grace_hours` each delivery carries a signature under either secret. A further rotation ends an earlier grace.",
  testWebhook: "An event of the type `webhook.test`, for this endpoint alone, whatever it selects.",
  listDeliveries:
    "Of the last 30 days, newest first, with what came of each attempt. A page with a filter looks at no more than 1,000 deliveries: it may " +
    "hold fewer than `limit`, or none, and still have more.",
  redeliver:
    "The same bytes under the same event's id, whatever came of it before. One that waits for its next attempt is due at once.",
  replayEvents:
    "Queues the events behind a place once more that the endpoint selects, each as a new delivery: at most those of the last 30 days. Of two " +
    "replays at once the wider place counts.",
  // ---- Principals --------------------------------------------------------------------------------------------------------
  registerPrincipal: "Records the legal person behind agents, with the attestation of an independent Verifier.",
  listPrincipals:
    "Newest first, without the tenant principal. With `status`, alone or beside `customer_id=none`, in the order of the attestations' ends, " +
    "the latest first: what has ended by its date is ATTESTATION_EXPIRED from that instant. `status` and `customer_id` together are compared " +
    "within at most 1,000 principals a page, which may hold fewer than `limit`, or none, and still have more.",
  patchPrincipal:
    "`customer_id` null ungroups it. Metadata is replaced as a whole. Whoever it is stays as it was registered.",
  revokeAttestation:
    "By its Verifier, or by an operator, who names the Verifier. From the commit on no agent of any principal that it backs transacts, and it " +
    "is recorded for nobody again. Taken back once more it is answered the same.",
  recordAttestation:
    "It counts from now on: the principal returns to ACTIVE, unless something else stops it. Its agents stay SUSPENDED until each is " +
    "reactivated by its status. With `reactivate_agents` they return together. An agent whose certificate names the earlier attestation " +
    "returns with a new certificate for the same key. An agent that was never suspended keeps its certificate, which ends with the earlier " +
    "attestation: `POST /v1/agents/{did}/certificate` issues another before that.",
  listAttestations: "All that were recorded, newest first.",
  suspendPrincipal:
    "From the commit on none of its agents transacts. One that something else has stopped already stays stopped when that lets it go.",
  reactivatePrincipal:
    "Its agents stay SUSPENDED until each is reactivated by its status. With `reactivate_agents` they return together.",
  closePrincipal:
    "For good: its agents are REVOKED, whatever their state, and it gives its name and its reference back. Refused while an agent of it is " +
    "ACTIVE or FUNDING. The settled history stays readable.",
  // ---- Customers ---------------------------------------------------------------------------------------------------------
  createCustomer:
    "A label that groups principals: they join it when they are registered, or later by a patch of theirs.",
  listCustomers: "Newest first.",
  patchCustomer: "`external_ref` null clears it. Metadata is replaced as a whole.",
  deleteCustomer: "Refused while it groups a principal. Its reference is free again.",
  suspendCustomer:
    "All principals that it groups are SUSPENDED with it: from the commit on none of their agents transacts. Nobody joins it while it is " +
    "SUSPENDED.",
  reactivateCustomer:
    "Takes the customer's suspension away from each of its principals, and nothing else that stops them. Their agents stay SUSPENDED until " +
    "each is reactivated by its status. With `reactivate_agents` they return together. Refused with `Retry-After` while agents are still being " +
    "suspended.",
  // ---- Agents ------------------------------------------------------------------------------------------------------------
  registerAgent:
    "Answers the full identity document, unsigned, status DRAFT: no keys, no certificate, cannot transact. Where the principal's attestation " +
    "is below the role's tier the call succeeds, and `warnings` says so; else it is an empty list.",
  listAgents:
    "Newest first, of the key's environment. With `status` and no `principal_id` in the order in which the attestations of the agents' " +
    "principals end, the latest first. Where filters stand together, they are compared within at most 1,000 agents a page, which may hold " +
    "fewer than `limit`, or none, and still have more.",
  patchAgent:
    "A new profile or address is a new version of the identity document. `external_ref`, of which null takes it away, and `metadata`, which is " +
    "replaced as a whole, stand in no document.",
  activateAgent:
    "Draws the key pair, issues the certificate, signs the document. The private key is in this answer only. Where the principal's attestation " +
    "is below the role's tier the call succeeds, and `warnings` says so; else it is an empty list.",
  reissueAgentCertificate:
    "After a renewed attestation, or before the old one ends. The old one stays good until then.",
  rotateAgentKey:
    "Draws another key pair and issues its certificate. The private key is in this answer only. The key before it and its certificates end at " +
    "once, or after `grace_hours`; a further rotation ends an earlier grace.",
  transferAgent:
    "Of the same platform and environment, ACTIVE. The DID and the key stay, and with them intents, tasks, disputes, ratings and escrow; the " +
    "certificate is replaced at once. An agent in a delegation stays where it is, and so does one whose principal's attestation was revoked " +
    "(409 `invalid_status`).",
  revokeAgent:
    "For good: its certificates are invalid, and its open payment intents end unless they were paid. Its tasks and disputes go on.",
  patchAgentScope:
    "Issues a certificate that states the new scope. Where the scope is narrowed, those issued before count for 24 hours more.",
  promoteAgent:
    "Takes the production key. The DID, the key and the identity stay; rating, volume, spend and dispute counts begin at nothing. A provider " +
    "needs a market in production; until its escrow is funded it is FUNDING, and a further call answers `escrow_below_threshold` or makes it " +
    "ACTIVE.",
  getAgentOverview:
    "What it has earned, what its escrow holds, what it has open at this instant, and its ten latest events. Of open intents and tasks no more " +
    "than 1,000 are counted.",
  listAgentTasks: "Newest first, as consumer or as provider. A task is in the state that counts at this instant.",
  listAgentTransactions: "Newest first, as consumer or as provider, also those that opened no task.",
  listAgentEvents:
    "Newest first, of the last 30 days: events of the agent, and of the intents, transactions and tasks that it is a party of. A cursor into " +
    "older ones is 410 `cursor_expired`.",
  authorizeMarkets:
    "Provisions the escrow wallet and registers the settlement split on-chain. Waits for the chain up to 20 seconds; what is not done by then " +
    "is PROVISIONING and finishes in the background. Accounts that are not accredited register so many providers on mainnets together in a " +
    'day: the next one is 429 with `detail {bound: "all_accounts"}`. In production a session needs a log-in or a confirmation (confirmSession) ' +
    "of the last ten minutes.",
  listAuthorizedMarkets: "In the order of their codes.",
  removeAuthorizedMarket:
    "The vault and what it holds stay the provider's. In production a session needs a log-in or a confirmation (confirmSession) of the last " +
    "ten minutes.",
  getAgentEscrow:
    "Of each network what counts, what the vault holds, the thresholds, and the ten newest movements of the vault. A consumer has none.",
  syncAgentEscrow: "At once. What has the network's confirmations is booked, as it would be within a minute.",
  releaseAgentEscrow:
    "Sends what the vault holds above threshold and reserve to the operational wallet, all of it: `amount` is what is expected, and another " +
    "one is 409 `invalid_status` with `detail.releasable`. A provider that has taken its markets on the network away, with nothing open and " +
    "every dispute window closed, has threshold 0. Ten times in 24 hours of real time on each network. Waits for the chain up to 20 seconds; " +
    "the rest happens in the background.",
  // ---- Tasks -------------------------------------------------------------------------------------------------------------
  listTasks:
    "Newest first, in the state that counts at this instant. By an agent: its own. By a key or session: of all agents of the environment, one " +
    "between two of them once, and as `text/csv` like the transactions.",
  getTask: "For its two agents. Past `confirm_by` an unanswered task is auto-confirmed, to the millisecond.",
  confirmTask: "By the consumer, within 72 hours of the facilitation. Both agents' ratings follow.",
  // ---- Disputes ----------------------------------------------------------------------------------------------------------
  listDisputes:
    "Newest first, in the state that counts at this instant. By an agent: its own. By a key or session: of all agents of the environment, one " +
    "between two of them once, and as `text/csv` like the transactions.",
  fileDispute:
    "By the consumer, or with its platform's key, within the window that was fixed at settlement. An open task is held; the provider has seven " +
    "days to answer before an arbiter decides.",
  getDispute: "By its two agents and their platforms, with all that was said and handed in.",
  respondToDispute:
    "By the provider, in the parties' seven days. What it offers, it pays out of its own wallet once the consumer accepts.",
  acceptOffer: "By the consumer: the dispute is settled, and the provider has seven days to pay what it offered last.",
  concedeDispute: "By the provider: it is upheld, and the provider has seven days to give all that is disputed back.",
  withdrawDispute:
    "By the consumer. A held task's window goes on with what was left of it, and at least for an hour. It may be filed once more.",
  escalateDispute: "By either party, once the provider has answered.",
  addDisputeEvidence:
    "By either party until the dispute has ended, at most fifty pieces of each side: a link or a digest, which the service does not fetch.",
  // ---- Facilitation ------------------------------------------------------------------------------------------------------
  listTransactions:
    "Of all agents of the environment, newest first; one between two of them once. `Accept: text/csv` streams all of at most 31 days, by " +
    "default the last ones; it takes no cursor, and `limit` does not count.",
  facilitate:
    "Checks the proof, reads the settlement on-chain, matches it with its intent, credits the escrow and opens the performance task, all or " +
    "nothing. With the consumer's headers (its proof bound to the provider) or as either agent itself. The same intent and transaction again " +
    "answer the same.",
  getFacilitationStanding:
    "For whoever holds a receipt, which states facts and never expires: a settlement that the chain does not have any more, or never had so, " +
    "is `reversed`, and its receipt counts no longer.",
  // ---- Identity ----------------------------------------------------------------------------------------------------------
  getAgentAid:
    "`Accept: application/jwt` answers the signed document as a compact JWS. `?version=N` answers an earlier version, and `?revision=N` the " +
    "present revision without `live`: both are immutable and may be cached.",
  getAgentStatus: "What a certificate never says. Computed at the instant of the call.",
  getAgentDidDocument: "Also known as a did:web, whose document is the same under that id.",
  getAgentDidWebDocument: "Where a did:web resolver finds the `alsoKnownAs` of an agent's DID document.",
  getContext: "Defines the types of an agent's services. It never changes.",
  resolveDid:
    "The HTTP binding of W3C DID Resolution for `did:aeap`, the `service_did` too. A key or a service is asked for by its DID URL, " +
    "percent-encoded; `?service=` leads to the endpoint by 303. Errors stand in the result, or in the envelope for a client that accepts a " +
    "bare document alone.",
  getAgentRating:
    "0.00 to 1.00, or null while unrated, and all that it follows from: sums scaled forward from `method.origin`, and of the counterparties " +
    "that may hold too much of them, by position alone. How signals are weighed: `GET /v1/rating-method`.",
  // ---- Verification ------------------------------------------------------------------------------------------------------
  getChallenge: "Valid for 120 seconds and for one use. The answer to it is a proof over `nonce|agent_did|timestamp`.",
  verifyCertificate:
    "Signature and dates, which anyone can check offline from the published keys, and whether it still counts: where not, `reason` is " +
    "`revoked`, `replaced`, `expired` or `unknown`, or the fault of the certificate. A suspension does not end it: that is in the agent's " +
    "status.",
  verifyProof:
    "A challenge response uses its nonce up; a bound proof may be checked again. A certificate that has ended proves nothing.",
  getCaJwks: "Certificates, identity documents and receipts verify offline from these alone.",
  getCaJwksJson: "Certificates, identity documents and receipts verify offline from these alone.",
  getStatusList:
    "Two bits a certificate: 0 valid, 1 revoked or replaced, 2 suspended. May be kept until its `iat` and `ttl` are over; a new one is signed " +
    "at most once a minute.",
  // ---- Markets -----------------------------------------------------------------------------------------------------------
  listMarkets: "Every jurisdiction and currency, with the networks, contracts and confirmations they settle with.",
  // ---- Ratings -----------------------------------------------------------------------------------------------------------
  getRatingMethod: "The parameters and the formula of `agent_rating`.",
  // ---- Directory ---------------------------------------------------------------------------------------------------------
  listDirectory:
    "Every certified agent of the key's environment, of all platforms, in the order of `updated_at` and then of the DID; there is no other " +
    "order. Filters all have to fit. A page with filters looks at no more than 1,000 entries: it may hold fewer than `limit`, or none, and " +
    "still have more. `ETag` is weak; with `If-None-Match` a page that has not changed is a 304.",
  getDirectoryEntry: "404 for a DID that is no member of the key's environment.",
  listDirectoryChanges:
    "Records in the order of the changes, oldest first, without the entries. The first call names where it begins in `since`, or begins with " +
    "the oldest record that is kept; every further one gives the `cursor` that the last one answered, which is there also when `has_more` is " +
    "false. Records are kept for 30 days: a place before that is 410, and the listing has to be read again.",
  getDirectoryHead:
    "A head is signed each minute in which something has changed, and kept for ever. Its hash covers every record up to its `seq`: whoever " +
    "recomputes it from the feed knows that nothing was left out, changed or added. With `seq`, the first head that covers that record.",
  // ---- Payments ----------------------------------------------------------------------------------------------------------
  createPaymentIntent:
    "By either party. Holds the amount against the spending limits of the consumer and its delegators until it is paid or ends. A " +
    "spend_policy_violation names the check, the limit and what was attempted in `detail`. To pay: on `token`, `approve(contract, " +
    "amount_base_units)`; then on `contract`, `settle`, which pays `operational_wallet` or nobody, or `payIntent`.",
  listPaymentIntents:
    "The calling agent's own, the latest first, as they are at this instant. A page by `status` may have fewer rows than `limit` although more " +
    "follow: `has_more` tells.",
  getPaymentIntent: "By its two parties.",
  evaluateSpendPolicy:
    "All checks of an intent, each with its outcome, and what is left of the narrowest spending window. It holds nothing. By the agent itself " +
    "or its platform.",
  getPaymentAddress:
    "With `consumer_did`, `provider_did` and `amount` it opens an intent too. Every refusal of the intent is then a 403 " +
    "`spend_policy_violation` whose `detail.failed_check` names the code that POST /v1/payment-intents would have answered.",
  cancelPaymentIntent:
    "By either party, while nobody has paid it: the chain is looked at first. The offer ends now. A payment that is mined within 30 seconds " +
    "counts, and the hold stands until a later chain was read. Of one that was paid, 409 `invalid_status` names the transaction in `detail`.",
  // ---- Service -----------------------------------------------------------------------------------------------------------
  getHealth: "Asks nothing else: no database, no chain.",
};

/** Descriptions of successful answers. */
export const ANSWERS: Readonly<Record<string, string>> = {
  // ---- Platform ----------------------------------------------------------------------------------------------------------
  getPlatform: "The account of the presented key.",
  patchPlatform: "The account.",
  registerPlatform: "The account, EMAIL_PENDING.",
  verifyEmail: "The verified address, and the new account's sandbox key.",
  refuseVerification: "The link counts no more.",
  resendVerification: "Accepted.",
  logIn: "The session; its token is shown once.",
  listSessions: "A page of sessions.",
  endOtherSessions: "The other sessions have ended.",
  logOut: "The session has ended.",
  endSession: "The session has ended.",
  confirmSession: "Until when the session counts as confirmed.",
  changePassword: "The password is changed, and the other sessions have ended.",
  forgotPassword: "Accepted.",
  resetPassword: "The password is reset, and every session has ended.",
  changeEmail: "The link is on its way.",
  setUpTotp: "The secret and the recovery codes, shown once.",
  confirmTotp: "TOTP is in force.",
  removeTotp: "Log-ins need no code any more.",
  openVerificationPage: "The page, the same for every token.",
  openResetPage: "The page, the same for every token.",
  promotePlatform: "The promotion, with the production key, once.",
  listKeys: "A page of keys.",
  rotateKey: "The new key, once, and the end of the previous one.",
  submitDocument: "The document.",
  listDocuments: "A page of documents.",
  getDocument: "The document, without its file.",
  submitVerification: "The account, IN_REVIEW.",
  getSandboxClock: "The clock.",
  advanceSandboxClock: "The clock, as it stands now.",
  listActivity: "A page of entries.",
  listActivityHeads: "A page of heads.",
  verifyActivity: "Whether the entries are as they were written.",
  closePlatform: "The account is closed.",
  // ---- Operator ----------------------------------------------------------------------------------------------------------
  listPlatforms: "A page of accounts.",
  removePlatformTotp: "TOTP is taken away.",
  listPlatformDocuments: "A page of documents, newest first.",
  readPlatformDocument: "The file, as it was uploaded.",
  getPlatformAccount: "The account, with its last review.",
  decideVerification: "The account after the decision.",
  renewTenantAttestation: "The tenant principal, newly attested.",
  getPlatformUsage: "What the account has used.",
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
  createWebhook: "The endpoint, with its secret, once.",
  listWebhooks: "A page of endpoints.",
  getWebhook: "The endpoint.",
  patchWebhook: "The endpoint.",
  deleteWebhook: "Deleted.",
  rotateWebhookSecret: "The endpoint, with its new secret, once.",
  testWebhook: "Its delivery, which is on its way.",
  listDeliveries: "A page of deliveries.",
  redeliver: "The delivery, which is on its way.",
  replayEvents: "The replay, which has begun.",
  // ---- Principals --------------------------------------------------------------------------------------------------------
  registerPrincipal: "The principal.",
  listPrincipals: "A page of principals.",
  getPrincipal: "The principal.",
  patchPrincipal: "The principal.",
  revokeAttestation: "The revocation.",
  recordAttestation: "The attestation, and the principal's status by it.",
  listAttestations: "A page of attestations.",
  suspendPrincipal: "The principal.",
  reactivatePrincipal: "The principal.",
  closePrincipal: "The principal.",
  // ---- Customers ---------------------------------------------------------------------------------------------------------
  createCustomer: "The customer.",
  listCustomers: "A page of customers.",
  getCustomer: "The customer.",
  patchCustomer: "The customer.",
  deleteCustomer: "Deleted.",
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
  removeAuthorizedMarket: "Taken away.",
  getAgentEscrow: "The escrow as it was seen last.",
  syncAgentEscrow: "The escrow as the chain has it.",
  releaseAgentEscrow: "How far the release is.",
  // ---- Tasks -------------------------------------------------------------------------------------------------------------
  listTasks: "A page of tasks.",
  getTask: "The task.",
  confirmTask: "The closed task and what it did to the ratings.",
  // ---- Disputes ----------------------------------------------------------------------------------------------------------
  listDisputes: "A page of disputes.",
  fileDispute: "The dispute.",
  getDispute: "The dispute.",
  respondToDispute: "The dispute after it.",
  acceptOffer: "The dispute after it.",
  concedeDispute: "The dispute after it.",
  withdrawDispute: "The dispute after it.",
  escalateDispute: "The dispute after it.",
  addDisputeEvidence: "The evidence.",
  // ---- Facilitation ------------------------------------------------------------------------------------------------------
  listTransactions: "A page of transactions.",
  facilitate: "The settled transaction.",
  getFacilitationStanding: "Whether it stands.",
  // ---- Identity ----------------------------------------------------------------------------------------------------------
  getAgentAid: "The document.",
  getAgentStatus: "The status.",
  getAgentCertificate: "The certificate.",
  getAgentDidDocument: "The DID document.",
  getAgentDidWebDocument: "The DID document.",
  getContext: "The context.",
  resolveDid: "A result, or the document or its part alone, as `Accept` says.",
  getAgentRating: "The rating.",
  // ---- Verification ------------------------------------------------------------------------------------------------------
  getChallenge: "The nonce.",
  verifyCertificate: "Whether it holds, and if not, why.",
  verifyProof: "Whether it holds, and if not, why.",
  verifyAid: "Whether it holds, and if not, why.",
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
  evaluateSpendPolicy: "What opening the intent would be answered at this instant.",
  getPaymentAddress: "The contract and token, and the intent if one was asked for.",
  cancelPaymentIntent: "The intent, ABANDONED.",
  // ---- Service -----------------------------------------------------------------------------------------------------------
  getHealth: "It does.",
};
