// The entrance of public routes: no credential, charged to the client's address.
import type { Entrance } from "../http/call.ts";

export const publicEntrance: Entrance = {
  presents: () => true,
  challenge: () => null,
  check: async () => ({
    quota: null,
    keys: null,
    reads: () => ({}),
    offsetOf: () => null,
    admit: async () => ({ caller: null, platformId: null }),
    parts: {},
  }),
};
