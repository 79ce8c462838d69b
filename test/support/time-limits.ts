// Disables the service's time limits of seconds, so that none ends on a busy machine. A test of a time limit sets a shorter one.
const SHORT_MS = 1_000;
const limitAfter = AbortSignal.timeout.bind(AbortSignal);
const timeoutAfter = globalThis.setTimeout;
/** Later than the end of any run. */
const NEVER_MS = 2 ** 31 - 1;

AbortSignal.timeout = (ms) => (ms < SHORT_MS ? limitAfter(ms) : new AbortController().signal);
globalThis.setTimeout = ((act: () => void, ms = 0, ...given: []) =>
  timeoutAfter(act, ms < SHORT_MS ? ms : NEVER_MS, ...given)) as typeof setTimeout;
