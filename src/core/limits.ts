// Every limit of the rules: one constant a row, with its unit in its name.

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
export const EXPORT_DAYS = 31;
export const EVENT_RETENTION_DAYS = 30;
export const DIRECTORY_PAGE_MAX = 1_000;
export const DIRECTORY_TERMS_MAX = 50;
/** Events in an agent's overview, and how many of its open intents and tasks are counted one by one (AGT-35). */
export const RECENT_EVENTS = 10;
export const OPEN_COUNTED_MAX = 1_000;
export const ROTATION_GRACE_HOURS_MAX = 24;

// Accounts (ACC-10 to ACC-17, CRED-13 to CRED-21)
export const PASSWORD_MIN_CHARS = 12;
export const PASSWORD_MAX_CHARS = 128;
export const LINK_HOURS = 24;
/** The shortest time between two mailed links of one kind for one account. */
export const LINK_REST_SECONDS = 60;
export const LINK_MAILS_PER_HOUR = 5;
/** Mails a day that an address gets without any cause by an account of its own. */
export const STRANGER_MAILS_PER_DAY = 3;
/** To an address about one account; one digest names the rest. */
export const NOTICE_MAILS_PER_HOUR = 20;
export const DIGEST_LINES_MAX = 100;
export const UNVERIFIED_DAYS = 7;
export const SESSION_IDLE_HOURS = 12;
export const SESSION_DAYS = 30;
/** The use of a session or a key is recorded at most once in this time. */
export const SESSION_USE_MINUTES = 10;
export const KEY_USE_MINUTES = 1;
/** A session may rotate keys, promote, and change what guards the account for this long after its log-in or confirmation (CRED-30). */
export const CONFIRMATION_MINUTES = 10;
export const KNOWN_DEVICE_DAYS = 90;
export const LOG_IN_WINDOW_MINUTES = 15;
export const LOG_IN_FAILURES_PER_ACCOUNT = 10;
export const LOG_IN_FAILURES_PER_ADDRESS = 30;
/** Failures from all clients together in 24 hours; then only known networks may log in. */
export const LOG_IN_FAILURES_A_DAY = 100;
export const TOTP_STEP_SECONDS = 30;
export const RECOVERY_CODES = 10;
/** How long an ended key is kept: the key that a rotation ended may replay it under its Idempotency-Key. */
export const ENDED_KEY_HOURS = 25;
export const ANNOUNCEMENT_SUBJECT_MAX_CHARS = 200;
export const ANNOUNCEMENT_TEXT_MAX_CHARS = 10_000;
export const DOCUMENT_MAX_BYTES = 10 * 1024 * 1024;
export const FILE_NAME_MAX_CHARS = 255;
/** For one account. Required documents supersede each other and are not counted. */
export const SUPPORTING_DOCUMENTS_MAX = 50;
/** For one account in a UTC day, superseded documents included. */
export const DOCUMENTS_PER_DAY = 100;
/** A file without a row is removed at this age: its upload has certainly ended by then. */
export const STRAY_FILE_HOURS = 1;
/** A year of retention, never shorter than a calendar year. */
export const RETENTION_YEAR_DAYS = 366;

// Webhooks (EVT-22 to EVT-32)
/** For one account in one environment. */
export const WEBHOOKS_MAX = 20;
export const WEBHOOK_DESCRIPTION_MAX_CHARS = 500;
export const WEBHOOK_GRACE_HOURS_DEFAULT = 24;
export const DELIVERY_SECONDS_MAX = 15;
/** How much of an endpoint's answer is read, and how much of it is kept. */
export const ANSWER_READ_MAX_BYTES = 64 * 1024;
export const ANSWER_KEPT_MAX_BYTES = 1_024;
/** The kept part as JSON: enough for text, in which few characters are escaped. */
export const ANSWER_STORED_MAX_BYTES = 1_280;
export const WEBHOOK_FAILING_DAYS_MAX = 5;
export const REPLAYS_A_DAY = 10;
export const ATTEMPTS_KEPT = 20;
export const DELIVERY_RETENTION_DAYS = 30;

// Requests
export const JSON_BODY_MAX_BYTES = 256 * 1024;
export const JSON_DEPTH_MAX = 32;

// Agents, payments, markets
export const CERTIFICATE_MONTHS = 12;
export const NARROWED_CERTIFICATE_HOURS = 24;
export const DISPUTE_WINDOW_DAYS_DEFAULT = 14;
export const DISPUTE_ANSWER_DAYS = 7;
export const DISPUTE_ARBITRATION_DAYS = 14;
export const DISPUTE_REFUND_DAYS = 7;
export const PAYOUT_DAYS_MAX = 400;
export const WALLETS_KEPT = 50;
export const CANCELLED_PAYOUT_KEPT_DAYS = 7;
/** A longer scheduled call is reported without its data (CHN-33). */
export const SCHEDULED_CALL_BYTES_MAX = 4_096;
/** Scheduled calls of a network that operators are shown; the others are only counted. */
export const SCHEDULED_SHOWN_MAX = 50;
/** A waiting part of an award is remade if at least this share of it was refunded meanwhile, at most this many times. */
export const PAYOUT_REMADE_PERCENT = 10;
export const PAYOUT_REMADE_MAX = 3;
export const DISPUTE_BOUNTY_PERCENT = 5;
export const DISPUTE_MESSAGES_MAX = 50;
/** For each side. */
export const DISPUTE_EVIDENCE_MAX = 50;
/** A withdrawn dispute leaves at least this much of the task's window. */
export const RESUMED_WINDOW_HOURS_MIN = 1;
export const DISPUTE_WINDOW_DAYS_MAX = 365;
export const DELEGATION_DEPTH_MAX = 5;
export const LATE_FACILITATION_HOURS = 24;
export const BLOCK_CLOCK_SKEW_SECONDS = 30;
/** A payment that a reorg removed keeps its hold for this long: its transaction may be mined again (PAY-11). */
export const LOST_PAYMENT_HOURS = 1;
export const SETTLEMENT_FEE_BPS_MAX = 50;
/** A payment that the follower has seen may be facilitated for this long after its block (PAY-14). */
export const PAID_INTENT_DAYS = 30;
/** How far a sandbox's clock may run ahead of real time, and how far one call may move it if more rows than this fall due (ACC-28). */
export const CLOCK_DAYS_MAX = 400;
export const CLOCK_STEP_DAYS = 30;
export const CLOCK_DUE_MAX = 1_000;
/** Open intents of its own that a provider may have for one consumer (PAY-6). */
export const PROVIDER_INTENTS_MAX = 3;
export const SPENDING_WINDOW_DAYS_MAX = 365;
export const WALLET_CHANGES_A_DAY = 10;
/** The operator is alerted at this share of the mainnet registrations that accounts may make together (MKT-25). */
export const TOGETHER_ALERT_PERCENT = 80;
/** Releases of an agent's vault on a network that may be requested in 24 hours (MKT-29). */
export const RELEASES_A_DAY = 10;
/** A follower that lags by more than this is started, at most once in this time. */
export const FOLLOWER_LATE_SECONDS = 30;
/** A network takes no new intents if its follower still lags by more than this, this long after it was found late (PAY-24). */
export const FOLLOWER_LOST_SECONDS = 120;
export const LOW_GAS_SECONDS = 120;
export const VAULT_MOVEMENTS = 10;
export const CHAIN_LOOK_MS = 8_000;
export const MARKET_PROVISION_WAIT_MS = 20_000;
export const MARKETS_PER_CALL_MAX = 20;
export const CAPABILITIES_MAX = 50;
/** The actions and capabilities of an agent together, as JSON in UTF-8. A certificate states them twice. */
export const SCOPE_WORDS_MAX_BYTES = 12_288;
/** The longest certificate and identity document that the service can issue, with all texts at their greatest length. */
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
/** A CA key is published for this long before it signs: readers may keep the published keys for a day. */
export const AUTHORITY_NOTICE_MS = 24 * HOUR_MS;

/** The threshold of an unrated provider, in whole units of the market's currency, where its network names no other (MKT-16). */
export const ESCROW_BASE_THRESHOLD = "15.00";
/** Open disputes over less than this together do not constrain an escrow of that threshold, in whole units (MKT-17). */
export const CONSTRAINING_DISPUTES = "5.00";
/** Base units are counted to 2^53-1, which is 0.009 of a token with this many decimals. */
export const TOKEN_DECIMALS_MAX = 18;

/** Places in a status list, how full the newest list may be before another begins, and how long a reader may keep a list (IDN-13, IDN-14). */
export const STATUS_LIST_SIZE = 1 << 16;
export const STATUS_LIST_FULL = 0.75;
export const STATUS_LIST_TTL_SECONDS = 300;
