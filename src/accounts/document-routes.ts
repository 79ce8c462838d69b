// Routes of documents: the account's own, and the operator's reads of them (ACC-20, ACC-22).
import { DOCUMENT_MAX_BYTES } from "../core/limits.ts";

import { answer } from "../http/answer.ts";
import { defineRoute } from "../http/route.ts";
import { findNamedAccount } from "./decide.ts";
import { findDocumentFaults } from "./document-file.ts";
import {
  accountDocumentParams,
  accountParams,
  documentInput,
  documentParams,
  documentQuery,
} from "./document-schema.ts";
import { findNamedDocument, getDocument, getDocuments, getDocumentsOf, submitDocument } from "./documents.ts";
import { findNamedFile, readDocument } from "./read-document.ts";

export const documentRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/platform/documents",
    operationId: "submitDocument",
    surfaces: ["session"],
    multipart: { fileMaxBytes: DOCUMENT_MAX_BYTES },
    body: documentInput,
    rules: findDocumentFaults,
    status: 201,
    errors: ["document_type_invalid", "file_too_large", "unsupported_file_type"],
    idempotency: "plain",
    handle: (call, { body }) => submitDocument(call, body),
  }),
  defineRoute({
    method: "get",
    path: "/v1/platform/documents",
    operationId: "listDocuments",
    surfaces: ["session"],
    query: documentQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => getDocuments(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/platform/documents/{document_id}",
    operationId: "getDocument",
    surfaces: ["session"],
    params: documentParams,
    status: 200,
    errors: ["not_found"],
    object: findNamedDocument,
    handle: getDocument,
  }),
  defineRoute({
    method: "get",
    path: "/v1/operator/platforms/{platform_id}/documents",
    operationId: "listPlatformDocuments",
    surfaces: ["operator"],
    params: accountParams,
    query: documentQuery,
    status: 200,
    errors: ["not_found"],
    object: findNamedAccount,
    handle: (call, { params, query }) => getDocumentsOf(call, params.platform_id, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/operator/platforms/{platform_id}/documents/{document_id}",
    operationId: "readPlatformDocument",
    surfaces: ["operator"],
    params: accountDocumentParams,
    effects: true,
    status: 200,
    errors: ["not_found"],
    object: findNamedFile,
    handle: async (call) => {
      const { headers, file } = await readDocument(call);
      return answer(200, headers, file);
    },
  }),
];
