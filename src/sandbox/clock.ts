// Reads the clock of a platform's sandbox and moves it forward (ACC-28).
import { moveSandboxClock } from "../accounts/store.ts";
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { CHAIN_LOOK_MS, CLOCK_DAYS_MAX, CLOCK_DUE_MAX, CLOCK_STEP_DAYS, DAY_MS, SECOND_MS } from "../core/limits.ts";
import { followNetwork } from "../follower/follow.ts";
import { recordActivity } from "../journal/activity.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { countDue, recordDue } from "./due.ts";
import { findEndingNetworks, findSandboxClock, type Sandbox, type SandboxClock } from "./due-store.ts";
import type { ClockView } from "./responses.ts";
import type { AdvanceInput } from "./schema.ts";

const OFFSET_MAX_MS = CLOCK_DAYS_MAX * DAY_MS;
const STEP_MAX_MS = CLOCK_STEP_DAYS * DAY_MS;

/** Rows that fell due more than this before the first move are left to the minute's jobs. */
const LOOKS_BACK_MS = DAY_MS;

/** The call itself does not use the clock that it moves. */
const REAL_TIME = { clock: () => 0 };

function refuseProduction({ environment }: ManagementCall): void {
  if (environment === "sandbox") return;
  throw new ServiceError("forbidden", { message: "Production has no test clock; use a sandbox key." });
}

/** Refuses a production key before the faults of a body are reported. */
export const precheckClock = (call: ManagementCall): Precheck =>
  precheck({}, () => {
    refuseProduction(call);
    return [];
  });

export async function getClock(call: ManagementCall): Promise<ClockView> {
  const { clock } = await readClock(call);
  return toClockView(call.deps.clock.now(), clock.clockOffsetMs);
}

async function readClock(call: ManagementCall) {
  const { caller, clock } = await call.read({ clock: findSandboxClock(call.db, call.tenant.platformId) }, REAL_TIME);
  return { caller, clock: requireClock(call, clock) };
}

function requireClock(call: ManagementCall, clock: SandboxClock | null): SandboxClock {
  refuseProduction(call);
  if (!clock) throw new ServiceError("invalid_credentials");
  return clock;
}

const toClockView = (now: number, offset: number): ClockView => ({
  now: toIso(now + offset),
  real_time: toIso(now),
  offset_ms: offset,
});

export async function advanceClock(call: ManagementCall, input: AdvanceInput): Promise<ClockView> {
  const moved = await retryUnderLocks(call.deps.env, (touches) => applyAdvance(call, input, touches));
  // If this dies, the minute's sweep continues.
  await recordDue(call.deps, moved.sandbox);
  return moved.view;
}

/** Concurrent moves add up: after a conflict they queue. */
async function applyAdvance(call: ManagementCall, input: AdvanceInput, touches: (names: readonly string[]) => void) {
  const { db, deps, tenant } = call;
  const began = deps.clock.now();
  const { caller, ...found } = await call.read(
    {
      clock: findSandboxClock(db, tenant.platformId),
      ending: findEndingNetworks(db, tenant.platformId, toClockInstant(input, began), listNetworkNames(deps)),
    },
    REAL_TIME,
  );
  const clock = requireClock(call, found.clock);
  const { clockOffsetMs: from } = clock;
  const { platformId } = caller;
  touches([platformId]);
  // Refuses a faulty input before a chain is read, which takes time.
  toOffset(input, from, began);
  await readPayments(call, found.ending);
  const now = deps.clock.now();
  const to = toOffset(input, from, now);
  const sandbox = toSandbox(call, platformId, clock, to);
  await refuseTooMuch(call, input, to - from, sandbox);
  const view = toClockView(now, to);
  await call.commit(
    [
      ...moveSandboxClock(db, platformId, { from, to }, { movedAt: now, recordedTo: sandbox.since }),
      recordActivity(db, { platformId, environment: "sandbox" }, now + from, {
        action: "sandbox.clock_advanced",
        actor: caller.actor,
        subject: { type: "platform", id: platformId },
        changes: { offset_ms: { from, to } },
      }),
    ],
    view,
  );
  return { view, sandbox };
}

const listNetworkNames = ({ config }: ManagementCall["deps"]): string[] =>
  config.networks.map(({ network }) => network);

/** The instant that the clock will show, in milliseconds; `plusOffset` has the offset still to be added. */
const toClockInstant = ({ seconds, to }: AdvanceInput, now: number) =>
  to === undefined ? { plusOffset: now + (seconds ?? 0) * SECOND_MS } : { to };

/** Reads the chains first: a payment made before the move but read after it would be shifted past the end of its intent (PAY-14). */
async function readPayments({ deps }: ManagementCall, networks: readonly string[]): Promise<void> {
  const until = Date.now() + CHAIN_LOOK_MS;
  const seen = await Promise.all(networks.map((network) => followNetwork(deps, network, until)));
  if (seen.every((followed) => followed === "level")) return;
  throw new ServiceError("chain_unavailable", { headers: { "Retry-After": String(RETRY_SECONDS) } });
}
const RETRY_SECONDS = 2;

function toOffset({ seconds, to }: AdvanceInput, from: number, now: number): number {
  const offset = to === undefined ? from + (seconds ?? 0) * SECOND_MS : to - now;
  const field = to === undefined ? "seconds" : "to";
  if (offset <= from) throw toValidationError([toFieldError(field, "too_small", "The clock can only move forward.")]);
  if (offset <= OFFSET_MAX_MS) return offset;
  const message = `The clock can be at most ${CLOCK_DAYS_MAX} days ahead of real time.`;
  throw toValidationError([toFieldError(field, "too_big", message)]);
}

async function refuseTooMuch(call: ManagementCall, { to }: AdvanceInput, step: number, sandbox: Sandbox) {
  if (step <= STEP_MAX_MS || (await countDue(call.deps, sandbox, CLOCK_DUE_MAX + 1)) <= CLOCK_DUE_MAX) return;
  const message = `More than ${CLOCK_DUE_MAX} rows would fall due: move the clock by at most ${CLOCK_STEP_DAYS} days.`;
  throw toValidationError([toFieldError(to === undefined ? "seconds" : "to", "too_big", message)]);
}

function toSandbox({ deps, ahead }: ManagementCall, platformId: string, clock: SandboxClock, offset: number): Sandbox {
  const now = deps.clock.now();
  const since = clock.clockRecordedTo ?? now - LOOKS_BACK_MS;
  return { platformId, now: now + offset, since, ahead: ahead + offset };
}
