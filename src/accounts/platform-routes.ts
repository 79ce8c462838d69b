// Routes of an account for its owner and for the operator: the account itself, its documents, keys, usage and mailed pages, and the operator's
// list and announcements.
import * as z from "zod";
import { DOCUMENT_MAX_BYTES } from "../core/limits.ts";
import { answer } from "../http/answer.ts";
import { defineRoute } from "../http/route.ts";
import { pickValidFields } from "../http/schemas.ts";
import { announceToAll } from "./announcements.ts";
import { findNamedAccount } from "./decide.ts";
import {
  findDocumentFaults,
  findNamedDocument,
  findNamedFile,
  getDocument,
  getDocuments,
  getDocumentsOf,
  readDocument,
  submitDocument,
} from "./documents.ts";
import { findNamedUsage, getKeys, getUsage, precheckRotation, rotateKey } from "./keys.ts";
import { precheckAccountPromotion, promotePlatform } from "./lifecycle.ts";
import { CONTACT_PAGE, PAGE_HEADERS, RESET_PAGE, VERIFY_PAGE } from "./pages.ts";
import { patchPlatform, precheckProfile } from "./patch-profile.ts";
import { getPlatform, getPlatforms } from "./profile.ts";
import {
  accountDocumentParams,
  accountParams,
  announcementInput,
  documentInput,
  documentParams,
  documentQuery,
  linkToken,
  platformQuery,
  profilePatch,
  rotationInput,
} from "./schema.ts";

// ---- The account, and the operator's list (ACC-1, ACC-7, ACC-18) ---------------------------------------------------------

export const accountRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/platform",
    operationId: "getPlatform",
    surfaces: ["management"],
    status: 200,
    errors: [],
    handle: (call) => getPlatform(call),
  }),
  defineRoute({
    method: "patch",
    path: "/v1/platform",
    operationId: "patchPlatform",
    surfaces: ["management"],
    body: profilePatch,
    status: 200,
    errors: ["no_changes_requested", "forbidden"],
    handle: (call, { body }) => patchPlatform(call, body),
    precheck: (call, { body }) => precheckProfile(call, pickValidFields(profilePatch, body)),
  }),
  defineRoute({
    method: "get",
    path: "/v1/operator/platforms",
    operationId: "listPlatforms",
    surfaces: ["operator"],
    query: platformQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => getPlatforms(call, query),
  }),
];

// ---- Documents (ACC-20, ACC-22) ------------------------------------------------------------------------------------------

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

// ---- Promotion and management keys (ACC-16, ACC-17) ----------------------------------------------------------------------

export const keyRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/platform/promote",
    operationId: "promotePlatform",
    surfaces: ["management"],
    unpromoted: true,
    status: 200,
    errors: ["not_accredited", "already_promoted", "forbidden"],
    idempotency: "secret",
    handle: (call) => promotePlatform(call),
    precheck: () => precheckAccountPromotion(),
  }),
  defineRoute({
    method: "get",
    path: "/v1/platform/keys",
    operationId: "listKeys",
    surfaces: ["management"],
    status: 200,
    errors: [],
    handle: (call) => getKeys(call),
  }),
  defineRoute({
    method: "post",
    path: "/v1/platform/keys/rotate",
    operationId: "rotateKey",
    surfaces: ["management"],
    unpromoted: true,
    endsKey: true,
    body: rotationInput,
    precheck: (call, { body }) => precheckRotation(call, pickValidFields(rotationInput, body)),
    status: 200,
    errors: ["forbidden", "key_not_provisioned"],
    idempotency: "secret",
    whenUsedUp: true,
    handle: (call, { body }) => rotateKey(call, body),
  }),
];

// ---- Announcements to every admin contact (ACC-15) -----------------------------------------------------------------------

export const noticeRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/operator/notices",
    operationId: "announceToAll",
    surfaces: ["operator"],
    body: announcementInput,
    status: 202,
    errors: [],
    idempotency: "plain",
    handle: (call, { body }) => announceToAll(call, body),
  }),
];

// ---- Usage (EVT-36) ------------------------------------------------------------------------------------------------------

export const usageRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/operator/platforms/{platform_id}/usage",
    operationId: "getPlatformUsage",
    surfaces: ["operator"],
    params: accountParams,
    status: 200,
    errors: ["not_found"],
    object: findNamedUsage,
    handle: (call, { params }) => getUsage(call, params.platform_id),
  }),
];

// ---- Pages that mailed links open, which read no row (ACC-14) ------------------------------------------------------------

const pageQuery = z.strictObject({ token: linkToken.optional() });
/** Marks the link to a contact, because its page asks for no password. */
const verificationQuery = pageQuery.extend({ contact: z.literal("true").optional() });

const definePageRoute = (path: string, operationId: string, query: z.ZodObject, htmlOf: (query: object) => string) =>
  defineRoute({
    method: "get",
    path,
    operationId,
    surfaces: ["public"],
    query,
    status: 200,
    errors: [],
    handle: async (_call, { query: asked }) => answer(200, { ...PAGE_HEADERS }, htmlOf(asked)),
  });

export const pageRoutes = [
  definePageRoute("/v1/platform/verify-email", "openVerificationPage", verificationQuery, (query) =>
    "contact" in query ? CONTACT_PAGE : VERIFY_PAGE,
  ),
  definePageRoute("/v1/platform/password/reset", "openResetPage", pageQuery, () => RESET_PAGE),
];
