// Refuses a request with faulty values in the order of HTTP-18: first the caller, then the object of the path and its parties, then all faults
// together, also those that only the database knows (HTTP-12). An unreadable body is refused in place of its faults.
import type { AnyCall, Precheck } from "../call.ts";
import { type FieldError, ServiceError, toValidationError } from "../core/errors.ts";

export async function refuseFaults(
  call: AnyCall,
  faults: readonly FieldError[],
  precheck: Precheck | undefined,
  unreadable: ServiceError | undefined,
): Promise<never> {
  const { reads = {}, judge, calleeOf } = precheck ?? {};
  try {
    const found = (await call.read(reads)) as never;
    await refuseUnproven(call, calleeOf?.(found));
    const named = new Set(faults.map((fault) => fault.field));
    const more = (await judge?.(found, faults)) ?? [];
    throw unreadable ?? toValidationError([...faults, ...more.filter((fault) => !named.has(fault.field))]);
  } catch (thrown) {
    if (!(thrown instanceof ServiceError)) throw thrown;
    throw new ServiceError(thrown.code, { ...thrown.extra, unkept: true });
  }
}

/** Refuses an unauthorised caller before the answer names anything from the request. */
export async function refuseUnknownPath(call: AnyCall): Promise<never> {
  await call.read({});
  await refuseUnproven(call);
  throw new ServiceError("not_found");
}

/** A caller whose proof would be checked against the body learns nothing about it, unless it is bound to the agent that the body names (PRF-11). */
async function refuseUnproven(call: AnyCall, calleeDid?: string): Promise<void> {
  if (call.surface !== "agent" || call.proven) return;
  if (calleeDid === undefined) throw await call.unproven();
  await call.proveBoundTo(calleeDid);
}
