// Indexes the events of an ABI by topic. viem hashes the signature of every event for each log, which took a twentieth of a facilitation.
import type { Abi } from "viem";
import { toEventSelector } from "viem/utils";

/** Returns a lookup from a topic to an ABI of that single event, typed as the whole ABI. Hashes each signature once. */
export function indexEvents<const A extends Abi>(abi: A): (topic: string) => A | undefined {
  let events: Map<string, A> | undefined;
  return (topic) => {
    events ??= new Map(
      abi.filter((item) => item.type === "event").map((event) => [toEventSelector(event), [event] as unknown as A]),
    );
    return events.get(topic);
  };
}
