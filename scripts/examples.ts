// `npm run examples`: plays every operation on a running service (or one that it starts itself) and prints requests and answers; `-- --write` stores
// them in scripts/openapi/examples.json as the examples of the OpenAPI documents.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { playOperations } from "./openapi/play.ts";
import { connectOrStart } from "./service.ts";

const service = await connectOrStart();
try {
  const text = `${JSON.stringify(await playOperations(service.description), null, 2)}\n`;
  if (process.argv.includes("--write")) writeFileSync(join(import.meta.dirname, "openapi/examples.json"), text);
  else process.stdout.write(text);
} catch (thrown) {
  console.error(thrown instanceof Error ? thrown.message : String(thrown));
  process.exitCode = 1;
} finally {
  await service.stop();
}
