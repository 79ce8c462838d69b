// Runs the command that deploys the contracts to a public network. Nothing that it prints contains a key.
import { createRedactor, describeError } from "./node.ts";
import { runDeployment } from "./run.ts";
import { readSettings, USAGE } from "./settings.ts";

type Print = (line: string) => void;

export async function runCommand(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { print, complain }: { readonly print: Print; readonly complain: Print },
): Promise<number> {
  const redact = createRedactor(env);
  try {
    if (args.includes("--help")) print(USAGE);
    else await runDeployment(readSettings(args, env), (line) => print(redact(line)));
    return 0;
  } catch (error) {
    for (const line of describeError(error)) complain(redact(line));
    return 1;
  }
}
