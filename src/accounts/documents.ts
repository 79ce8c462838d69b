// Documents of the review: submitted by the account (ACC-20), read by an operator (ACC-22). The file is stored first, then its row with the log
// entry: a crash in between leaves a file that no caller can see and that the sweep removes, never a document without its file.
import { type OperatorCall, readPage, type SessionCall } from "../call.ts";
import type { Env } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { isUploadedFile, type UploadedFile } from "../core/export.ts";
import { createId } from "../core/ids.ts";
import {
  DAY_MS,
  DOCUMENT_MAX_BYTES,
  DOCUMENTS_PER_DAY,
  FILE_NAME_MAX_CHARS,
  HOUR_MS,
  SECOND_MS,
  STRAY_FILE_HOURS,
  SUPPORTING_DOCUMENTS_MAX,
} from "../core/limits.ts";
import { hashListing, toPage } from "../core/page.ts";
import { findNameFault } from "../core/text.ts";
import { DOCUMENT_TYPES, type MediaType } from "../core/vocabulary.ts";
import { type Database, readBatch } from "../db/batch.ts";
import type { DocumentRow } from "../db/tables/accounts.ts";
import type { BulkJob } from "../jobs/job.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import {
  findStrayIds,
  findUploadedDocument,
  insertDocument,
  listDocuments,
  supersedeDocument,
} from "./document-store.ts";
import type { DocumentInput } from "./schema.ts";
import { countSubmittedOn, findPlatform, recordDocument } from "./store.ts";

export async function submitDocument(call: SessionCall, { type, file }: DocumentInput) {
  const { db, deps, environment } = call;
  // Real time, because a test clock does not move a review.
  const now = deps.clock.now();
  const { caller, platform } = await call.read({ platform: findPlatform(db, call.tenant.platformId) });
  const mediaType = detectMediaType(file.bytes);
  if (!platform || mediaType === null) throw new Error("unreachable: the credential and the schema have judged these");
  if (countSubmittedOn(platform, now) >= DOCUMENTS_PER_DAY) throw toTooManyTodayError(DAY_MS - (now % DAY_MS));
  const { platformId, documents: current } = platform;
  if (type === "supporting" && (current.supporting ?? 0) >= SUPPORTING_DOCUMENTS_MAX)
    throw buildTooManySupportingError();
  const row: DocumentRow = {
    documentId: createId("doc", now),
    platformId,
    type,
    status: "current",
    fileName: file.fileName,
    mediaType,
    sizeBytes: file.bytes.length,
    sha256: file.sha256,
    createdAt: now,
  };
  await putFile(deps.env, row, file);
  const view = toDocumentView(row);
  await call.commit(
    [
      ...(type === "supporting" ? [] : [supersedeDocument(db, { platformId, type })]),
      insertDocument(db, row),
      ...recordDocument(db, row, now),
      recordActivity(db, { platformId, environment }, now, {
        action: "account.document_submitted",
        actor: caller.actor,
        subject: { type: "document", id: row.documentId },
      }),
    ],
    view,
  );
  return view;
}

function toTooManyTodayError(waitMs: number): ServiceError {
  const message = `An account can submit at most ${DOCUMENTS_PER_DAY} documents a day.`;
  const headers = { "Retry-After": String(Math.ceil(waitMs / SECOND_MS)) };
  return new ServiceError("rate_limited", { message, headers });
}

const buildTooManySupportingError = () => {
  const message = `An account can have at most ${SUPPORTING_DOCUMENTS_MAX} supporting documents.`;
  return toValidationError([toFieldError("type", "invalid_value", message)]);
};

type DocumentQuery = { readonly limit: number; readonly cursor?: string | undefined };

export async function getDocuments(call: SessionCall, query: DocumentQuery) {
  const page = await readPage(call, query, hashListing("documents", [], {}));
  const { rows } = await call.read({ rows: listDocuments(call.db, call.tenant.platformId, page) });
  return toPage(rows, page, toDocumentPosition, toDocumentView);
}

export const findNamedDocument = ({ db, tenant }: SessionCall, { document_id }: { document_id: string }) =>
  findUploadedDocument(db, tenant.platformId, document_id);

export const getDocument = async (call: SessionCall<DocumentRow>) => toDocumentView((await call.read({})).object);

export async function getDocumentsOf(call: OperatorCall, platformId: string, query: DocumentQuery) {
  const page = await readPage(call, query, hashListing("documents", [platformId], {}));
  const { rows } = await call.read({ rows: listDocuments(call.db, platformId, page) });
  return toPage(rows, page, toDocumentPosition, toDocumentView);
}

const toDocumentPosition = (row: DocumentRow) => ({ at: row.createdAt, id: row.documentId });

const toDocumentView = (row: DocumentRow) => ({
  document_id: row.documentId,
  type: row.type,
  status: row.status,
  file_name: row.fileName,
  media_type: row.mediaType,
  size_bytes: row.sizeBytes,
  sha256: row.sha256,
  created_at: toIso(row.createdAt),
});

// ---- The file of a document, for an operator (ACC-22) --------------------------------------------------------------------

type DocumentPath = { readonly platform_id: string; readonly document_id: string };

export const findNamedFile = ({ db }: OperatorCall, { platform_id, document_id }: DocumentPath) =>
  findUploadedDocument(db, platform_id, document_id);

/** The reading is recorded before the file is opened. */
export async function readDocument(call: OperatorCall<DocumentRow>) {
  const { object: document } = await call.read({});
  await recordReading(call, document);
  const file = await openFile(call.deps.env, document.platformId, document.documentId);
  // The file was erased (ACC-23).
  if (file === null) throw new ServiceError("not_found");
  return { headers: toDownloadHeaders(document), file };
}

const recordReading = ({ db, deps, actor, commit }: OperatorCall, { platformId, documentId, type }: DocumentRow) => {
  const subject = { type: "document", id: documentId };
  const act = { action: "document.read", subject, platformId, detail: { type } } as const;
  return commit([recordOperatorEntry(db, actor, deps.clock.now(), act)], null);
};

/** Makes the browser download the file instead of opening it under the service's origin. */
const toDownloadHeaders = ({ documentId, fileName, mediaType }: DocumentRow): Record<string, string> => ({
  "Content-Type": mediaType,
  "Content-Disposition": `attachment; filename="${documentId}.${EXTENSIONS[mediaType]}"; filename*=UTF-8''${encodeName(fileName)}`,
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "sandbox; default-src 'none'",
});

const EXTENSIONS: Readonly<Record<MediaType, string>> = {
  "application/pdf": "pdf",
  "image/png": "png",
  "image/jpeg": "jpg",
};

/** RFC 8187. */
const encodeName = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

// ---- The content of a file -----------------------------------------------------------------------------------------------

const SIGNATURES: readonly (readonly [type: MediaType, first: readonly number[]])[] = [
  ["application/pdf", [0x25, 0x50, 0x44, 0x46, 0x2d]],
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
];

/** Judges by the first bytes: a name and a declared type are whatever the sender wrote. */
const detectMediaType = (bytes: Uint8Array): MediaType | null =>
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

/** R2 never serves the files to the public. */
const toFileKey = (platformId: string, documentId: string): string => `${platformId}/${documentId}`;

/** R2 refuses bytes with another SHA-256. */
async function putFile(
  { DOCUMENTS }: Env,
  { platformId, documentId, mediaType }: { platformId: string; documentId: string; mediaType: MediaType },
  { bytes, sha256 }: UploadedFile,
): Promise<void> {
  await DOCUMENTS.put(toFileKey(platformId, documentId), bytes, { sha256, httpMetadata: { contentType: mediaType } });
}

const openFile = async (
  { DOCUMENTS }: Env,
  platformId: string,
  documentId: string,
): Promise<ReadableStream<Uint8Array> | null> => (await DOCUMENTS.get(toFileKey(platformId, documentId)))?.body ?? null;

/** A stored file. `documentId` comes from its key. */
type StoredFile = { readonly key: string; readonly documentId: string; readonly storedAt: number };
type FilePage = { readonly files: readonly StoredFile[]; readonly more: boolean };

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

// ---- The hourly sweep of files without a row -----------------------------------------------------------------------------

/** How many files one slice lists; R2 deletes at most 1,000 at once. */
export const FILES_SLICE = 500;

export const sweepDocuments: BulkJob = {
  kind: "bulk",
  name: "sweep_documents",
  slices: 10,
  // The position is the key of the last file of a slice.
  find: async ({ db, env, clock, slices }, after) => {
    const { files, more } = await listFiles(env, { after: after.id }, slices?.files ?? FILES_SLICE);
    // The row of a younger file may still be written.
    const before = clock.now() - STRAY_FILE_HOURS * HOUR_MS;
    const strays = await findStrayFiles(
      db,
      files.filter(({ storedAt }) => storedAt < before),
    );
    if (strays.length === 0 && !more) return null;
    return {
      // Files do not record since when they have no row.
      oldestDueAt: null,
      run: async () => {
        await deleteFiles(env, strays);
        const last = files.at(-1);
        return { done: strays.length, failed: [], next: more && last ? { at: 0, id: last.key } : null };
      },
    };
  },
};

async function findStrayFiles(db: Database, files: readonly StoredFile[]): Promise<StoredFile[]> {
  if (files.length === 0) return [];
  const { stray } = await readBatch(db, {
    stray: findStrayIds(
      db,
      files.map(({ documentId }) => documentId),
    ),
  });
  const ids = new Set(stray);
  return files.filter(({ documentId }) => ids.has(documentId));
}
