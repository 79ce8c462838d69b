// Recomputes a feed and verifies its head as in a browser (browser-modules.ts), with data from the standard input, and prints both.
import { readFileSync } from "node:fs";
import { loadProtocol } from "./browser-modules.ts";

const { records, jws, jwks, issuer } = JSON.parse(readFileSync(0, "utf8"));
const { followFeed, verifyDirectoryHead } =
  await loadProtocol<typeof import("../../src/protocol/directory-head.ts")>("directory-head.ts");
const { FIRST_HASH } = await loadProtocol<typeof import("../../src/protocol/running-hash.ts")>("running-hash.ts");
const { importJwks } = await loadProtocol<typeof import("../../src/protocol/jwks.ts")>("jwks.ts");
const place = await followFeed({ seq: 0, hash: FIRST_HASH }, records);
const checked = await verifyDirectoryHead(jws, await importJwks(jwks), { issuer });
console.log(JSON.stringify({ place, checked }));
