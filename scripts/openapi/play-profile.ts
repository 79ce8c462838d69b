// Plays the account's profile: a patch that is complete but for what the account has already, the admin contact included.
import { pick } from "../client.ts";
import type { Stage } from "./stage.ts";

const NAMES = ["Polyglot", "Polyglot Agents"] as const;

export async function playProfile(stage: Stage): Promise<void> {
  // On a service that was played before, a patch of the same values would change nothing.
  const known = pick<string | null>(await stage.ask("getPlatform"), "trading_name");
  await stage.show("patchPlatform", {
    body: {
      trading_name: NAMES.find((name) => name !== known),
      registration_number: "HRB 4711 B",
      registered_address: { line1: "Hauptstraße 1", city: "Berlin", postal_code: "10115", country: "DE" },
      website: "https://polyglot.example/",
    },
  });
}
