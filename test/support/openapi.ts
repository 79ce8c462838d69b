// Checks every answer of the tests, and every event, against the OpenAPI document: the path, the status, the code and the schema must be published
// (HTTP-31).
import { Validator } from "@cfworker/json-schema";
import operators from "../../docs/openapi-operator.json" with { type: "json" };
import { FIELD_ERRORS, isOwnFieldError } from "../../src/core/errors.ts";
import printed from "../../src/http/assets/openapi.json" with { type: "json" };
import type { EventView } from "../../src/journal/responses.ts";

type Schema = Record<string, unknown>;
type Answer = { $ref?: string; description?: string; content?: Record<string, { schema?: Schema }> };
type Parameter = { in: string; name: string };
type Operation = {
  operationId: string;
  responses: Record<string, Answer>;
  security: readonly Record<string, unknown>[];
  parameters?: readonly (Parameter | { $ref: string })[];
  requestBody?: { content: Record<string, { schema: Schema; example?: { data: { previous?: unknown } } }> };
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  webhooks?: Record<string, { post: Operation }>;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, Answer>;
    parameters: Record<string, Parameter>;
  };
};

/** The public document and the operators' document, merged. No answer may have a field that it does not name. */
const DOCUMENT = closed(merge(printed as unknown as Document, operators as unknown as Document)) as Document;
const validators = new Map<string, Validator>();

function merge(one: Document, other: Document): Document {
  const schemas = { ...one.components.schemas, ...other.components.schemas };
  const parameters = { ...one.components.parameters, ...other.components.parameters };
  const paths = { ...settled(one), ...settled(other) };
  return { ...one, paths, components: { ...one.components, schemas, parameters } };
}

/** The operations with the answers that they refer to; an answer keeps its own description. */
function settled({ paths, components }: Document): Document["paths"] {
  const settle = (answer: Answer): Answer =>
    answer.$ref === undefined ? answer : { ...components.responses[lastOf(answer.$ref)], ...answer };
  return mapped(paths, (methods) =>
    mapped(methods, (operation) => ({ ...operation, responses: mapped(operation.responses, settle) })),
  );
}

function mapped<T, R>(values: Record<string, T>, change: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

/** Closes the schemas of answers. Published ones are open, so that a reader may ignore unknown fields. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, closed(one)]));
  const open = "properties" in inner && typeof inner["type"] === "string" && !("additionalProperties" in inner);
  return open ? { ...inner, additionalProperties: false } : inner;
}

/** Throws if an answer does not match the document. A path that the document does not know must answer 404 or 405 with the envelope. */
export function checkAnswer(method: string, path: string, status: number, type: string, body: unknown): void {
  const known = DOCUMENT;
  const { template, operation } = operationOf(method, path);
  if (!operation) {
    if (status >= 400) check("Error", { $ref: "#/components/schemas/Error" }, known, body);
    return;
  }
  if (status === 304) return;
  const response = operation.responses[String(status)];
  if (!response)
    throw new Error(
      `${method} ${template} answered ${status}, which the OpenAPI document does not name: ${JSON.stringify(body)}`,
    );
  if (status >= 400) checkCodes(`${method} ${template} ${status}`, response.description ?? "", body);
  const media = type.split(";")[0]?.trim() ?? "";
  if (response.content === undefined) return;
  const content = response.content[media];
  if (!content) throw new Error(`${method} ${template} ${status} answered ${media}, which the document does not name`);
  if (content.schema && media.endsWith("json"))
    check(`${method} ${template} ${status} ${media}`, content.schema, known, body);
}

/** Marks an event that a test wrote instead of a real one, because only the number of events matters. */
export const madeUp = (object: Record<string, unknown>): Record<string, unknown> => ({ ...object, made_up: true });
const isMadeUp = ({ data }: EventView): boolean => data.object["made_up"] === true;

/** Throws if the body of an event does not match the document's webhook of its type. */
export function checkEvent(event: EventView): void {
  if (isMadeUp(event)) return;
  const media = DOCUMENT.webhooks?.[event.type]?.post.requestBody?.content["application/json"];
  if (!media) throw new Error(`the OpenAPI document has no webhook ${event.type}`);
  check(`the webhook ${event.type}`, media.schema, DOCUMENT, event);
  if (media?.example?.data.previous && !event.data.previous)
    throw new Error(`the event ${event.type} does not tell what was before`);
}

/** True if an operation requires a credential. */
export const needsCredential = (method: string, path: string): boolean =>
  (operationOf(method, path).operation?.security ?? []).length > 0;

/** A member of a request's body: its name with the names around it, such as `profile.display_name`, and the name of its schema, if it has one. */
export type BodyMember = { readonly path: string; readonly schema: string | undefined };
export type RequestMembers = { readonly query: readonly string[]; readonly body: readonly BodyMember[] };

/** The members that a request of the operation may have. */
export function requestMembers(operationId: string): RequestMembers {
  const operations = Object.values(DOCUMENT.paths).flatMap((methods) => Object.values(methods));
  const operation = operations.find((candidate) => candidate.operationId === operationId);
  if (!operation) throw new Error(`the OpenAPI document does not name ${operationId}`);
  const parameters = (operation.parameters ?? []).map((one) =>
    "$ref" in one ? DOCUMENT.components.parameters[lastOf(one.$ref)] : one,
  );
  const schemas = Object.values(operation.requestBody?.content ?? {}).map(({ schema }) => schema);
  return {
    query: parameters.flatMap((one) => (one?.in === "query" ? [one.name] : [])),
    body: schemas.flatMap((schema) => membersIn(schema, "")),
  };
}

function lastOf($ref: string): string {
  return $ref.split("/").at(-1) ?? "";
}

function membersIn(schema: unknown, path: string): BodyMember[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { $ref, properties, anyOf, oneOf, allOf, items } = schema as { [name: string]: unknown };
  const name = typeof $ref === "string" ? lastOf($ref) : undefined;
  const inner = [name && DOCUMENT.components.schemas[name], items, ...[anyOf, oneOf, allOf].flat()].flatMap((one) =>
    membersIn(one, path),
  );
  const before = path === "" ? "" : `${path}.`;
  const own = Object.entries((properties ?? {}) as object).flatMap(([key, one]) => membersIn(one, `${before}${key}`));
  return path === "" ? [...inner, ...own] : [{ path, schema: name }, ...inner, ...own];
}

function operationOf(method: string, path: string) {
  const pathname = new URL(path, "http://service.test").pathname;
  const template = Object.keys(DOCUMENT.paths).find((candidate) => patternOf(candidate).test(pathname));
  const operation = template === undefined ? undefined : DOCUMENT.paths[template]?.[method.toLowerCase()];
  return { template, operation };
}

/** Throws unless the description names the envelope's code and those codes of `field_errors` that not every call with input may give. */
function checkCodes(name: string, description: string, body: unknown): void {
  const { code, field_errors: faults = [] } = (body ?? {}) as { code?: unknown; field_errors?: { code: string }[] };
  if (typeof code !== "string") return;
  const named = faults.map((fault) => fault.code).filter((one) => isOwnFieldError(one) || !(one in FIELD_ERRORS));
  const unsaid = [code, ...named].filter((one) => !description.includes(`\`${one}\``));
  if (unsaid.length > 0) throw new Error(`${name} gave ${unsaid.join(", ")}, which the OpenAPI document does not say`);
}

/** The resolver's identifier matches the rest of the path. */
const patternOf = (template: string): RegExp =>
  new RegExp(
    `^${template
      .replace(/[.]/g, "\\.")
      .replace("{identifier}", ".*")
      .replace(/\{\w+\}/g, "[^/]+")}$`,
  );

function check(name: string, schema: Schema, known: Document, body: unknown): void {
  let validator = validators.get(name);
  if (!validator) {
    validator = new Validator({ ...schema, components: known.components } as never, "2020-12", false);
    validators.set(name, validator);
  }
  const result = validator.validate(body);
  if (!result.valid) {
    const faults = result.errors.map((fault) => `${fault.instanceLocation}: ${fault.error}`).join("; ");
    throw new Error(`${name} is not what the OpenAPI document says: ${faults} in ${JSON.stringify(body)}`);
  }
}
