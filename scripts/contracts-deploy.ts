// `npm run contracts:deploy`: deploys the contracts to a public network, with their roles and delays (CHN-5 to CHN-7), or prints with --dry-run what
// it would do. It can be repeated: it keeps what is already deployed.
import { runCommand } from "./chain/deployment/command.ts";

process.exitCode = await runCommand(process.argv.slice(2), process.env, {
  print: console.log,
  complain: console.error,
});
