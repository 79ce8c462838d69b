// All plays, by the name of the operation, job or message.
import { ACCOUNT_PLAYS } from "./accounts.ts";
import { AGENT_PLAYS } from "./agents.ts";
import { ATTESTATION_PLAYS } from "./attestations.ts";
import { CUSTOMER_PLAYS } from "./customers.ts";
import { DIRECTORY_PLAYS } from "./directory.ts";
import { DISPUTE_PLAYS } from "./disputes.ts";
import { EVENT_PLAYS } from "./events.ts";
import { FOLLOWER_PLAYS } from "./follower.ts";
import { JOB_PLAYS } from "./jobs.ts";
import { MARKET_PLAYS } from "./markets.ts";
import { MOVE_PLAYS } from "./moves.ts";
import { PASSWORD_PLAYS } from "./passwords.ts";
import { PRINCIPAL_PLAYS } from "./principals.ts";
import { PROFILE_PLAYS } from "./profile.ts";
import { PURCHASE_PLAYS } from "./purchases.ts";
import { REVIEW_PLAYS } from "./review.ts";
import { SANDBOX_PLAYS } from "./sandbox.ts";
import { SESSION_PLAYS } from "./sessions.ts";
import type { Plays } from "./stage.ts";
import { STANDING_PLAYS } from "./suspensions.ts";
import { VAULT_PLAYS } from "./vaults.ts";
import { VERIFIER_PLAYS } from "./verifiers.ts";
import { WEBHOOK_PLAYS } from "./webhooks.ts";

export const PLAYS: Plays = {
  ...ACCOUNT_PLAYS,
  ...PASSWORD_PLAYS,
  ...SESSION_PLAYS,
  ...PROFILE_PLAYS,
  ...REVIEW_PLAYS,
  ...STANDING_PLAYS,
  ...PRINCIPAL_PLAYS,
  ...ATTESTATION_PLAYS,
  ...CUSTOMER_PLAYS,
  ...VERIFIER_PLAYS,
  ...AGENT_PLAYS,
  ...MOVE_PLAYS,
  ...MARKET_PLAYS,
  ...FOLLOWER_PLAYS,
  ...VAULT_PLAYS,
  ...PURCHASE_PLAYS,
  ...DISPUTE_PLAYS,
  ...SANDBOX_PLAYS,
  ...DIRECTORY_PLAYS,
  ...EVENT_PLAYS,
  ...WEBHOOK_PLAYS,
  ...JOB_PLAYS,
};
