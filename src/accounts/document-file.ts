// The files of documents in R2 (ACC-20): never public, under `<platform_id>/<document_id>`.
import type { Env } from "../context.ts";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { DOCUMENT_MAX_BYTES, FILE_NAME_MAX_CHARS } from "../core/limits.ts";
import { findNameFault } from "../core/text.ts";
import { isUploadedFile, type UploadedFile } from "../core/upload.ts";
import { DOCUMENT_TYPES, type MediaType } from "../core/vocabulary.ts";

// ---- The content of a file -----------------------------------------------------------------------------------------------

const SIGNATURES: readonly (readonly [type: MediaType, first: readonly number[]])[] = [
  ["application/pdf", [0x25, 0x50, 0x44, 0x46, 0x2d]],
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
];

/** Judges by the first bytes: a name and a declared type are whatever the sender wrote. */
export const detectMediaType = (bytes: Uint8Array): MediaType | null =>
  SIGNATURES.find(([, first]) => first.every((byte, i) => bytes[i] === byte))?.[0] ?? null;

/** The faults of a form's parts that have their own codes, and the faults of the file, which no schema can find. */
export function findDocumentFaults(raw: unknown): FieldError[] {
  const { type, file } = raw as { readonly type?: unknown; readonly file?: unknown };
  const isUnknown = typeof type === "string" && !DOCUMENT_TYPES.some((known) => known === type);
  return [
    ...(isUnknown ? [toFieldError("type", "document_type_invalid")] : []),
    ...(isUploadedFile(file) ? findFileFaults(file) : []),
  ];
}

function findFileFaults({ bytes, fileName }: UploadedFile): FieldError[] {
  if (bytes.length === 0) return [toFieldError("file", "too_short", "The file is empty.")];
  if (bytes.length > DOCUMENT_MAX_BYTES) {
    const message = `The file has ${bytes.length} bytes; at most ${DOCUMENT_MAX_BYTES} are accepted.`;
    return [toFieldError("file", "file_too_large", message)];
  }
  const named = findFileNameFault(fileName);
  if (named !== null) return [toFieldError("file", "invalid_format", named)];
  const message = "The file does not begin like a PDF, PNG or JPEG.";
  return detectMediaType(bytes) === null ? [toFieldError("file", "unsupported_file_type", message)] : [];
}

/** The name is shown to people and becomes the name of a download, so it must not name another folder. */
function findFileNameFault(name: string): string | null {
  if (name === "") return "The file has no name.";
  if (name.length > FILE_NAME_MAX_CHARS) return `The file name must be at most ${FILE_NAME_MAX_CHARS} characters.`;
  if (/[/\\]/.test(name) || name === "." || name === "..") return "The file name must not contain a path.";
  const fault = findNameFault(name);
  return fault === null ? null : `The file name: ${fault}`;
}

// ---- The place of a file -------------------------------------------------------------------------------------------------

const toFileKey = (platformId: string, documentId: string): string => `${platformId}/${documentId}`;

/** R2 refuses bytes with another SHA-256. */
export async function putFile(
  { DOCUMENTS }: Env,
  { platformId, documentId, mediaType }: { platformId: string; documentId: string; mediaType: MediaType },
  { bytes, sha256 }: UploadedFile,
): Promise<void> {
  await DOCUMENTS.put(toFileKey(platformId, documentId), bytes, { sha256, httpMetadata: { contentType: mediaType } });
}

export const openFile = async (
  { DOCUMENTS }: Env,
  platformId: string,
  documentId: string,
): Promise<ReadableStream<Uint8Array> | null> => (await DOCUMENTS.get(toFileKey(platformId, documentId)))?.body ?? null;

/** A stored file. `documentId` comes from its key. */
export type StoredFile = { readonly key: string; readonly documentId: string; readonly storedAt: number };
export type FilePage = { readonly files: readonly StoredFile[]; readonly more: boolean };

/** Files in the order of their keys: those of one platform, or all files after a key. */
export async function listFiles(
  { DOCUMENTS }: Env,
  from: { readonly platformId: string } | { readonly after: string },
  limit: number,
): Promise<FilePage> {
  const where =
    "platformId" in from ? { prefix: `${from.platformId}/` } : from.after === "" ? {} : { startAfter: from.after };
  const { objects, truncated } = await DOCUMENTS.list({ ...where, limit });
  const files = objects.map(({ key, uploaded }) => ({
    key,
    documentId: key.slice(key.indexOf("/") + 1),
    storedAt: uploaded.getTime(),
  }));
  return { files, more: truncated };
}

export async function deleteFiles({ DOCUMENTS }: Env, files: readonly StoredFile[]): Promise<void> {
  if (files.length > 0) await DOCUMENTS.delete(files.map(({ key }) => key));
}
