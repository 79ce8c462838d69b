// Refused calls of each operation on disputes, for test/journal/refusals.test.ts.

import { must, operator } from "../consequences/plays/stage.ts";
import { facilitated, type Pair } from "../facilitation/support.ts";
import type { World } from "../support/world.ts";
import type { Refusal } from "./account-refusals.ts";

/** `disputeId`: an open dispute about the transaction `disputedId`. `endedId`: a dispute that has ended. */
type At = { readonly world: World; readonly disputeId: string; readonly disputedId: string; readonly endedId: string };

export async function disputesOf(world: World, pair: Pair): Promise<Omit<At, "world">> {
  const settle = async (): Promise<string> => (await facilitated(world, pair)).fac.transaction_id;
  const file = async (transaction_id: string): Promise<string> => {
    const body = { transaction_id, reason: "other", disputed_amount: "0.10" };
    return (await must(201, world.call("POST", "/v1/disputes", { body }))).dispute_id;
  };
  const disputedId = await settle();
  const endedId = await file(await settle());
  await must(200, world.call("POST", `/v1/disputes/${endedId}/withdraw`));
  return { disputedId, endedId, disputeId: await file(disputedId) };
}

/** `at` returns its values once the tests run. */
export function disputeRefusals(at: () => At): Readonly<Record<string, readonly Refusal[]>> {
  const post = (path: string, body?: unknown) => at().world.call("POST", path, { ...(body !== undefined && { body }) });
  const onOpen = (verb: string, body?: unknown) => () => post(`/v1/disputes/${at().disputeId}/${verb}`, body);
  const onEnded = (verb: string, body?: unknown) => () => post(`/v1/disputes/${at().endedId}/${verb}`, body);
  const decide = (body: unknown) => () =>
    at().world.call("POST", `/v1/operator/disputes/${at().disputeId}/resolve`, { ...operator(), body });
  const repeat = (body: unknown) => () =>
    at().world.call("POST", `/v1/operator/disputes/${at().disputeId}/payout`, { ...operator(), body });
  const filing = { reason: "other", disputed_amount: "0.10" };
  return {
    fileDispute: [
      ["no transaction", "validation_failed", () => post("/v1/disputes", filing)],
      [
        "an unknown transaction",
        "facilitation_not_found",
        () => post("/v1/disputes", { ...filing, transaction_id: "fac_none" }),
      ],
      [
        "a disputed transaction",
        "dispute_exists",
        () => post("/v1/disputes", { ...filing, transaction_id: at().disputedId }),
      ],
    ],
    respondToDispute: [
      ["an empty answer", "validation_failed", onOpen("respond", {})],
      ["an ended dispute", "invalid_status", onEnded("respond", { message: "Too late." })],
    ],
    acceptOffer: [["no offer", "invalid_status", onOpen("accept")]],
    concedeDispute: [["an ended dispute", "invalid_status", onEnded("concede")]],
    withdrawDispute: [["an ended dispute", "invalid_status", onEnded("withdraw")]],
    escalateDispute: [["no answer of the provider", "invalid_status", onOpen("escalate")]],
    addDisputeEvidence: [
      ["no description", "validation_failed", onOpen("evidence", {})],
      ["no side, for a platform with both", "validation_failed", onOpen("evidence", { description: "The note." })],
      ["an ended dispute", "invalid_status", onEnded("evidence", { description: "x", submitted_by: "consumer" })],
    ],
    repeatPayout: [
      ["no reason", "validation_failed", repeat({})],
      ["a payout that was not cancelled", "invalid_status", repeat({ reason: "So it is." })],
    ],
    resolveDispute: [
      ["no reason", "validation_failed", decide({ resolution: "rejected" })],
      ["one that is not in arbitration", "invalid_status", decide({ resolution: "rejected", reason: "So it is." })],
    ],
  };
}
