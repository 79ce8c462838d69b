// `npm run contracts:deploy`: brings the contracts to a public network, with its roles and delays (CHN-5 to CHN-7), or tells with --dry-run
// what it would do. It can be repeated: what stands is kept.
import { reasonOf, redactor } from "./chain/deployment/node.ts";
import { runDeployment } from "./chain/deployment/run.ts";
import { readSettings, USAGE } from "./chain/deployment/settings.ts";

const redact = redactor(process.env);
try {
  const args = process.argv.slice(2);
  if (args.includes("--help")) console.log(USAGE);
  else await runDeployment(readSettings(args, process.env), (line) => console.log(redact(line)));
} catch (error) {
  for (const line of reasonOf(error)) console.error(redact(line));
  process.exitCode = 1;
}
