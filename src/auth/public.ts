// The entrance of public routes: they need no credential, and are charged to the client's address.
import type { Entrance } from "../http/call.ts";
import { readClientAddress } from "../http/rate-limit.ts";

export const publicEntrance: Entrance = {
  presents: () => true,
  challenge: () => null,
  check: async ({ route, validBody, context }) => ({
    quota: { of: "address" },
    keys: route.keysOf && validBody !== undefined ? await route.keysOf(validBody) : null,
    reads: () => ({}),
    offsetOf: () => null,
    admit: async () => ({ caller: null, platformId: null }),
    parts: { clientAddress: readClientAddress(context), userAgent: context.req.header("user-agent") ?? "" },
  }),
};
