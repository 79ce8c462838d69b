// How a request with faulty values is refused: first whoever may not call, then what its path names and whose it is, then all
// faults together, those that only the database knows among them. A body that could not be read comes last, as a fault of its own.
import type { AnyCall, Precheck } from "../call.ts";
import { type FieldError, ServiceError, validationError } from "../core/errors.ts";

export async function refuseFaults(
  call: AnyCall,
  faults: readonly FieldError[],
  precheck: Precheck | undefined,
  unreadable: ServiceError | undefined,
): Promise<never> {
  const { reads = {}, judge, mapRefusal = (refusal: unknown) => refusal } = precheck ?? {};
  try {
    const found = await call.read(reads);
    await refuseUnproven(call);
    const named = new Set(faults.map((fault) => fault.field));
    const more = judge?.(found as never, faults) ?? [];
    throw unreadable ?? validationError([...faults, ...more.filter((fault) => !named.has(fault.field))]);
  } catch (thrown) {
    if (!(thrown instanceof ServiceError)) throw thrown;
    throw mapRefusal(new ServiceError(thrown.code, { ...thrown.extra, unkept: true }));
  }
}

/** Who may not call is told that before anything of the request is named. */
export async function refuseUnknownPath(call: AnyCall): Promise<never> {
  await call.read({});
  await refuseUnproven(call);
  throw new ServiceError("not_found");
}

/** Certificates are public: one whose proof is still to be checked against the body learns nothing of the body. */
async function refuseUnproven(call: AnyCall): Promise<void> {
  if (call.surface === "agent" && !call.proven) throw await call.unproven("proof_invalid");
}
