// The events of an ABI by their topics. viem hashes the signature of every event for each log that it decodes, which took a twentieth of a facilitation.
import type { Abi } from "viem";
import { toEventSelector } from "viem/utils";

/** Gives the ABI of the event with this topic alone, typed as the whole; undefined where no event has it. Each signature is hashed once. */
export function indexEvents<const A extends Abi>(abi: A): (topic: string) => A | undefined {
  let events: Map<string, A> | undefined;
  return (topic) => {
    events ??= new Map(
      abi.filter((item) => item.type === "event").map((event) => [toEventSelector(event), [event] as unknown as A]),
    );
    return events.get(topic);
  };
}
