// What a published document has to be, beyond being valid OpenAPI: every field, parameter and tag has a sentence; what occurs twice has
// a name; patterns are plain; every body and success answer has an example that its own schema accepts.
import { Validator } from "@cfworker/json-schema";
import type { Document, Json } from "./document.ts";

/** Every fault as a line; none for a good document. */
export function reviewDocument(document: Document): string[] {
  const faults: string[] = [];
  const seen = new Map<string, string>();
  walk(document, "#", (node, path) => {
    faults.push(...sentenceFaults(node, path), ...patternFaults(node, path));
    if (!isSchemaPath(path)) return;
    const shape = shapeOf(node);
    if (shape === null) return;
    const first = seen.get(shape);
    // Two names for one shape are two meanings.
    if (first === undefined || isNamed(first)) seen.set(shape, path);
    if (first !== undefined && !(isNamed(first) && isNamed(path)))
      faults.push(`${path}: the schema of ${first} occurs again: give it a name`);
  });
  return [...faults, ...exampleFaults(document)];
}

const isNamed = (path: string): boolean => /^#\/components\/schemas\/\w+$/.test(path);

type Visit = (node: Json, path: string) => void;

function walk(value: unknown, path: string, visit: Visit): void {
  if (Array.isArray(value)) {
    value.forEach((one, i) => {
      walk(one, `${path}/${i}`, visit);
    });
    return;
  }
  if (typeof value !== "object" || value === null) return;
  const node = value as Json;
  visit(node, path);
  for (const [name, inner] of Object.entries(node)) {
    if (name === "example" || name === "examples" || name === "default" || name === "enum") continue;
    walk(inner, `${path}/${name.replaceAll("/", "~1")}`, visit);
  }
}

// ---- Sentences -----------------------------------------------------------------------------------------------------------

const isSentence = (text: unknown): boolean => typeof text === "string" && /^[A-Z0-9`].*[.!?)]$/s.test(text);

function sentenceFaults(node: Json, path: string): string[] {
  const faults: string[] = [];
  const { properties } = node;
  if (typeof properties === "object" && properties !== null && isSchemaPath(path)) {
    for (const [name, field] of Object.entries(properties as Record<string, Json>)) {
      if (!isSentence(field["description"])) faults.push(`${path}/properties/${name}: the field has no sentence`);
    }
  }
  if (typeof node["in"] === "string" && typeof node["name"] === "string" && !isSentence(node["description"])) {
    faults.push(`${path}: the parameter ${node["name"]} has no sentence`);
  }
  if (/\/(tags)\/\d+$/.test(path) && !isSentence(node["description"])) faults.push(`${path}: the tag has no sentence`);
  if (/^#\/components\/schemas\/\w+$/.test(path) && !isSentence(node["description"])) {
    faults.push(`${path}: the schema has no sentence`);
  }
  return faults;
}

// ---- Patterns ------------------------------------------------------------------------------------------------------------

/** In ECMA-262 without flags and look-around; the same with the flag `u`, under which some validators compile them. */
function patternFaults(node: Json, path: string): string[] {
  const { pattern } = node;
  if (typeof pattern !== "string") return [];
  if (/\(\?(?![:])/.test(pattern) || /\\p\{/i.test(pattern))
    return [`${path}: the pattern ${pattern} needs a flag or looks around`];
  try {
    new RegExp(pattern);
    new RegExp(pattern, "u");
    return [];
  } catch {
    return [`${path}: the pattern ${pattern} is no regular expression`];
  }
}

// ---- Names ---------------------------------------------------------------------------------------------------------------

const isSchemaPath = (path: string): boolean =>
  /\/schema(s\/|$|\/)|\/(properties|items|anyOf|oneOf|allOf)\//.test(path);
/** A type alone, a reference, and one of those or null say nothing that a name would say better. */
const BOUNDS = new Set(["minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum"]);
const PLAIN = new Set(["type", "$ref", "description", "default", "example"]);

function shapeOf(node: Json): string | null {
  const keywords = Object.keys(node).filter((name) => !PLAIN.has(name) && !BOUNDS.has(name));
  if (keywords.length === 0 || !isSchema(node)) return null;
  if (keywords.length === 1 && keywords[0] === "anyOf" && isNullable(node["anyOf"])) return null;
  if (keywords.length === 1 && keywords[0] === "items" && isPlain(node["items"])) return null;
  if (keywords.length === 1 && keywords[0] === "const") return null;
  const { description: _own, default: _default, ...shape } = node;
  return JSON.stringify(shape);
}

const isSchema = (node: Json): boolean => "type" in node || "anyOf" in node || "oneOf" in node || "enum" in node;
const isPlain = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).every((name) => PLAIN.has(name));
const isNullable = (options: unknown): boolean =>
  Array.isArray(options) && options.length === 2 && isPlain(options[0]) && isPlain(options[1]);

// ---- Examples ------------------------------------------------------------------------------------------------------------

function exampleFaults(document: Document): string[] {
  const faults: string[] = [];
  walk(document, "#", (node, path) => {
    const { schema } = node;
    if (!/\/content\/[^/]+$/.test(path) || typeof schema !== "object" || schema === null) return;
    if (!("example" in node)) faults.push(`${path}: there is no example`);
    else faults.push(...mismatches(document, schema as Json, node["example"]).map((fault) => `${path}: ${fault}`));
  });
  return faults;
}

/** Why the example is not what the schema says; none where it is. */
export function mismatches(document: Document, schema: Json, value: unknown): string[] {
  const whole = { ...schema, components: document.components };
  const validator = new Validator(whole as never, "2020-12", false);
  const { valid, errors } = validator.validate(value);
  return valid ? [] : errors.map((fault) => `${fault.instanceLocation} ${fault.error}`);
}
