// `npm run contracts:deploy`: brings the contracts to a public network, with its roles and delays (CHN-5 to CHN-7), or tells with --dry-run
// what it would do. It can be repeated: what stands is kept.
import { runCommand } from "./chain/deployment/command.ts";

process.exitCode = await runCommand(process.argv.slice(2), process.env, {
  print: console.log,
  complain: console.error,
});
