// The parameters of an OpenAPI document: path and query parameters from their schemas, headers from the properties of a route.
import type { RouteConfig } from "@hono/zod-openapi";
import * as z from "zod";
import { PAGE_SIZE_MAX } from "../../src/core/limits.ts";
import type { Route } from "../../src/http/route.ts";
import { PARAMETERS } from "./parts.ts";
import type { Schemas } from "./schemas.ts";
import type { Sentences } from "./sentences.ts";
import type { Json } from "./types.ts";

export type Parameter = { readonly name: string; readonly in: "path" | "query" | "header" } & Json;

/** Parameters that are identical in all operations. */
const SHARED: Readonly<Record<string, string>> = {
  "path did": "Did",
  "query limit": "Limit",
  "query cursor": "Cursor",
  "header Idempotency-Key": "IdempotencyKey",
  "header If-None-Match": "IfNoneMatch",
};
/** The maximum `limit` of most lists. A list with another maximum has a parameter of its own. */
const USUAL_LIMIT = PAGE_SIZE_MAX;
const sharedName = (parameter: Parameter): string | null => {
  const name = SHARED[`${parameter.in} ${parameter.name}`] ?? null;
  const { maximum = USUAL_LIMIT } = (parameter["schema"] ?? {}) as { maximum?: number };
  return name === "Limit" && maximum !== USUAL_LIMIT ? null : name;
};

export const isConditional = (route: Route): boolean => route.headers?.includes("if-none-match") === true;

export class Parameters {
  readonly #schemas: Schemas;
  readonly #sentences: Sentences;

  constructor(schemas: Schemas, sentences: Sentences) {
    this.#schemas = schemas;
    this.#sentences = sentences;
  }

  /** Returns the parameters of an operation; shared parameters are references. */
  of(route: Route): Pick<RouteConfig, "parameters"> {
    const parameters = this.#all(route).map((parameter) => {
      const name = sharedName(parameter);
      return name === null ? parameter : { $ref: `#/components/parameters/${name}` };
    });
    return parameters.length === 0 ? {} : { parameters: parameters as NonNullable<RouteConfig["parameters"]> };
  }

  shared(routes: readonly Route[]): Record<string, Json> {
    const named = routes.flatMap((route) => this.#all(route)).map((one) => [sharedName(one), one] as const);
    return Object.fromEntries(named.filter(([name]) => name !== null));
  }

  #all(route: Route): Parameter[] {
    return [
      ...this.#declared(route, route.params, "path"),
      ...this.#declared(route, route.query, "query"),
      ...(route.idempotency ? [PARAMETERS.IdempotencyKey] : []),
      ...(isConditional(route) ? [PARAMETERS.IfNoneMatch] : []),
    ];
  }

  #declared({ operationId }: Route, object: z.ZodObject | undefined, where: "path" | "query"): Parameter[] {
    if (!object) return [];
    return Object.entries(object.shape).map(([name, schema]) => {
      const absent = z.safeParse(schema, undefined);
      const { description: _own, ...shape } = this.#schemas.of(unwrap(schema as z.ZodType), "input");
      return {
        name,
        in: where,
        required: where === "path" || !absent.success,
        ...this.#sentences.ofField(operationId, name, where),
        schema: { ...shape, ...(absent.data !== undefined && { default: absent.data }) },
      };
    });
  }
}

/** Removes the wrappers for optional values and defaults. */
function unwrap(schema: z.ZodType): z.ZodType {
  const { def } = schema._zod;
  return (def.type === "optional" || def.type === "default") && "innerType" in def
    ? unwrap(def.innerType as z.ZodType)
    : schema;
}
