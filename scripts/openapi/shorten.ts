// Shortens what only a machine reads in an example: certificates, tokens and proofs would be a seventh of the document.

/** A JWS whose payload is long keeps its header, by which it is read; its payload says nothing any more. */
const JWS = /^(ey[\w-]+)\.[\w-]{120,}\.([\w-]+)$/;
const NO_CLAIMS = Buffer.from("{}").toString("base64url");
/** Longer than a key, an id or a signature alone. */
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
