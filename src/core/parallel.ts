// Works through a list with a bounded number of entries at a time.

/** The runtime's limit of concurrent requests in one invocation. */
const CONCURRENCY = 6;

/** `work` must not throw: no entry may stop the others. */
export async function runConcurrently<T>(
  entries: readonly T[],
  work: (entry: T) => Promise<void>,
  atOnce = CONCURRENCY,
): Promise<void> {
  const waiting = entries.values();
  const worker = async () => {
    for (const entry of waiting) await work(entry);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, entries.length) }, worker));
}
