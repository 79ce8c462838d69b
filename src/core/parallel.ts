// Works through a list with a bounded number of entries at a time.

/** The runtime's limit of concurrent requests in one invocation. */
const AT_ONCE = 6;

/** `work` must not throw: no entry may stop the others. */
export async function eachAtOnce<T>(
  entries: readonly T[],
  work: (entry: T) => Promise<void>,
  atOnce = AT_ONCE,
): Promise<void> {
  const waiting = entries.values();
  const worker = async () => {
    for (const entry of waiting) await work(entry);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, entries.length) }, worker));
}
