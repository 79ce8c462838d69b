// Checks every answer of the tests against the OpenAPI document: the path, the status and the schema must be published
// (HTTP-31).
import { Validator } from "@cfworker/json-schema";
import operators from "../../docs/openapi-operator.json" with { type: "json" };
import { OPENAPI_DOCUMENT } from "../../src/http/openapi-document.ts";

type Schema = Record<string, unknown>;
type Answer = { $ref?: string; content?: Record<string, { schema?: Schema }> };
type Operation = { responses: Record<string, Answer>; security: readonly Record<string, unknown>[] };
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Answer> };
};

/** The public document and the operators', as one; no answer has a field that it does not name. */
const DOCUMENT = closed(merge(JSON.parse(OPENAPI_DOCUMENT) as Document, operators as unknown as Document)) as Document;
const validators = new Map<string, Validator>();

function merge(one: Document, other: Document): Document {
  const schemas = { ...one.components.schemas, ...other.components.schemas };
  return { paths: { ...one.paths, ...other.paths }, components: { ...one.components, schemas } };
}

/** Published schemas of answers are open, so that a reader takes what it knows. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, closed(one)]));
  const open = "properties" in inner && typeof inner["type"] === "string" && !("additionalProperties" in inner);
  return open ? { ...inner, additionalProperties: false } : inner;
}

/** Throws when an answer is not what the document says. Paths that it does not know are 404 or 405 with the envelope. */
export function checkAnswer(method: string, path: string, status: number, type: string, body: unknown): void {
  const known = DOCUMENT;
  const { template, operation } = operationOf(method, path);
  if (!operation) {
    if (status >= 400) check("Error", { $ref: "#/components/schemas/Error" }, known, body);
    return;
  }
  if (status === 304) return;
  const response = resolved(known, operation.responses[String(status)]);
  if (!response)
    throw new Error(
      `${method} ${template} answered ${status}, which the OpenAPI document does not name: ${JSON.stringify(body)}`,
    );
  const media = type.split(";")[0]?.trim() ?? "";
  if (response.content === undefined) return;
  const content = response.content[media];
  if (!content) throw new Error(`${method} ${template} ${status} answered ${media}, which the document does not name`);
  if (content.schema && media.endsWith("json")) check(`${method} ${template} ${status}`, content.schema, known, body);
}

/** True for an operation that nobody may call without a credential. */
export const needsCredential = (method: string, path: string): boolean =>
  (operationOf(method, path).operation?.security ?? []).length > 0;

function operationOf(method: string, path: string) {
  const pathname = new URL(path, "http://service.test").pathname;
  const template = Object.keys(DOCUMENT.paths).find((candidate) => patternOf(candidate).test(pathname));
  const operation = template === undefined ? undefined : DOCUMENT.paths[template]?.[method.toLowerCase()];
  return { template, operation };
}

/** The answer itself, where the operation refers to a shared one. */
const resolved = (known: Document, answer: Answer | undefined): Answer | undefined =>
  answer?.$ref === undefined ? answer : known.components.responses[answer.$ref.split("/").at(-1) ?? ""];

const patternOf = (template: string): RegExp =>
  new RegExp(`^${template.replace(/[.]/g, "\\.").replace(/\{\w+\}/g, "[^/]+")}$`);

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
