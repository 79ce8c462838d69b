// All cases: every operation, every job, and the messages whose work grows.
import type { Case } from "./case.ts";
import { ACCOUNTS } from "./cases/accounts.ts";
import { CUSTOMER_STANDING } from "./cases/customer-suspensions.ts";
import { CUSTOMERS } from "./cases/customers.ts";
import { DIRECTORY } from "./cases/directory.ts";
import { DISPUTES } from "./cases/disputes.ts";
import { FOLLOWER_CASES } from "./cases/follower.ts";
import { IDENTITY } from "./cases/identity.ts";
import { LISTS } from "./cases/lists.ts";
import { MANAGEMENT } from "./cases/management.ts";
import { OPERATORS } from "./cases/operators.ts";
import { PASSWORDS } from "./cases/passwords.ts";
import { PAYMENTS } from "./cases/payments.ts";
import { PROFILE } from "./cases/profile.ts";
import { PROMOTION } from "./cases/promotion.ts";
import { REPORTS } from "./cases/reports.ts";
import { REVIEW } from "./cases/review.ts";
import { SANDBOX_CASES, SANDBOX_SWEEP } from "./cases/sandbox.ts";
import { SESSIONS } from "./cases/sessions.ts";
import { STANDING } from "./cases/suspensions.ts";
import { SWEEP_CASES } from "./cases/sweeps.ts";
import { VERIFIERS } from "./cases/verifiers.ts";
import { WEBHOOKS } from "./cases/webhooks.ts";

export const CASES: readonly Case[] = [
  ...MANAGEMENT,
  ...ACCOUNTS,
  ...SANDBOX_CASES,
  ...PROFILE,
  ...REVIEW,
  ...PASSWORDS,
  ...SESSIONS,
  ...STANDING,
  ...CUSTOMERS,
  ...LISTS,
  ...PROMOTION,
  ...REPORTS,
  ...CUSTOMER_STANDING,
  ...VERIFIERS,
  ...IDENTITY,
  ...PAYMENTS,
  ...DISPUTES,
  ...DIRECTORY,
  ...OPERATORS,
  ...WEBHOOKS,
  ...SWEEP_CASES,
  ...FOLLOWER_CASES,
  ...SANDBOX_SWEEP,
];
