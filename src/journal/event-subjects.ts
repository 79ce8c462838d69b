// The subject of an event (EVT-18): the id by which events can be filtered, besides the DIDs of its agents.

/** The member of an event's object that holds its subject, by the noun that the type begins with. */
const OWN_ID: Readonly<Record<string, string>> = {
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

type EventFacts = {
  readonly type: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly agentDid: string | null;
  readonly otherDid?: string | null;
};

/** The id of the resource that the event is about; null if that is one of its agents. */
export function findEventSubject({ type, object, agentDid, otherDid = null }: EventFacts): string | null {
  const [noun = ""] = type.split(".");
  const own = object[OWN_ID[noun] ?? ""];
  return typeof own !== "string" || own === agentDid || own === otherDid ? null : own;
}
