// The routes of the pages that mailed links open (ACC-14). They read no row.
import * as z from "zod";
import { answer } from "../http/answer.ts";
import { defineRoute } from "../http/route.ts";
import { CONTACT_PAGE, PAGE_HEADERS, RESET_PAGE, VERIFY_PAGE } from "./pages.ts";
import { linkToken } from "./sign-up-schema.ts";

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
