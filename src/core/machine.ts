// A state machine is a table, and only a checked move can be stored.
import { type ErrorCode, ServiceError } from "./errors.ts";

/** The table's entry for a state and a trigger: the next state, or the code of the refusal. */
export type Cell<S extends string> = S | { readonly refuse: ErrorCode };
export type Machine<S extends string, T extends string> = {
  readonly name: string;
  readonly states: readonly S[];
  readonly triggers: readonly T[];
  /** An absent pair is an illegal transition: 409 `invalid_status`. */
  readonly table: { readonly [state in S]?: { readonly [trigger in T]?: Cell<S> } };
};

declare const moved: unique symbol;
/** A checked transition. `from` is in the WHERE of the conditional update, so an illegal move cannot be stored. */
export type Move<S extends string> = { readonly from: S; readonly to: S; readonly [moved]: true };

export const refuse = (code: ErrorCode) => ({ refuse: code }) as const;

export const defineMachine = <const S extends string, const T extends string>(machine: Machine<S, T>): Machine<S, T> =>
  machine;

export type Outcome<S extends string> = { ok: true; move: Move<S> } | { ok: false; code: ErrorCode };

export function tryMove<S extends string, T extends string>(machine: Machine<S, T>, from: S, trigger: T): Outcome<S> {
  const cell = machine.table[from]?.[trigger];
  if (cell === undefined) return { ok: false, code: "invalid_status" };
  if (typeof cell === "object") return { ok: false, code: cell.refuse };
  return { ok: true, move: { from, to: cell } as Move<S> };
}

export function move<S extends string, T extends string>(machine: Machine<S, T>, from: S, trigger: T): Move<S> {
  const outcome = tryMove(machine, from, trigger);
  if (outcome.ok) return outcome.move;
  const message =
    outcome.code === "invalid_status" ? `The ${machine.name} is ${from}, which does not permit this.` : undefined;
  throw new ServiceError(outcome.code, { detail: { status: from }, ...(message && { message }) });
}

export const listStatesMovedBy = <S extends string, T extends string>(machine: Machine<S, T>, trigger: T): S[] =>
  machine.states.filter((state) => tryMove(machine, state, trigger).ok);
