// Checks that a name that a file of src/ exports has one meaning: no file of another folder exports it too.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** A role that folders share has the same name in each. */
const ROLES = /^(?:ROUTES|[a-z]+Routes)$/;

const root = join(import.meta.dirname, "../src");
const folders = new Map<string, Set<string>>();
for (const file of readdirSync(root, { recursive: true, encoding: "utf8" })) {
  if (!file.endsWith(".ts")) continue;
  const [folder = ""] = file.split("/");
  const source = ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest);
  for (const name of source.statements.flatMap(exportedBy)) {
    folders.set(name, (folders.get(name) ?? new Set<string>()).add(folder));
  }
}

/** Functions, constants and classes. Types may repeat, because their folder says what they are of. */
function exportedBy(statement: ts.Statement): string[] {
  const isExported = ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.some(isExport);
  if (!isExported) return [];
  if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) {
    return statement.name ? [statement.name.text] : [];
  }
  if (!ts.isVariableStatement(statement)) return [];
  return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []));
}

function isExport({ kind }: ts.Modifier): boolean {
  return kind === ts.SyntaxKind.ExportKeyword;
}

const shared = [...folders].filter(([name, used]) => used.size > 1 && !ROLES.test(name));
for (const [name, used] of shared)
  console.error(`${name} is exported by ${[...used].join(" and ")}: say of what it is`);
if (shared.length > 0) process.exit(1);
