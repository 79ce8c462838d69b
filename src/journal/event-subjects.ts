// The subjects of an event (EVT-18): the ids that a reader may ask for events about.

/** The member of an event's object that names it, by the noun that the type begins with. */
export const OWN_ID: Readonly<Record<string, string>> = {
  agent: "did",
  api_key: "key_id",
  dispute: "dispute_id",
  intent: "intent_id",
  market: "did",
  platform: "platform_id",
  principal: "principal_id",
  task: "task_id",
  transaction: "transaction_id",
  webhook: "webhook_id",
};

type Told = {
  readonly type: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly agentDid: string | null;
  readonly otherDid: string | null;
};

/** Each once: what the event is about, and the platform's agents that it concerns. */
export function subjectsOf({ type, object, agentDid, otherDid }: Told): string[] {
  const [noun = ""] = type.split(".");
  const own = object[OWN_ID[noun] ?? ""];
  return [...new Set([own, agentDid, otherDid].filter((id) => typeof id === "string"))];
}
