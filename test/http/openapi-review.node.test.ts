// The reviewer of the OpenAPI documents (HTTP-31) finds no fault in them, and finds each fault that is planted.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { buildDocument } from "../../scripts/openapi/document.ts";
import { OPERATORS, PUBLIC } from "../../scripts/openapi/documents.ts";
import { reviewDocument } from "../../scripts/openapi/review.ts";
import { Schemas } from "../../scripts/openapi/schemas.ts";
import { Sentences } from "../../scripts/openapi/sentences.ts";
import type { Document, Json } from "../../scripts/openapi/types.ts";
import { isWhole, runs } from "../support/scale.ts";

/** Each example reviews a whole document. */
const FEW = { ...runs(240), ...(!isWhole() && { numRuns: 4 }) };
const ISSUER = "https://service.example";
const DOCUMENT = buildDocument([...PUBLIC, ...OPERATORS], ISSUER);

describe("the documents", () => {
  it("have no fault, and use every sentence", () => {
    const sentences = new Sentences();
    const documents = [PUBLIC, OPERATORS].map((routes) => buildDocument(routes, ISSUER, sentences));
    expect(documents.flatMap(reviewDocument)).toEqual([]);
    expect(sentences.unused()).toEqual([]);
  });

  it("report a sentence that no document uses", () => {
    const sentences = new Sentences();
    buildDocument(OPERATORS, ISSUER, sentences);
    expect(sentences.unused()).toContain("payment_tx");
    expect(sentences.unused()).not.toContain("lag_seconds");
  });

  it("are separate for operators and for all other callers", () => {
    const [open, operators] = [PUBLIC, OPERATORS].map((routes) => Object.keys(buildDocument(routes, ISSUER).paths));
    expect(open).toContain("/healthz");
    expect(open?.filter((path) => path.includes("operator"))).toEqual([]);
    expect(operators?.filter((path) => !path.startsWith("/v1/operator/"))).toEqual([]);
  });
});

describe("a schema of a request", () => {
  const named = (object: z.ZodType) => z.object({ inner: z.array(object) });
  const sized = z.object({ size: z.number().default(20) });

  it("is refused if it requires a field that has a default, also deep inside", () => {
    const planted = sized.meta({ required: ["size"] });
    for (const schema of [planted, named(planted)]) {
      const print = () => new Schemas(new Sentences()).of(schema, "input");
      expect(print).toThrow(/size has a default and is required in a request/);
    }
  });

  it("does not list a field with a default among those that are required", () => {
    expect(new Schemas(new Sentences()).of(named(sized), "input")).toMatchObject({ required: ["inner"] });
  });
});

// ---- Planted faults ------------------------------------------------------------------------------------------------------

/** An object of the document, and the path under which the reviewer reports it. */
type Place = { readonly path: string; readonly node: Json };
/** Breaks the document at a place; `fault` matches the reviewer's message about that place. */
type Break = {
  readonly where: (place: Place) => boolean;
  readonly how: (node: Json, document: Document, choice: number) => void;
  readonly fault: RegExp;
};

function placesIn(value: unknown, path = "#"): Place[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).filter(([name]) => name !== "example");
  const deeper = inner.flatMap(([name, one]) => placesIn(one, `${path}/${name.replaceAll("/", "~1")}`));
  return Array.isArray(value) ? deeper : [{ path, node: value as Json }, ...deeper];
}

const schemaNamed = (document: Document, $ref: unknown): Json =>
  /^#\/components\/schemas\//.test(String($ref)) ? (document.components.schemas[String($ref).slice(21)] ?? {}) : {};
const isOperation = ({ node }: Place): boolean => "operationId" in node;
const isField = ({ path }: Place): boolean => /\/properties\/[^/]+$/.test(path);
/** The components that only requests use. */
const isInput = ({ path }: Place): boolean =>
  /^#\/components\/schemas\/(\w+(Input|Patch)|TaskConfirmation)$/.test(path);
const hasExample = ({ path, node }: Place): boolean => /\/content\/[^/]+$/.test(path) && "example" in node;
const isRefusal = ({ path, node }: Place): boolean => /\/responses\/[45]\d\d$/.test(path) && "$ref" in node;

const set = (name: string, value: unknown) => (node: Json) => {
  node[name] = value;
};
const drop = (name: string) => (node: Json) => {
  delete node[name];
};
const LOOKING = ["(?=x)", "(?!x)", "(?<=x)", "(?<!x)", "(?i:x)", "\\p{L}", "\\P{L}", "(?<name>x)", "("];

const BREAKS: Readonly<Record<string, Break>> = {
  "a field without a sentence": { where: isField, how: drop("description"), fault: /the field has no sentence/ },
  "a field whose description is no sentence": {
    where: isField,
    how: set("description", "the id"),
    fault: /no sentence/,
  },
  "a parameter without a sentence": {
    where: ({ node }) => typeof node["in"] === "string" && "schema" in node,
    how: drop("description"),
    fault: /the parameter \S+ has no sentence/,
  },
  "a tag without a sentence": {
    where: ({ path }) => /^#\/tags\/\d+$/.test(path),
    how: drop("description"),
    fault: /the tag has no sentence/,
  },
  "a schema without a sentence": {
    where: ({ path }) => /^#\/components\/schemas\/\w+$/.test(path),
    how: drop("description"),
    fault: /the schema has no sentence/,
  },
  "an operation without a sentence": { where: isOperation, how: drop("description"), fault: /has no sentence/ },
  "an operation without a summary": { where: isOperation, how: drop("summary"), fault: /has no summary/ },
  "an operation without a tag": { where: isOperation, how: set("tags", []), fault: /the operation has no tag/ },
  "a tag that is not declared": {
    where: isOperation,
    how: set("tags", ["Nobody"]),
    fault: /the tag Nobody is not declared/,
  },
  "an operation without an id": { where: isOperation, how: drop("operationId"), fault: /has no operationId/ },
  "a refusal of its own": {
    where: isRefusal,
    how: (node, document) => {
      delete node["$ref"];
      Object.assign(node, document.components["responses"]?.["BadRequest"]);
    },
    fault: /the answer is not one of components.responses/,
  },
  "a pattern that looks around or needs a flag": {
    where: ({ node }) => typeof node["pattern"] === "string",
    how: (node, _document, choice) => {
      node["pattern"] = `${LOOKING[choice % LOOKING.length]}${node["pattern"]}`;
    },
    fault: /the pattern .* (needs a flag or looks around|is no regular expression)/s,
  },
  "a reference to nothing": {
    where: ({ node }) => "$ref" in node,
    how: set("$ref", "#/components/schemas/Nothing"),
    fault: /leads nowhere/,
  },
  "an example of the wrong type": { where: hasExample, how: set("example", 7), fault: /type/i },
  "an example of a code that not every operation gives": {
    where: ({ path, node }) =>
      /^#\/components\/responses\/[A-Z]\w+\/content\/application~1json$/.test(path) && "example" in node,
    how: (node) => {
      node["example"] = { ...(node["example"] as Json), code: "final_sale" };
    },
    fault: /a code that not every operation gives/,
  },
  "a component that is itself a reference": {
    where: ({ path }) => /^#\/components\/(responses|parameters|headers)\/[\w-]+$/.test(path),
    how: set("$ref", "#/components/responses/BadRequest"),
    fault: /the component is itself a reference/,
  },
  "a DID without its pattern": {
    where: ({ node }) => "did" in ((node["properties"] ?? {}) as Json),
    how: (node) => {
      (node["properties"] as Json)["did"] = { type: "string", description: "The agent." };
    },
    fault: /did has no pattern of a DID/,
  },
  "a URL without its format": {
    where: ({ node }) => "endpoint_url" in ((node["properties"] ?? {}) as Json),
    how: (node) => {
      (node["properties"] as Json)["endpoint_url"] = { type: "string", description: "Where it is." };
    },
    fault: /endpoint_url has no format of a URL/,
  },
  "no example": { where: hasExample, how: drop("example"), fault: /there is no example/ },
};

/** Breaks a copy of the document at one of the places where it can be broken that way. */
function broken({ where, how }: Break, choice: number): { document: Document; path: string } {
  const document = structuredClone(DOCUMENT);
  const places = placesIn(document).filter(where);
  const { path, node } = places[choice % places.length] ?? { path: "nowhere", node: {} };
  how(node, document, choice);
  return { document, path };
}

const choices = fc.nat({ max: 1_000_000 });

describe("the reviewer names", () => {
  it.each(Object.entries(BREAKS))("%s", (_name, one) => {
    fc.assert(
      fc.property(choices, (choice) => {
        const { document, path } = broken(one, choice);
        const named = reviewDocument(document).filter((fault) => fault.startsWith(`${path}:`));
        expect(named.join("\n"), path).toMatch(one.fault);
      }),
      FEW,
    );
  });

  it("a schema that is called File", () => {
    const copy = structuredClone(DOCUMENT);
    copy.components.schemas["File"] = { description: "A file.", type: "string" };
    expect(reviewDocument(copy)).toContain(
      "#/components/schemas/File: the schema has the name of a type of the platform",
    );
  });

  it("a parameter that is a DID without its pattern", () => {
    const copy = structuredClone(DOCUMENT);
    Object.assign(copy.components["parameters"]?.["Did"] ?? {}, { schema: { type: "string" } });
    expect(reviewDocument(copy)).toContain("#/components/parameters/Did: did has no pattern of a DID");
  });

  it("an id that two operations have", () => {
    const [first, second] = placesIn(DOCUMENT).filter(isOperation);
    const copy = structuredClone(DOCUMENT);
    for (const { path, node } of placesIn(copy))
      if (path === second?.path) node["operationId"] = first?.node["operationId"];
    expect(reviewDocument(copy).join("\n")).toMatch(/the operationId \w+ occurs again/);
  });

  it("a schema that is written inline although it has a name", () => {
    const isTelling = (schema: Json): boolean => "properties" in schema || "enum" in schema || "pattern" in schema;
    const inline: Break = {
      where: ({ path, node }) => isField({ path, node }) && isTelling(schemaNamed(DOCUMENT, node["$ref"])),
      how: (node, document) => {
        const { $ref } = node;
        delete node["$ref"];
        Object.assign(node, { ...structuredClone(schemaNamed(document, $ref)), description: "In other words." });
      },
      fault: /occurs again: give it a name/,
    };
    fc.assert(
      fc.property(choices, (choice) => {
        expect(reviewDocument(broken(inline, choice).document).join("\n")).toMatch(inline.fault);
      }),
      FEW,
    );
  });

  it("an example without a member that its schema requires", () => {
    const required = ({ node }: Place): string[] =>
      (schemaNamed(DOCUMENT, (node["schema"] as Json)?.["$ref"])["required"] ?? []) as string[];
    const without: Break = {
      where: (place) => hasExample(place) && required(place).length > 0,
      how: (node, _document, choice) => {
        const names = required({ path: "", node });
        delete (node["example"] as Json)[names[choice % names.length] ?? ""];
      },
      // A refusal's example without its code is reported for the code.
      fault: /required|a code that not every operation gives/,
    };
    fc.assert(
      fc.property(choices, (choice) => {
        const { document, path } = broken(without, choice);
        expect(
          reviewDocument(document)
            .filter((fault) => fault.startsWith(`${path}:`))
            .join("\n"),
        ).toMatch(without.fault);
      }),
      FEW,
    );
  });

  it("a field of a request that is required and has a default", () => {
    const required = ({ node }: Place): string[] => (node["required"] ?? []) as string[];
    const given: Break = {
      where: (place) => isInput(place) && required(place).length > 0,
      how: (node, _document, choice) => {
        const names = required({ path: "", node });
        const field = (node["properties"] as Record<string, Json>)[names[choice % names.length] ?? ""];
        if (field) field["default"] = null;
      },
      fault: /the field has a default and is required/,
    };
    fc.assert(
      fc.property(choices, (choice) => {
        expect(reviewDocument(broken(given, choice).document).join("\n")).toMatch(given.fault);
      }),
      FEW,
    );
  });
});
