// Checks that a name that a file of src/ exports has one meaning: no file of another folder exports it too.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

type SourceFile = { readonly path: string; readonly text: string };

/** Returns the names that several folders export, with these folders. `path`: from src/. */
export function findSharedNames(files: readonly SourceFile[]): (readonly [name: string, folders: readonly string[]])[] {
  const folders = new Map<string, Set<string>>();
  for (const { path, text } of files) {
    const [folder = ""] = path.split("/");
    for (const name of ts.createSourceFile(path, text, ts.ScriptTarget.Latest).statements.flatMap(listExported)) {
      folders.set(name, (folders.get(name) ?? new Set<string>()).add(folder));
    }
  }
  return [...folders].filter(([, used]) => used.size > 1).map(([name, used]) => [name, [...used]] as const);
}

/** Functions, constants and classes. Types may repeat, because their folder says what they are of. */
function listExported(statement: ts.Statement): string[] {
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

if (import.meta.main) {
  const root = join(import.meta.dirname, "../src");
  const paths = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
  const shared = findSharedNames(paths.map((path) => ({ path, text: readFileSync(join(root, path), "utf8") })));
  for (const [name, folders] of shared) {
    console.error(`${name} is exported by ${folders.join(" and ")}: give each a name that says what it is of`);
  }
  if (shared.length > 0) process.exit(1);
}
