// Replaces the randomness of the bench build, so that the rows that are read repeat from run to run.

/**
 * Ids and the places of certificates are drawn from one sequence: a range of an index has a neighbour or none by their order, and each neighbour is
 * a row that is read.
 */
let drawn = 0;
const drawByte = (): number => {
  // The generator Mulberry32.
  drawn = (drawn + 0x6d2b79f5) | 0;
  let mixed = Math.imul(drawn ^ (drawn >>> 15), drawn | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 24) & 0xff;
};

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
crypto.randomUUID = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-a${digits.slice(17, 20)}-${digits.slice(20)}`;
};

export {};
