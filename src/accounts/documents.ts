// Documents of the review (ACC-20). The file is stored first, then its row with the log entry: a crash in between leaves a file that no caller can
// see and that the sweep removes (sweep-documents.ts), never a document without its file.
import { type OperatorCall, readPage, type SessionCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { DAY_MS, DOCUMENTS_PER_DAY, SECOND_MS, SUPPORTING_DOCUMENTS_MAX } from "../core/limits.ts";
import { hashListing, toPage } from "../core/page.ts";
import type { DocumentRow } from "../db/tables/accounts.ts";
import { recordActivity } from "../journal/activity.ts";
import { detectMediaType, putFile } from "./document-file.ts";
import type { DocumentInput } from "./document-schema.ts";
import { findUploadedDocument, insertDocument, listDocuments, supersedeDocument } from "./document-store.ts";
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

/** For the operator: the documents of one account. */
export async function getDocumentsOf(call: OperatorCall, platformId: string, query: DocumentQuery) {
  const page = await readPage(call, query, hashListing("documents", [platformId], {}));
  const { rows } = await call.read({ rows: listDocuments(call.db, platformId, page) });
  return toPage(rows, page, toDocumentPosition, toDocumentView);
}

const toDocumentPosition = (row: DocumentRow) => ({ at: row.createdAt, id: row.documentId });

export const toDocumentView = (row: DocumentRow) => ({
  document_id: row.documentId,
  type: row.type,
  status: row.status,
  file_name: row.fileName,
  media_type: row.mediaType,
  size_bytes: row.sizeBytes,
  sha256: row.sha256,
  created_at: toIso(row.createdAt),
});
