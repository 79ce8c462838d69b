// The numbers of the rules, transcribed.
import { expect, it } from "vitest";
import * as limits from "../../src/core/limits.ts";

it.each([
  // Proofs, tasks, principals, lists
  ["proof timestamp window, seconds", limits.PROOF_WINDOW_SECONDS, 30],
  ["challenge nonce validity, seconds", limits.CHALLENGE_NONCE_SECONDS, 120],
  ["confirmation window, hours", limits.CONFIRMATION_WINDOW_HOURS, 72],
  ["attestation age, months", limits.ATTESTATION_MAX_AGE_MONTHS, 12],
  ["page size", limits.PAGE_SIZE_DEFAULT, 20],
  ["largest page", limits.PAGE_SIZE_MAX, 100],
  ["a CSV, days", limits.EXPORT_DAYS, 31],
  ["change record retention, days", limits.CHANGE_RETENTION_DAYS, 30],
  ["rotation grace, hours", limits.ROTATION_GRACE_HOURS_MAX, 24],
  // Log-ins and sessions
  ["a confirmation, minutes", limits.CONFIRMATION_MINUTES, 10],
  ["a known device, days", limits.KNOWN_DEVICE_DAYS, 90],
  ["failed log-ins of an account in 24 hours", limits.LOG_IN_FAILURES_A_DAY, 100],
  ["a step of TOTP, seconds", limits.TOTP_STEP_SECONDS, 30],
  ["recovery codes", limits.RECOVERY_CODES, 10],
  // Requests
  ["JSON body, bytes", limits.JSON_BODY_MAX_BYTES, 262_144],
  ["JSON nesting, levels", limits.JSON_DEPTH_MAX, 32],
  // Agents, payments, markets
  ["certificate, months", limits.CERTIFICATE_MONTHS, 12],
  ["certificates of a wider scope, hours", limits.NARROWED_CERTIFICATE_HOURS, 24],
  ["dispute window when none is given, days", limits.DISPUTE_WINDOW_DAYS_DEFAULT, 14],
  ["longest dispute window, days", limits.DISPUTE_WINDOW_DAYS_MAX, 365],
  ["delegation depth", limits.DELEGATION_DEPTH_MAX, 5],
  ["a paid intent is honoured, hours", limits.LATE_FACILITATION_HOURS, 24],
  ["changes of wallets in 24 hours", limits.WALLET_CHANGES_A_DAY, 10],
  ["releases of a vault in 24 hours", limits.RELEASES_A_DAY, 10],
  ["wait for the chain, milliseconds", limits.MARKET_PROVISION_WAIT_MS, 20_000],
  ["base of the escrow threshold", limits.ESCROW_BASE_THRESHOLD, "15.00"],
  ["decimals of a token", limits.TOKEN_DECIMALS_MAX, 18],
  // Disputes
  ["the parties' own days", limits.DISPUTE_ANSWER_DAYS, 7],
  ["the arbiter's days", limits.DISPUTE_ARBITRATION_DAYS, 14],
  ["a refund of the provider's own is awaited, days", limits.DISPUTE_REFUND_DAYS, 7],
  ["bounty, percent", limits.DISPUTE_BOUNTY_PERCENT, 5],
  ["answers of a dispute", limits.DISPUTE_MESSAGES_MAX, 50],
  ["pieces of evidence of a dispute", limits.DISPUTE_EVIDENCE_MAX, 50],
  ["a task's window after a dispute is withdrawn, hours at least", limits.RESUMED_WINDOW_HOURS_MIN, 1],
  // Idempotency
  ["idempotency window, hours", limits.IDEMPOTENCY_WINDOW_HOURS, 24],
  ["a crashed request frees its key, seconds", limits.IDEMPOTENCY_LEASE_SECONDS, 30],
  ["length of an Idempotency-Key", limits.IDEMPOTENCY_KEY_MAX_CHARS, 255],
])("%s", (_name, actual, expected) => {
  expect(actual).toBe(expected);
});
