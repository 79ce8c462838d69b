// The printed OpenAPI document describes a deprecated route in the same way as its answers (HTTP-38).
import { describe, expect, it } from "vitest";
import { buildDocument } from "../../scripts/openapi/document.ts";
import { OPERATIONS } from "../../scripts/openapi/operations.ts";
import type { Deprecation } from "../../src/http/route.ts";
import { DEPRECATED, oldList } from "./old-list.ts";

const operationOf = (deprecated?: Deprecation) => {
  const document = buildDocument([oldList(deprecated)], "https://service.example");
  const operation = document.paths["/v1/old"]?.["get"];
  return { operation, headers: Object.keys((operation?.responses["200"]?.["headers"] ?? {}) as object) };
};

/** The old list uses the name of another operation, because each name needs its sentences. */
const DESCRIPTION = OPERATIONS["listMarkets"];

describe("a deprecated route in the OpenAPI document", () => {
  it("is marked as deprecated, with its end, its link and the headers of its answers", () => {
    const { operation, headers } = operationOf(DEPRECATED);
    expect(operation).toMatchObject({
      deprecated: true,
      description: `${DESCRIPTION} Deprecated since 2026-11-01, ends on 2027-05-01T12:00:00Z; see /docs#new-list.`,
    });
    expect(headers).toEqual(expect.arrayContaining(["Deprecation", "Sunset", "Link"]));
  });

  it("names an end only if it has one", () => {
    const { operation, headers } = operationOf({ since: "2026-11-01" });
    expect(operation).toMatchObject({ deprecated: true, description: `${DESCRIPTION} Deprecated since 2026-11-01.` });
    expect(headers).not.toContain("Sunset");
  });

  it("leaves every other route unmarked", () => {
    const { operation, headers } = operationOf();
    expect(operation).not.toHaveProperty("deprecated");
    expect(headers).not.toContain("Deprecation");
  });
});
