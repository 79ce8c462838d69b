// Bodies of multipart/form-data, byte by byte as a client sends them, and files of each format.

export type FormPart = { readonly name: string; readonly fileName?: string; readonly value: string | Uint8Array };

const utf8 = new TextEncoder();
export const BOUNDARY = "----a-boundary-7d93";

/** The bytes of a form. */
export function formBytes(parts: readonly FormPart[], boundary = BOUNDARY): Uint8Array<ArrayBuffer> {
  const pieces = parts.flatMap(({ name, fileName, value }) => {
    const named = fileName === undefined ? "" : `; filename="${fileName}"`;
    const typed = fileName === undefined ? "" : "Content-Type: application/octet-stream\r\n";
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${named}\r\n${typed}\r\n`;
    return [utf8.encode(head), typeof value === "string" ? utf8.encode(value) : value, utf8.encode("\r\n")];
  });
  return joined([...pieces, utf8.encode(`--${boundary}--\r\n`)]);
}

export function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

export const formHeaders = (boundary = BOUNDARY): Record<string, string> => ({
  "Content-Type": `multipart/form-data; boundary=${boundary}`,
});

const begins = (first: readonly number[], size: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(Math.max(size, first.length));
  // Uses every byte value, line breaks too.
  for (let at = 0; at < bytes.length; at++) bytes[at] = (at * 7) % 256;
  bytes.set(first);
  return bytes;
};

export const pdf = (size = 2_000) => begins([...utf8.encode("%PDF-1.7\n")], size);
export const png = (size = 2_000) => begins([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], size);
export const jpeg = (size = 2_000) => begins([0xff, 0xd8, 0xff, 0xe0], size);

/** The parts of a valid document. */
export const documentParts = (type: string, file: Uint8Array = pdf(), fileName = "document.pdf"): FormPart[] => [
  { name: "type", value: type },
  { name: "file", fileName, value: file },
];
