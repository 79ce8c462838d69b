// Routes of the directory (DIR-7 to DIR-14).
import { tagged } from "../http/answer.ts";
import { route } from "../http/route.ts";
import { agentParams } from "../identity/schema.ts";
import { listChanges } from "./changes.ts";
import { getDirectoryHead } from "./heads.ts";
import { getDirectoryEntry, listDirectory } from "./list.ts";
import { changeList, changeQuery, directoryEntry, directoryHead, entryList, entryQuery, headQuery } from "./schema.ts";

const COMMON = { tag: "Directory", surfaces: ["management"], withoutCredential: "unauthorized", status: 200 } as const;

export const directoryRoutes = [
  route({
    ...COMMON,
    method: "get",
    path: "/v1/directory/agents",
    operationId: "listDirectory",
    summary: "List the directory",
    description:
      "Every certified agent of the key's environment, of all platforms, in the order of `updated_at` and then of the DID; there is no other " +
      "order. Filters all have to fit. A page with filters looks at no more than 1,000 entries: it may hold fewer than `limit`, or none, and " +
      "still have more. `ETag` is weak; with `If-None-Match` a page that has not changed is a 304.",
    query: entryQuery,
    response: { schema: entryList, description: "A page of entries." },
    errors: [],
    headers: ["if-none-match"],
    handle: async (call, { query, headers }) => {
      const { etag, view } = await listDirectory(call, query, headers["if-none-match"]);
      return etag === null ? view : tagged(etag, view);
    },
  }),
  route({
    ...COMMON,
    method: "get",
    path: "/v1/directory/agents/{did}",
    operationId: "getDirectoryEntry",
    summary: "Read an entry of the directory",
    description: "404 for a DID that is no member of the key's environment.",
    params: agentParams,
    response: { schema: directoryEntry, description: "The entry." },
    errors: ["not_found"],
    handle: (call, { params }) => getDirectoryEntry(call, params.did),
  }),
  route({
    ...COMMON,
    method: "get",
    path: "/v1/directory/changes",
    operationId: "listDirectoryChanges",
    summary: "Read the directory's change feed",
    description:
      "Records in the order of the changes, oldest first, without the entries. The first call names where it begins in `since`, or begins with the " +
      "oldest record that is kept; every further one gives the `cursor` that the last one answered, which is there also when `has_more` is " +
      "false. Records are kept for 30 days: a place before that is 410, and the listing has to be read again.",
    query: changeQuery,
    response: { schema: changeList, description: "A page of records." },
    errors: ["cursor_expired"],
    handle: (call, { query }) => listChanges(call, query),
  }),
  route({
    ...COMMON,
    method: "get",
    path: "/v1/directory/head",
    operationId: "getDirectoryHead",
    summary: "Read the signed head of the change feed",
    description:
      "A head is signed each minute in which something has changed, and kept for ever. Its hash covers every record up to its `seq`: whoever " +
      "recomputes it from the feed knows that nothing was left out, changed or added. With `seq`, the first head that covers that record.",
    query: headQuery,
    response: { schema: directoryHead, description: "A head." },
    errors: ["not_found"],
    handle: (call, { query }) => getDirectoryHead(call, query),
  }),
];
