// Documents on the wire (ACC-20).
import * as z from "zod";
import { isUploadedFile, type UploadedFile } from "../core/upload.ts";
import { DOCUMENT_STATUSES, DOCUMENT_TYPES, MEDIA_TYPES } from "../core/vocabulary.ts";
import { instant, listOf, pageQuery } from "../http/schemas.ts";

const documentType = z.enum(DOCUMENT_TYPES).register(z.globalRegistry, { id: "DocumentType" });

const file = z
  .custom<UploadedFile>(isUploadedFile, "Must be sent as a file, with its name.")
  .register(z.globalRegistry, { id: "UploadedFile", type: "string", contentMediaType: "application/octet-stream" });

export const documentInput = z
  .strictObject({ type: documentType, file })
  .register(z.globalRegistry, { id: "DocumentInput" });
export type DocumentInput = z.infer<typeof documentInput>;

export const documentView = z
  .object({
    document_id: z.string(),
    type: documentType,
    status: z.enum(DOCUMENT_STATUSES),
    file_name: z.string(),
    media_type: z.enum(MEDIA_TYPES),
    size_bytes: z.number().int(),
    sha256: z.string(),
    created_at: instant,
  })
  .register(z.globalRegistry, { id: "Document" });

export const documentQuery = z.strictObject(pageQuery);
export const documentList = listOf(documentView).register(z.globalRegistry, { id: "DocumentList" });
export const documentParams = z.object({ document_id: z.string() });
export const accountParams = z.object({ platform_id: z.string() });
export const accountDocumentParams = z.object({ platform_id: z.string(), document_id: z.string() });
