// An operator reads the file of a document (ACC-22). The reading is recorded before the file is opened.
import type { OperatorCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import type { MediaType } from "../core/vocabulary.ts";
import type { DocumentRow } from "../db/tables/accounts.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { openFile } from "./document-file.ts";
import { findUploadedDocument } from "./document-store.ts";

type DocumentPath = { readonly platform_id: string; readonly document_id: string };

export const findNamedFile = ({ db }: OperatorCall, { platform_id, document_id }: DocumentPath) =>
  findUploadedDocument(db, platform_id, document_id);

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
