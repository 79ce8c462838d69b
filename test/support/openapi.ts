// Every answer of the tests against the OpenAPI document: the path, the status and the schema must be published.
import { Validator } from "@cfworker/json-schema";
import type { createApp } from "../../src/app.ts";
import { describeService } from "../../src/http/openapi.ts";

type Schema = Record<string, unknown>;
type Operation = { responses: Record<string, { content?: Record<string, { schema?: Schema }> }> };
type Document = { paths: Record<string, Record<string, Operation>>; components?: { schemas?: Record<string, Schema> } };

let document: Document | undefined;
const validators = new Map<string, Validator>();

const documentOf = (app: ReturnType<typeof createApp>): Document => {
  document ??= describeService(app, "http://service.test") as Document;
  return document;
};

/** Throws when an answer is not what the document says. Paths that it does not know are 404 or 405 with the envelope. */
export function checkAnswer(
  app: ReturnType<typeof createApp>,
  method: string,
  path: string,
  status: number,
  type: string,
  body: unknown,
): void {
  const known = documentOf(app);
  const pathname = new URL(path, "http://service.test").pathname;
  const template = Object.keys(known.paths).find((candidate) => patternOf(candidate).test(pathname));
  const operation = template === undefined ? undefined : known.paths[template]?.[method.toLowerCase()];
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
  const media = type.split(";")[0]?.trim() ?? "";
  if (response.content === undefined) return;
  const content = response.content[media];
  if (!content) throw new Error(`${method} ${template} ${status} answered ${media}, which the document does not name`);
  if (content.schema && media.endsWith("json")) check(`${method} ${template} ${status}`, content.schema, known, body);
}

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
