// Plays the account's profile: a patch of what changes at once also after the submission.
import { pick } from "../client.ts";
import type { Stage } from "./stage.ts";

const NAMES = ["Polyglot", "Polyglot Agents"] as const;

export async function playProfile(stage: Stage): Promise<void> {
  // On a service that was played before, a patch of the same values would change nothing.
  const known = pick<string | null>(await stage.ask("getPlatform"), "trading_name");
  await stage.show("patchPlatform", {
    body: {
      trading_name: NAMES.find((name) => name !== known),
      registered_address: { line1: "Hauptstraße 1", city: "Berlin", postal_code: "10115", country: "DE" },
      website: "https://polyglot.example/",
    },
  });
}
