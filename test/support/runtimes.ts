// Runs many test files in one workerd, and starts another before its memory grows too large. Each living runtime holds a slot, and each slot has a
// pair of chains of its own, so that no two signers share a key on one chain.
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { cloudflarePool, cloudflareTest } from "@cloudflare/vitest-plugin";
import type { PoolOptions, PoolWorker, VitestPluginContext } from "vitest/node";
import { SLOTS } from "./slots.ts";

/** A runtime grows by about 12 MB a file, at whole size by up to a gigabyte, and dies at 1.4 GB. */
const FILES_EACH = process.env["TEST_SCALE"] === "whole" ? 10 : 80;
/** Queues without a consumer, because a test delivers the messages itself. */
const HELD_QUEUES = {
  CHAIN_QUEUE: { queueName: "held-chain" },
  JOB_QUEUE: { queueName: "held-jobs" },
  OUTBOX_QUEUE: { queueName: "held-outbox" },
  WEBHOOK_QUEUE: { queueName: "held-webhooks" },
};

type PoolConfiguration = Parameters<typeof cloudflarePool>[0];

const freeSlots = Array.from({ length: SLOTS }, (_, slot) => slot);
const waiting: ((slot: number) => void)[] = [];

async function takeSlot(): Promise<number> {
  return freeSlots.shift() ?? new Promise((resolve) => waiting.push(resolve));
}

function releaseSlot(slot: number): void {
  const next = waiting.shift();
  if (next) next(slot);
  else freeSlots.push(slot);
}

/** The plugins of a project whose files run in workerd with the Worker of a wrangler.toml. */
export function sharedRuntimes(config: string) {
  const root = dirname(resolve(config));
  const configPath = configAlone(root);
  const inSlot =
    (slot: number): PoolConfiguration =>
    ({ inject }) => ({
      main: join(root, "src/worker.ts"),
      wrangler: { configPath },
      miniflare: { bindings: inject("slots")[slot] ?? {}, queueProducers: HELD_QUEUES },
    });
  return [
    cloudflareTest(inSlot(0)),
    {
      name: "shared-runtimes",
      configureVitest({ project }: VitestPluginContext) {
        project.config.poolRunner = {
          name: project.config.pool,
          createPoolWorker: (options: PoolOptions) =>
            createRuntime(project.config.pool, (slot) => cloudflarePool(inSlot(slot)).createPoolWorker(options)),
        };
      },
    },
  ];
}

/** Links wrangler.toml into a separate folder: next to the original, wrangler would load the `.dev.vars` that `npm start` or a person left there. */
function configAlone(root: string): string {
  const folder = mkdtempSync(join(tmpdir(), "wrangler-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const name of ["wrangler.toml", "src"]) symlinkSync(join(root, name), join(folder, name));
  return join(folder, "wrangler.toml");
}

function createRuntime(name: string, create: (slot: number) => PoolWorker): PoolWorker {
  let files = 0;
  let running: { slot: number; worker: PoolWorker } | undefined;
  const started = (): PoolWorker => {
    if (!running) throw new Error("the runtime has not started");
    return running.worker;
  };
  return {
    name,
    canReuse: () => files < FILES_EACH,
    start: async () => {
      const slot = await takeSlot();
      running = { slot, worker: create(slot) };
      await running.worker.start();
    },
    stop: async () => {
      try {
        await running?.worker.stop();
      } finally {
        if (running) releaseSlot(running.slot);
        running = undefined;
      }
    },
    send: (message) => {
      if ("type" in message && message.type === "run") files += 1;
      started().send(message);
    },
    on: (event, callback) => started().on(event, callback),
    off: (event, callback) => running?.worker.off(event, callback),
    deserialize: (data) => data,
  };
}
