// Finds a service for scripts: the one that runs from .dev, or one that is started for as long as the script runs.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DEFAULT_DIR, isHealthy } from "./local-worker.ts";
import { descriptionFile, progressLines, type ServiceDescription, startStack } from "./stack.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

export type ConnectedService = {
  readonly description: ServiceDescription;
  /** Ends the service and removes its folder if it was started here; a service that ran before keeps running. */
  readonly stop: () => Promise<void>;
};

/**
 * Returns the running service that .dev/service.json (or DEV_DIR's) describes, if it answers; otherwise starts one on free ports in a temporary
 * folder, which Ctrl-C ends too.
 * @throws StackError with one line of reason if none can be started
 */
export async function connectOrStart(): Promise<ConnectedService> {
  const dir = resolve(process.env["DEV_DIR"] || DEFAULT_DIR);
  const description = readDescription(dir);
  if (description !== null && (await isHealthy(description.base_url))) {
    return { description, stop: async () => undefined };
  }
  return startOwnService();
}

/** Reads the description that a running stack wrote into its folder; null if none runs. */
export function readDescription(dir: string): ServiceDescription | null {
  try {
    return JSON.parse(readFileSync(descriptionFile(dir), "utf8"));
  } catch {
    return null;
  }
}

async function startOwnService(): Promise<ConnectedService> {
  const dir = mkdtempSync(join(tmpdir(), "service-"));
  const abort = new AbortController();
  const ports = { service: 0, chain: 0, chainProduction: 0 };
  // Standard output belongs to the script itself.
  const progress = progressLines(console.error);
  const starting = startStack({ dir, ports, signal: abort.signal, log: () => undefined, progress });
  const stop = async () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    abort.abort();
    const stack = await starting.catch(() => undefined);
    await stack?.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  const onSignal = () => void stop().finally(() => process.exit(130));
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    const { description } = await starting;
    return { description, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
