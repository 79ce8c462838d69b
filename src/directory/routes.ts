// Routes of the directory (DIR-7 to DIR-14).
import { toTagged } from "../http/answer.ts";
import { defineRoute } from "../http/route.ts";
import { agentParams } from "../identity/schema.ts";
import { listChanges } from "./changes.ts";
import { getDirectoryHead } from "./heads.ts";
import { getDirectoryEntry, listDirectory } from "./list.ts";
import { changeQuery, directoryHeadQuery, entryQuery } from "./schema.ts";

const COMMON = { tag: "Directory", surfaces: ["management"], withoutCredential: "unauthorized", status: 200 } as const;

export const directoryRoutes = [
  defineRoute({
    ...COMMON,
    method: "get",
    path: "/v1/directory/agents",
    operationId: "listDirectory",
    query: entryQuery,
    errors: [],
    headers: ["if-none-match"],
    handle: async (call, { query, headers }) => {
      const { etag, view } = await listDirectory(call, query, headers["if-none-match"]);
      return etag === null ? view : toTagged(etag, view);
    },
  }),
  defineRoute({
    ...COMMON,
    method: "get",
    path: "/v1/directory/agents/{did}",
    operationId: "getDirectoryEntry",
    params: agentParams,
    errors: ["not_found"],
    handle: (call, { params }) => getDirectoryEntry(call, params.did),
  }),
  defineRoute({
    ...COMMON,
    method: "get",
    path: "/v1/directory/changes",
    operationId: "listDirectoryChanges",
    query: changeQuery,
    errors: ["cursor_expired"],
    handle: (call, { query }) => listChanges(call, query),
  }),
  defineRoute({
    ...COMMON,
    method: "get",
    path: "/v1/directory/head",
    operationId: "getDirectoryHead",
    query: directoryHeadQuery,
    errors: ["not_found"],
    handle: (call, { query }) => getDirectoryHead(call, query),
  }),
];
