// Plays a patch of the account's profile, of fields that change at once even after the submission.
import { pickValue } from "../client.ts";
import type { Stage } from "./stage.ts";

const NAMES = ["Polyglot", "Polyglot Agents"] as const;

export async function playProfile(stage: Stage): Promise<void> {
  // An earlier play on the same service may have set these values, and a patch that changes nothing is refused.
  const known = pickValue<string | null>(await stage.ask("getPlatform"), "trading_name");
  await stage.show("patchPlatform", {
    body: {
      trading_name: NAMES.find((name) => name !== known),
      registered_address: { line1: "Hauptstraße 1", city: "Berlin", postal_code: "10115", country: "DE" },
      website: "https://polyglot.example/",
    },
  });
}
