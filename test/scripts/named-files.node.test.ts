// Every file that a page of docs names exists.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const listPages = (): string[] => [
  "README.md",
  "test/README.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((page) => page.endsWith(".md"))
    .map((page) => `docs/${page}`),
];

/** Paths in code marks, from the root of the repository, from src or from test. */
const listNamedFiles = (text: string): string[] =>
  [...text.matchAll(/`(\w[\w.-]*(?:\/[\w.-]+)+\.(?:ts|mjs|cjs|sol|sql|md|json))`/g)].map(([, path = ""]) => path);
const isMissing = (path: string): boolean =>
  !["", "src", "test"].some((folder) => existsSync(join(root, folder, path)));

it.each(listPages())("%s names only files that exist", (page) => {
  expect(listNamedFiles(readFileSync(join(root, page), "utf8")).filter(isMissing)).toEqual([]);
});

it("finds a file that does not exist", () => {
  expect(listNamedFiles("See `agents/store.ts` and `agents/gone.ts`.").filter(isMissing)).toEqual(["agents/gone.ts"]);
});
