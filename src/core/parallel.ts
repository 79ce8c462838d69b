// Works a list with a bounded number of its entries at a time.

/** The limit of an invocation's concurrent requests. */
const AT_ONCE = 6;

/** `work` must not throw: one entry stops no other. */
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
