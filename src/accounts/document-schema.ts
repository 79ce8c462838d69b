// Documents on the wire (ACC-20).
import * as z from "zod";
import { isUploadedFile, type UploadedFile } from "../core/upload.ts";
import { DOCUMENT_TYPES } from "../core/vocabulary.ts";
import { pageQuery } from "../http/schemas.ts";

export const documentType = z.enum(DOCUMENT_TYPES).register(z.globalRegistry, { id: "DocumentType" });

const file = z
  .custom<UploadedFile>(isUploadedFile, "Must be sent as a file, with its name.")
  .register(z.globalRegistry, { id: "UploadedFile", type: "string", contentMediaType: "application/octet-stream" });

export const documentInput = z
  .strictObject({ type: documentType, file })
  .register(z.globalRegistry, { id: "DocumentInput" });
export type DocumentInput = z.infer<typeof documentInput>;

export const documentQuery = z.strictObject(pageQuery);
export const documentParams = z.object({ document_id: z.string() });
export const accountParams = z.object({ platform_id: z.string() });
export const accountDocumentParams = z.object({ platform_id: z.string(), document_id: z.string() });
