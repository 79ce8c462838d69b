// The types of the parts of an OpenAPI document that the printing and the review use.

export type Json = { [name: string]: unknown };
export type Operation = { readonly operationId: string; readonly responses: Record<string, Json> } & Json;
export type Document = {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly webhooks?: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Json> } & Record<string, Record<string, Json>>;
} & Json;
