// Replaces the randomness of the bench build, so that the rows that are read repeat from run to run.

/** Draws from a sequence of its own, which repeats (the generator Mulberry32). */
const sequence = (): (() => number) => {
  let drawn = 0;
  return () => {
    drawn = (drawn + 0x6d2b79f5) | 0;
    let mixed = Math.imul(drawn ^ (drawn >>> 15), drawn | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 24) & 0xff;
  };
};

/** A range of an index has a neighbour or none by the order of ids, and each neighbour is a row that is read. */
const drawByte = sequence();
/** The places of certificates follow each other, so that none is taken: each taken one that is drawn is two rows that are read. */
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
 * The n-th DID is the same in each run, however many bytes others have drawn by then: a follower compares the vaults that come first by their DIDs,
 * and reads as many lines as they have.
 */
const drawUuidByte = sequence();
crypto.randomUUID = () => {
  const digits = Array.from({ length: 16 }, () => drawUuidByte().toString(16).padStart(2, "0")).join("");
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-a${digits.slice(17, 20)}-${digits.slice(20)}`;
};

export {};
