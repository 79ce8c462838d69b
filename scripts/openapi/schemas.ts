// The schemas of a document: what zod prints, as OpenAPI wants it, each named one once and with its sentences.
import * as z from "zod";
import type { Sentences } from "./sentences.ts";
import type { Json } from "./types.ts";

type Io = "input" | "output";

/** Each named schema once, whatever names it. */
export class Schemas {
  readonly #named = new Map<string, Json>();
  readonly #sentences: Sentences;

  constructor(sentences: Sentences) {
    this.#sentences = sentences;
  }

  /** The schema as a request sends it or an answer shows it; what has a name is a reference. */
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

  /** References into components, no bounds that only JavaScript has, fields with sentences. */
  #tidy(schema: Json, io: Io, owner: string): Json {
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

  /** A default is told in the sentence: the keyword makes a field required in what openapi-typescript makes of a request. */
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

export const reference = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function saysNothing(schema: Json, keyword: string, value: unknown, io: Io): boolean {
  switch (keyword) {
    case "minimum":
      return value === Number.MIN_SAFE_INTEGER;
    case "maximum":
      return value === Number.MAX_SAFE_INTEGER;
    // zod's pattern of an instant says what its format says.
    case "pattern":
      return schema["format"] === "date-time";
    // A reader takes what it knows: an answer may have more.
    case "additionalProperties":
      return value === false && io === "output";
    // A name of a member is a string.
    case "propertyNames":
      return JSON.stringify(value) === '{"type":"string"}';
    default:
      return false;
  }
}
