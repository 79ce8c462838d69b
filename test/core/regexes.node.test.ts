// The running time of every regular expression grows at most linearly with its text, because one field of a body may have 256 KiB. Expressions that
// are made at run time are not checked.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { analyse } from "scslre";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../../src");

type Literal = { readonly place: string; readonly source: string; readonly flags: string };

function literalsOf(file: string): Literal[] {
  const parsed = ts.createSourceFile(file, readFileSync(join(ROOT, file), "utf8"), ts.ScriptTarget.Latest, true);
  const found: Literal[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const { line } = parsed.getLineAndCharacterOfPosition(node.getStart());
      const [, source = "", flags = ""] = /^\/(.*)\/([a-z]*)$/s.exec(node.text) ?? [];
      found.push({ place: `src/${file}:${line + 1} ${node.text}`, source, flags });
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return found;
}

const isSlow = ({ source, flags }: Pick<Literal, "source" | "flags">): boolean =>
  analyse({ source, flags }).reports.length > 0;

describe("a regular expression", () => {
  it("takes time in proportion to its text", () => {
    const files = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
    const literals = files.flatMap(literalsOf);
    expect(literals.length).toBeGreaterThan(100);
    expect(literals.filter(isSlow).map(({ place }) => place)).toEqual([]);
  });

  it.each([
    ["^ +| +$", true],
    ["^ *(?:x)? *$", true],
    ["^(a+)+$", true],
    ["^ +|(?<! ) +$", false],
    ["^ *(?:x *)?$", false],
  ])("%s is found to be slow: %s", (source, slow) => {
    expect(isSlow({ source, flags: "" })).toBe(slow);
  });
});
