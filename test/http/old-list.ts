// A route for the tests only, deprecated or not (HTTP-38): a public list that always has a next page.
import * as z from "zod";
import { ServiceError } from "../../src/core/errors.ts";
import { type Deprecation, defineRoute, type Route } from "../../src/http/route.ts";
import { pageQuery } from "../../src/http/schemas.ts";

export const DEPRECATED: Deprecation = { since: "2026-11-01", sunset: "2027-05-01T12:00:00Z", link: "/docs#new-list" };

/** The service refuses `limit=100`. */
export const oldList = (deprecated?: Deprecation): Route =>
  defineRoute({
    operationId: "listMarkets",
    method: "get",
    path: "/v1/old",
    surfaces: ["public"],
    query: z.strictObject(pageQuery),
    cors: true,
    status: 200,
    errors: ["forbidden"],
    ...(deprecated && { deprecated }),
    handle: async (_call, { query }) => {
      if (query.limit === 100) throw new ServiceError("forbidden");
      return { data: [], next_cursor: "WyJ4Il0", has_more: true };
    },
  });
