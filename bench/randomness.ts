// Replaces the randomness of the bench build, so that the number of rows read repeats from run to run.

/** Draws from a separate sequence that repeats (the generator Mulberry32). */
const createSequence = (): (() => number) => {
  let drawn = 0;
  return () => {
    drawn = (drawn + 0x6d2b79f5) | 0;
    let mixed = Math.imul(drawn ^ (drawn >>> 15), drawn | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 24) & 0xff;
  };
};

/** The order of ids decides whether a range of an index has a neighbour, and each neighbour is a row that is read. */
const drawByte = createSequence();
/** Places of certificates are consecutive, so that none is drawn twice: a draw of a taken place would read two more rows. */
let places = 0;
crypto.getRandomValues = (values) => {
  if (values instanceof Uint32Array) return values.map(() => ++places) as typeof values;
  if (values instanceof DataView || values === null) throw new TypeError("only typed arrays are filled");
  const view = values as unknown as ArrayBufferView;
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  bytes.set(Array.from(bytes, drawByte));
  return values;
};

/**
 * Makes the n-th DID equal in each run, however many other bytes were drawn before: a follower compares the vaults that come first by their DIDs, and
 * reads as many lines as they have.
 */
const drawUuidByte = createSequence();
crypto.randomUUID = () => {
  const digits = Array.from({ length: 16 }, () => drawUuidByte().toString(16).padStart(2, "0")).join("");
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-a${digits.slice(17, 20)}-${digits.slice(20)}`;
};

export {};
