// A file as it was uploaded: its name, its bytes and their digest.
import { type Bytes, computeSha256, encodeHex } from "./encoding.ts";

export type UploadedFile = {
  /** As it was sent, not validated. */
  readonly fileName: string;
  readonly bytes: Bytes;
  /** SHA-256 of the bytes, in lower-case hex. */
  readonly sha256: string;
};

export const toUploadedFile = async (fileName: string, bytes: Bytes): Promise<UploadedFile> => ({
  fileName,
  bytes,
  sha256: encodeHex(await computeSha256(bytes)),
});

export const isUploadedFile = (value: unknown): value is UploadedFile =>
  typeof value === "object" && value !== null && "bytes" in value && value.bytes instanceof Uint8Array;
