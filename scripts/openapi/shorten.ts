// Shortens certificates, tokens and proofs in examples, which would be a seventh of the document and which no person reads.

/** A JWS with a long payload keeps its header, which readers decode; its payload becomes empty. */
const JWS = /^(ey[\w-]+)\.[\w-]{120,}\.([\w-]+)$/;
const NO_CLAIMS = Buffer.from("{}").toString("base64url");
/** Longer than any single key, id or signature. */
const TOKEN = /[\w+/-]{120,}={0,2}/g;
const PEM_BODY = /(-----BEGIN [A-Z ]+-----\n[^\n]+\n)[^-]+(?=-----END)/g;
const KEPT = 48;

export function shortened(example: unknown): unknown {
  if (typeof example === "string") {
    if (JWS.test(example)) return example.replace(JWS, `$1.${NO_CLAIMS}.$2`);
    return example.replace(PEM_BODY, "$1").replace(TOKEN, (token) => token.slice(0, KEPT));
  }
  if (Array.isArray(example)) return example.map(shortened);
  if (typeof example !== "object" || example === null) return example;
  return Object.fromEntries(Object.entries(example).map(([name, value]) => [name, shortened(value)]));
}
