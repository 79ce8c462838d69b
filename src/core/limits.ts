// Every limit of the rules: one constant a row, its unit in its name.

// Proofs, tasks, principals, lists
export const PROOF_WINDOW_SECONDS = 30;
export const CHALLENGE_NONCE_SECONDS = 120;
/** How long a proof may be presented again for the act that it was used for (PRF-8). */
export const REPEATED_ACT_SECONDS = 600;
export const CONFIRMATION_WINDOW_HOURS = 72;
export const ATTESTATION_MAX_AGE_MONTHS = 12;
export const PAGE_SIZE_DEFAULT = 20;
export const PAGE_SIZE_MAX = 100;
export const CHANGE_RETENTION_DAYS = 30;
/** How much of a listing one CSV covers (HTTP-37). */
export const EXPORT_DAYS = 31;
/** For how long events are listed (EVT-17). */
export const EVENT_RETENTION_DAYS = 30;
/** Records of the directory's feed in one page. */
export const DIRECTORY_PAGE_MAX = 1_000;
/** Words of one filter of the directory. */
export const DIRECTORY_TERMS_MAX = 50;
/** Events in the overview of an agent, and how many of its open intents and tasks are counted one by one (AGT-35). */
export const RECENT_EVENTS = 10;
export const OPEN_COUNTED_MAX = 1_000;
export const ROTATION_GRACE_HOURS_MAX = 24;

// Accounts (ACC-10 to ACC-17, CRED-13 to CRED-21)
export const PASSWORD_MIN_CHARS = 12;
export const PASSWORD_MAX_CHARS = 128;
export const LINK_HOURS = 24;
/** How often links of one kind are mailed to one account. */
export const LINK_REST_SECONDS = 60;
export const LINK_MAILS_PER_HOUR = 5;
/** How many mails of one day an address gets that no account of its own has caused. */
export const STRANGER_MAILS_PER_DAY = 3;
/** How many notices of one hour an address gets about one account; the rest comes in one digest. */
export const NOTICE_MAILS_PER_HOUR = 20;
/** How many of them a digest names. */
export const DIGEST_LINES_MAX = 100;
/** An account that was never verified is removed after this. */
export const UNVERIFIED_DAYS = 7;
export const SESSION_IDLE_HOURS = 12;
export const SESSION_DAYS = 30;
/** How often the use of a session and of a key is written. */
export const SESSION_USE_MINUTES = 10;
export const KEY_USE_MINUTES = 1;
/** For so long after its log-in or its confirmation a session rotates keys, promotes, and changes what else guards the account (CRED-30). */
export const CONFIRMATION_MINUTES = 10;
/** A device and a network count as known for so long after a log-in from there. */
export const KNOWN_DEVICE_DAYS = 90;
export const LOG_IN_WINDOW_MINUTES = 15;
export const LOG_IN_FAILURES_PER_ACCOUNT = 10;
export const LOG_IN_FAILURES_PER_ADDRESS = 30;
/** From all clients together, within 24 hours: from then on known networks alone log in. */
export const LOG_IN_FAILURES_A_DAY = 100;
/** The steps of TOTP (RFC 6238), and the codes for who has lost the device. */
export const TOTP_STEP_SECONDS = 30;
export const RECOVERY_CODES = 10;
/** How long an ended key is kept: a rotation under an Idempotency-Key is replayed by the key that it ended. */
export const ENDED_KEY_HOURS = 25;
export const ANNOUNCEMENT_SUBJECT_MAX_CHARS = 200;
export const ANNOUNCEMENT_TEXT_MAX_CHARS = 10_000;
export const DOCUMENT_MAX_BYTES = 10 * 1024 * 1024;
export const FILE_NAME_MAX_CHARS = 255;
/** Of one account; the required ones supersede each other and are not counted. */
export const SUPPORTING_DOCUMENTS_MAX = 50;
/** Of one account, superseded ones included; days in UTC. */
export const DOCUMENTS_PER_DAY = 100;
/** A file without a row is removed when it is older: its upload is over, however it ended. */
export const STRAY_FILE_HOURS = 1;
/** A year of the retention: never shorter than one of the calendar. */
export const RETENTION_YEAR_DAYS = 366;

// Webhooks (EVT-22 to EVT-32)
/** Of one account in one environment. */
export const WEBHOOKS_MAX = 20;
export const WEBHOOK_DESCRIPTION_MAX_CHARS = 500;
export const WEBHOOK_GRACE_HOURS_DEFAULT = 24;
export const DELIVERY_SECONDS_MAX = 15;
/** How much of an answer is read, and how much of it is kept. */
export const ANSWER_READ_MAX_BYTES = 64 * 1024;
export const ANSWER_KEPT_MAX_BYTES = 1_024;
/** Of that, as JSON: enough for text, of which few characters are escaped. */
export const ANSWER_STORED_MAX_BYTES = 1_280;
/** An endpoint that has failed for so long is disabled. */
export const WEBHOOK_FAILING_DAYS_MAX = 5;
/** Replays of one endpoint that may be asked for in 24 hours. */
export const REPLAYS_A_DAY = 10;
/** Attempts that the log of one delivery keeps. */
export const ATTEMPTS_KEPT = 20;
export const DELIVERY_RETENTION_DAYS = 30;

// Requests
export const JSON_BODY_MAX_BYTES = 256 * 1024;
export const JSON_DEPTH_MAX = 32;

// Agents, payments, markets
export const CERTIFICATE_MONTHS = 12;
/** How long certificates that state a wider scope still count after the scope was narrowed (AGT-22). */
export const NARROWED_CERTIFICATE_HOURS = 24;
export const DISPUTE_WINDOW_DAYS_DEFAULT = 14;
export const DISPUTE_ANSWER_DAYS = 7;
export const DISPUTE_ARBITRATION_DAYS = 14;
export const DISPUTE_REFUND_DAYS = 7;
/** How long after a settlement the contract pays out for it. */
export const PAYOUT_DAYS_MAX = 400;
/** An agent's row keeps this many of its newest wallets (FAC-22). */
export const WALLETS_KEPT = 50;
/** A vault reserves the refund of a cancelled award for this long (DSP-19). */
export const CANCELLED_PAYOUT_KEPT_DAYS = 7;
/** A scheduled call that is longer is told without its data (CHN-33). */
export const SCHEDULED_CALL_BYTES_MAX = 4_096;
/** How many scheduled calls of a network operators are shown; the others are counted. */
export const SCHEDULED_SHOWN_MAX = 50;
/** A part of an award that waits is begun anew where at least so much of it was given back meanwhile, and so often at most. */
export const PAYOUT_REMADE_PERCENT = 10;
export const PAYOUT_REMADE_MAX = 3;
/** Of the disputed amount, what the loser owes the winner beside it. */
export const DISPUTE_BOUNTY_PERCENT = 5;
export const DISPUTE_MESSAGES_MAX = 50;
/** Of each side. */
export const DISPUTE_EVIDENCE_MAX = 50;
/** What is left of a task's window at least, when a dispute that held it was withdrawn. */
export const RESUMED_WINDOW_HOURS_MIN = 1;
export const DISPUTE_WINDOW_DAYS_MAX = 365;
export const DELEGATION_DEPTH_MAX = 5;
export const LATE_FACILITATION_HOURS = 24;
export const BLOCK_CLOCK_SKEW_SECONDS = 30;
/** So long a payment that a reorganisation took away keeps its hold: its transaction may be mined again (PAY-11). */
export const LOST_PAYMENT_HOURS = 1;
/** The highest fee that the settlement contract can have, hundredths of a percent. */
export const SETTLEMENT_FEE_BPS_MAX = 50;
/** So long a payment that the follower has seen may be facilitated, from its block on (PAY-14). */
export const PAID_INTENT_DAYS = 30;
/** How far a sandbox's clock runs ahead of real time, and how far at once where more rows than this fall due (ACC-28). */
export const CLOCK_DAYS_MAX = 400;
export const CLOCK_STEP_DAYS = 30;
export const CLOCK_DUE_MAX = 1_000;
/** How many intents of its own a provider may have open for one consumer (PAY-6). */
export const PROVIDER_INTENTS_MAX = 3;
export const SPENDING_WINDOW_DAYS_MAX = 365;
/** Changes of operational wallets that an agent may ask for in 24 hours. */
export const WALLET_CHANGES_A_DAY = 10;
/** From this part of what accounts may register on mainnets together an operator is alerted (MKT-25). */
export const TOGETHER_ALERT_PERCENT = 80;
/** Releases of an agent's vault on a network that may be asked for in 24 hours (MKT-29). */
export const RELEASES_A_DAY = 10;
/** A follower that is further behind is sent off, at most so often. */
export const FOLLOWER_LATE_SECONDS = 30;
/** A network whose follower stays further behind, for as long after it was sent, takes no new intents (PAY-24). */
export const FOLLOWER_LOST_SECONDS = 120;
/** So long a key counts as short of gas after it was found so. */
export const LOW_GAS_SECONDS = 120;
/** The newest movements of a vault that its report shows (MKT-26). */
export const VAULT_MOVEMENTS = 10;
/** How long a call reads on to the head of a chain before it is 503. */
export const CHAIN_LOOK_MS = 8_000;
export const MARKET_PROVISION_WAIT_MS = 20_000;
export const MARKETS_PER_CALL_MAX = 20;
export const CAPABILITIES_MAX = 50;
/** The actions and capabilities of an agent together, as JSON in UTF-8. A certificate states them twice. */
export const SCOPE_WORDS_MAX_BYTES = 12_288;
/** The longest certificate and identity document that the service issues, with texts of the greatest lengths. */
export const CERTIFICATE_MAX_CHARS = 40_000;
export const AID_MAX_CHARS = 200_000;

// Idempotency
export const IDEMPOTENCY_WINDOW_HOURS = 24;
export const IDEMPOTENCY_LEASE_SECONDS = 30;
export const IDEMPOTENCY_KEY_MAX_CHARS = 255;

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** A key of the CA is published so long before it signs: readers may keep the published keys for a day. */
export const AUTHORITY_NOTICE_MS = 24 * HOUR_MS;

/** The threshold of an unrated provider, in whole units of the market's currency, where its network names no other (MKT-16). */
export const ESCROW_BASE_THRESHOLD = "15.00";
/** Open disputes of together less than this constrain no escrow of that threshold, in whole units (MKT-17). */
export const CONSTRAINING_DISPUTES = "5.00";
/** Base units are counted to 2^53-1, which is 0.009 of such a token. */
export const TOKEN_DECIMALS_MAX = 18;

/** Places in a status list, how full the newest may be before another begins, and how long a reader may keep one (IDN-13, IDN-14). */
export const STATUS_LIST_SIZE = 1 << 16;
export const STATUS_LIST_FULL = 0.75;
export const STATUS_LIST_TTL_SECONDS = 300;
