// Reviews a published document beyond its validity as OpenAPI (HTTP-31): every operation, field, parameter and tag has a sentence; a shape
// that occurs twice has a name; patterns are portable; refusals are shared; a field with a default is optional in requests; every body and
// answer has an example that its own schema accepts.
import { dereference, initialBaseURI, type Schema, validate } from "@cfworker/json-schema";
import { RESPONSE_NAMES } from "./parts.ts";
import { exampleIn } from "./share-examples.ts";
import type { Document, Json } from "./types.ts";

/** Returns one line for each fault. */
export function reviewDocument(document: Document): string[] {
  const faults: string[] = [];
  const seen = new Map<string, string>();
  walk(document, "#", (node, path) => {
    faults.push(...sentenceFaults(node, path), ...patternFaults(node, path), ...referenceFaults(document, node, path));
    faults.push(
      ...sharedFaults(document, node, path),
      ...componentFaults(node, path),
      ...formFaults(document, node, path),
    );
    if (!isSchemaPath(path)) return;
    const shape = shapeOf(node);
    if (shape === null) return;
    const first = seen.get(shape);
    // Two named schemas may have the same shape, because they differ in meaning.
    if (first === undefined || isNamed(first)) seen.set(shape, path);
    if (first !== undefined && !(isNamed(first) && isNamed(path)))
      faults.push(`${path}: the schema of ${first} occurs again: give it a name`);
  });
  return [...faults, ...operationFaults(document), ...defaultFaults(document), ...exampleFaults(document)];
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

/** A pattern is ECMA-262 without flags and look-around, and compiles under the flag `u`, which some validators set. */
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

// ---- Needs of client generators ------------------------------------------------------------------------------------------

/** Global types of JavaScript platforms, which a generated type of this name would hide. */
const TAKEN = new Set(["Blob", "Date", "File", "FormData", "Request", "Response"]);

/** A component is not itself a reference, because generators follow only one. */
function componentFaults({ $ref }: Json, path: string): string[] {
  const [, kind, name = ""] = /^#\/components\/(\w+)\/([\w-]+)$/.exec(path) ?? [];
  if (kind === undefined) return [];
  return [
    ...($ref === undefined ? [] : [`${path}: the component is itself a reference`]),
    ...(kind === "schemas" && TAKEN.has(name) ? [`${path}: the schema has the name of a type of the platform`] : []),
  ];
}

const IS_DID = /^(did|\w+_did|delegated_by)$/;
const IS_URL = /^(url|uri|\w+_url|\w+_uri|website|explorer|issuer|status_page|serviceEndpoint)$/;

/** In schemas and parameters, a DID has its pattern and a URL its format. */
function formFaults(document: Document, node: Json, path: string): string[] {
  const named = isSchemaPath(path) || /^#\/components\/schemas\/\w+$/.test(path) ? node["properties"] : undefined;
  const fields = Object.entries((named ?? {}) as Record<string, Json>);
  if (typeof node["in"] === "string") fields.push([String(node["name"]), (node["schema"] ?? {}) as Json]);
  return fields.flatMap(([name, schema]) => [
    ...(IS_DID.test(name) && !says(document, schema, "pattern") ? [`${path}: ${name} has no pattern of a DID`] : []),
    ...(IS_URL.test(name) && !says(document, schema, "format") && !isAsWritten(schema)
      ? [`${path}: ${name} has no format of a URL`]
      : []),
  ]);
}

const isAsWritten = (schema: Json): boolean => JSON.stringify(schema).includes('schemas/RegisteredUrl"');

/** True if the schema, the schema that it refers to, or its form that is not null has the keyword. */
function says(document: Document, schema: Json, keyword: string): boolean {
  const { $ref, anyOf } = schema as { $ref?: string; anyOf?: readonly Json[] };
  if ($ref !== undefined) return says(document, (resolve(document, $ref) ?? {}) as Json, keyword);
  return keyword in schema || (anyOf ?? []).some((one) => says(document, one, keyword));
}

// ---- Names ---------------------------------------------------------------------------------------------------------------

const isSchemaPath = (path: string): boolean =>
  /\/schema(s\/|$|\/)|\/(properties|items|anyOf|oneOf|allOf)\//.test(path);
/** A bare type or a reference needs no name, even if it may be null. */
const BOUNDS = new Set(["minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum"]);
const PLAIN = new Set(["type", "$ref", "description", "default", "example"]);

function shapeOf(node: Json): string | null {
  const keywords = Object.keys(node).filter((name) => !PLAIN.has(name) && !BOUNDS.has(name));
  if (keywords.length === 0 || !isSchema(node)) return null;
  if (keywords.length === 1 && keywords[0] === "anyOf" && isNullable(node["anyOf"])) return null;
  if (keywords.length === 1 && keywords[0] === "items" && isPlain(node["items"])) return null;
  if (keywords.length === 1 && keywords[0] === "const") return null;
  const isSaid = (name: string, value: unknown) =>
    name === "default" || (name === "description" && typeof value === "string");
  return JSON.stringify(node, (name, value) => (isSaid(name, value) ? undefined : value));
}

const isSchema = (node: Json): boolean => "type" in node || "anyOf" in node || "oneOf" in node || "enum" in node;
const isPlain = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).every((name) => PLAIN.has(name));
const isNullable = (options: unknown): boolean =>
  Array.isArray(options) && options.length === 2 && isPlain(options[0]) && isPlain(options[1]);

// ---- Operations ----------------------------------------------------------------------------------------------------------

function operationFaults(document: Document): string[] {
  const declared = new Set((document["tags"] as readonly Json[]).map(({ name }) => name));
  const seen = new Set<string>();
  const faults: string[] = [];
  for (const [path, operation] of operationsOf(document)) {
    const { operationId, tags, summary, description, responses } = operation;
    if (!/^[a-z]\w+$/.test(operationId ?? "")) faults.push(`${path}: the operation has no operationId`);
    if (seen.has(operationId)) faults.push(`${path}: the operationId ${operationId} occurs again`);
    seen.add(operationId);
    if (!Array.isArray(tags) || tags.length === 0) faults.push(`${path}: the operation has no tag`);
    else for (const tag of tags) if (!declared.has(tag)) faults.push(`${path}: the tag ${tag} is not declared`);
    if (typeof summary !== "string" || summary === "") faults.push(`${path}: the operation has no summary`);
    if (!isSentence(description)) faults.push(`${path}: the operation has no sentence`);
    faults.push(...refusalFaults(document, responses, path));
  }
  return faults;
}

function* operationsOf(document: Document): Generator<readonly [string, Document["paths"][string][string]]> {
  for (const kind of ["paths", "webhooks"] as const) {
    for (const [template, methods] of Object.entries(document[kind] ?? {})) {
      for (const [method, operation] of Object.entries(methods)) {
        yield [`#/${kind}/${template.replaceAll("/", "~1")}/${method}`, operation];
      }
    }
  }
}

/** Every status except success refers to a shared answer. */
function refusalFaults(document: Document, responses: Record<string, Json>, path: string): string[] {
  return Object.entries(responses).flatMap(([status, answer]) => {
    if (status.startsWith("2")) return [];
    const [, name = ""] = /^#\/components\/responses\/(\w+)$/.exec(String(answer["$ref"])) ?? [];
    const isShared = document.components["responses"]?.[name] !== undefined;
    return isShared ? [] : [`${path}/responses/${status}: the answer is not one of components.responses`];
  });
}

// ---- Defaults ------------------------------------------------------------------------------------------------------------

/** A field with a default is not required in a request. */
function defaultFaults(document: Document): string[] {
  const faults: string[] = [];
  const visit: Visit = (node, path) => {
    const required = Array.isArray(node["required"]) ? node["required"] : [];
    for (const [name, field] of Object.entries((node["properties"] ?? {}) as Record<string, Json>)) {
      if ("default" in field && required.includes(name)) {
        faults.push(`${path}/properties/${name}: the field has a default and is required`);
      }
    }
    if (node["in"] === "query" && node["required"] === true && "default" in ((node["schema"] ?? {}) as Json)) {
      faults.push(`${path}: the parameter ${node["name"]} has a default and is required`);
    }
  };
  const asked = new Set<string>();
  for (const [path, operation] of operationsOf(document)) {
    for (const part of ["requestBody", "parameters"]) {
      walk(operation[part], `${path}/${part}`, visit);
      follow(document, operation[part], asked);
    }
  }
  for (const reference of asked) walk(resolve(document, reference), reference, visit);
  return faults;
}

/** Collects every component that a value refers to, directly or indirectly. */
function follow(document: Document, value: unknown, into: Set<string>): void {
  walk(value, "#", ({ $ref }) => {
    if (typeof $ref !== "string" || into.has($ref)) return;
    into.add($ref);
    follow(document, resolve(document, $ref), into);
  });
}

function referenceFaults(document: Document, { $ref }: Json, path: string): string[] {
  return typeof $ref !== "string" || resolve(document, $ref) !== undefined ? [] : [`${path}: ${$ref} leads nowhere`];
}

/** Checks the references of a media type to shared examples. */
function sharedFaults(document: Document, { examples }: Json, path: string): string[] {
  if (typeof examples !== "object" || examples === null || Array.isArray(examples)) return [];
  return Object.entries(examples).flatMap(([name, one]) =>
    referenceFaults(document, one as Json, `${path}/examples/${name}`),
  );
}

function resolve(document: Document, reference: string): unknown {
  const [, kind = "", name = ""] = /^#\/components\/(\w+)\/([\w-]+)$/.exec(reference) ?? [];
  return document.components[kind]?.[name];
}

// ---- Examples ------------------------------------------------------------------------------------------------------------

function exampleFaults(document: Document): string[] {
  const faults: string[] = [];
  const known = dereference({ components: document.components } as Schema);
  const refusals = codesOfRefusals(document);
  walk(document, "#", (node, path) => {
    const { schema } = node;
    if (!/\/content\/[^/]+$/.test(path) || typeof schema !== "object" || schema === null) return;
    const example = exampleIn(document, node);
    const [, shared] = /^#\/components\/responses\/(\w+)\//.exec(path) ?? [];
    const codes = refusals.get(shared ?? "");
    // A shared refusal has an example only if all operations that refer to it share a code; a route's own outcome has none.
    if (example === undefined && shared !== undefined && (codes ?? []).length === 0) return;
    if (example === undefined) {
      faults.push(`${path}: there is no example`);
      return;
    }
    dereference(schema, known, initialBaseURI, `${path.slice(1)}/schema`);
    faults.push(...mismatches(schema, known, example).map((fault) => `${path}: ${fault}`));
    if (codes && !codes.includes((example as Json)["code"]))
      faults.push(`${path}: the example has a code that not every operation gives`);
  });
  return faults;
}

/** Returns, by the name of a shared refusal, the codes that all operations that refer to it return. */
function codesOfRefusals(document: Document): ReadonlyMap<string, readonly unknown[]> {
  const common = new Map<string, readonly unknown[]>();
  for (const [, { responses }] of operationsOf(document)) {
    for (const { $ref, description } of Object.values(responses) as Json[]) {
      const name = String($ref).replace("#/components/responses/", "");
      const said = description ?? (document.components["responses"]?.[name] as Json | undefined)?.["description"];
      const codes = [...String(said).matchAll(/^`(\w+)`:/gm)].map(([, code]) => code);
      if (Object.values(RESPONSE_NAMES).includes(name))
        common.set(name, common.get(name)?.filter((code) => codes.includes(String(code))) ?? codes);
    }
  }
  return common;
}

/** Returns the differences between an example and its schema. */
function mismatches(schema: Schema, known: ReturnType<typeof dereference>, example: unknown): string[] {
  try {
    const { errors } = validate(example, schema, "2020-12", known, false);
    return errors.map((fault) => `${fault.instanceLocation} ${fault.error}`);
  } catch (thrown) {
    return [`the example cannot be checked: ${thrown instanceof Error ? thrown.message : String(thrown)}`];
  }
}
