// Checks public keys of Ed25519 (RFC 8032). A key must be a point of the large prime group: anyone can forge signatures for a key of small order,
// and WebCrypto imports such keys. The input is public, so the running time may depend on it.

/** The prime of the field, the coefficient d, a square root of -1, and the order of the group. */
const P = 2n ** 255n - 19n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
const ROOT = 19681161376707505956807079304988542015446066515923890162744021073123829784752n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** A point in extended coordinates: x = X/Z, y = Y/Z, T = XY/Z. */
type Point = readonly [X: bigint, Y: bigint, Z: bigint, T: bigint];
const NEUTRAL: Point = [0n, 1n, 1n, 0n];

/** True for the canonical encoding (32 bytes) of a point of the large prime group, except the neutral point. */
export function isKeyPoint(bytes: Uint8Array): boolean {
  const point = bytes.length === 32 ? decodePoint(bytes) : null;
  return point !== null && !isNeutral(point) && isNeutral(multiplyPoint(point, ORDER));
}

/** Decodes a point (RFC 8032, 5.1.3). Null if the bytes are not canonical, or not a point. */
function decodePoint(bytes: Uint8Array): Point | null {
  const all = bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const [y, sign] = [all & (2n ** 255n - 1n), all >> 255n];
  if (y >= P) return null;
  const [u, v] = [reduceModulo(y * y - 1n), reduceModulo(D * y * y + 1n)];
  const root = reduceModulo(u * raiseToPower(v, 3n) * raiseToPower(u * raiseToPower(v, 7n), (P - 5n) / 8n));
  const squared = reduceModulo(v * root * root);
  if (squared !== u && squared !== reduceModulo(-u)) return null;
  const x = squared === u ? root : reduceModulo(root * ROOT);
  if (x === 0n && sign === 1n) return null;
  const signed = (x & 1n) === sign ? x : P - x;
  return [signed, y, 1n, reduceModulo(signed * y)];
}

const isNeutral = ([X, Y, Z]: Point): boolean => X === 0n && Y === Z;

function multiplyPoint(point: Point, factor: bigint): Point {
  let [sum, doubled] = [NEUTRAL, point];
  for (let left = factor; left > 0n; left >>= 1n) {
    if (left & 1n) sum = addPoints(sum, doubled);
    doubled = addPoints(doubled, doubled);
  }
  return sum;
}

/** Adds two points, which may be equal (RFC 8032, 5.1.4). */
function addPoints([X1, Y1, Z1, T1]: Point, [X2, Y2, Z2, T2]: Point): Point {
  const [a, b] = [reduceModulo((Y1 - X1) * (Y2 - X2)), reduceModulo((Y1 + X1) * (Y2 + X2))];
  const [c, d] = [reduceModulo(2n * D * T1 * T2), reduceModulo(2n * Z1 * Z2)];
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return [reduceModulo(e * f), reduceModulo(g * h), reduceModulo(f * g), reduceModulo(e * h)];
}

function raiseToPower(base: bigint, exponent: bigint): bigint {
  let [result, squared] = [1n, reduceModulo(base)];
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = reduceModulo(result * squared);
    squared = reduceModulo(squared * squared);
  }
  return result;
}

const reduceModulo = (value: bigint): bigint => ((value % P) + P) % P;
