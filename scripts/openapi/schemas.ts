// The schemas of a document: zod's JSON Schema adapted to OpenAPI, with descriptions. Each named schema is printed once.
import * as z from "zod";
import type { Sentences } from "./sentences.ts";
import type { Json } from "./types.ts";

type Io = "input" | "output";

/** Collects each named schema once. */
export class Schemas {
  readonly #named = new Map<string, Json>();
  readonly #sentences: Sentences;

  constructor(sentences: Sentences) {
    this.#sentences = sentences;
  }

  /** Returns the schema of a request or an answer; named parts are references. */
  of(schema: z.ZodType, io: Io): Json {
    const { $schema: _dialect, $defs = {}, ...body } = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Json;
    for (const [name, definition] of Object.entries($defs as Record<string, Json>)) this.#add(name, definition, io);
    const own = z.globalRegistry.get(schema)?.id;
    if (own !== undefined) {
      if (!("$ref" in body)) this.#add(own, body, io);
      return reference(own);
    }
    return this.#tidy(body, io, "");
  }

  named(): Record<string, Json> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #add(name: string, definition: Json, io: Io): void {
    const { id: _id, ...body } = definition;
    const tidied = { ...this.#sentences.ofSchema(name), ...this.#tidy(body, io, name) };
    const known = this.#named.get(name);
    if (known && JSON.stringify(known) !== JSON.stringify(tidied)) {
      throw new Error(`the schema ${name} differs between requests and answers: give each its own name`);
    }
    this.#named.set(name, tidied);
  }

  /** Points references at the components, drops bounds that only JavaScript has, and describes the fields. */
  #tidy(schema: Json, io: Io, owner: string): Json {
    if (io === "input") refuseRequiredDefaults(schema, owner);
    const kept = Object.entries(schema).filter(([keyword, value]) => !saysNothing(schema, keyword, value, io));
    return Object.fromEntries(
      kept.map(([keyword, value]) => [keyword, this.#tidyKeyword(keyword, value, io, owner)] as const),
    );
  }

  #tidyKeyword(keyword: string, value: unknown, io: Io, owner: string): unknown {
    if (keyword === "$ref") return String(value).replace("#/$defs/", "#/components/schemas/");
    if (keyword === "properties") return this.#tidyProperties(value as Record<string, Json>, io, owner);
    if (Array.isArray(value)) return value.map((one) => (isObject(one) ? this.#tidy(one, io, owner) : one));
    return isObject(value) && keyword !== "const" ? this.#tidy(value, io, owner) : value;
  }

  /** A default is named in the description: its keyword would make the field required in the request types of openapi-typescript. */
  #tidyProperties(properties: Record<string, Json>, io: Io, owner: string): Record<string, Json> {
    return Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => {
        const { id: _id, default: fallback, ...body } = schema;
        const { description } = this.#sentences.ofField(owner, name);
        const said = fallback === undefined ? description : `${description} ${JSON.stringify(fallback)} by default.`;
        return [
          name,
          { ...this.#tidy(body, io, `${owner}.${name}`), ...(said !== undefined && { description: said }) },
        ];
      }),
    );
  }
}

/** A field with a default is optional in a request. Checked here, because the document does not print the keyword. */
function refuseRequiredDefaults({ properties, required }: Json, owner: string): void {
  if (!isObject(properties) || !Array.isArray(required)) return;
  for (const [name, field] of Object.entries(properties)) {
    if (isObject(field) && "default" in field && required.includes(name)) {
      throw new Error(`${owner}.${name} has a default and is required in a request`);
    }
  }
}

export const reference = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function saysNothing(schema: Json, keyword: string, value: unknown, io: Io): boolean {
  switch (keyword) {
    case "minimum":
      return value === Number.MIN_SAFE_INTEGER;
    case "maximum":
      return value === Number.MAX_SAFE_INTEGER;
    // The pattern of an instant repeats its format.
    case "pattern":
      return schema["format"] === "date-time";
    // Answers may get new members, which readers ignore (HTTP-33).
    case "additionalProperties":
      return value === false && io === "output";
    // Names of members are always strings.
    case "propertyNames":
      return JSON.stringify(value) === '{"type":"string"}';
    default:
      return false;
  }
}
