// Checks that one file writes each table of src/db/tables, and that this file is a store or a file of src/db, which has what all calls share. A write
// is a call of Drizzle's insert, update or delete, found by the type of its table whatever name it is passed under, or SQL text that names the table.
import { join, relative, sep } from "node:path";
import ts from "typescript";

type Write = { readonly table: string; readonly at: string; readonly file: string };

const root = join(import.meta.dirname, "..");
const TABLES = "src/db/tables/";
const WRITER = /^src\/db\/|[/-]store\.ts$/;
const VERBS: ReadonlySet<string> = new Set(["insert", "update", "delete"]);
const RAW = /\b(?:insert(?:\s+or\s+\w+)?\s+into|replace\s+into|update(?:\s+or\s+\w+)?|delete\s+from)\s+["'`]?(\w+)/gi;
/** Columns, one of each table, that only this file changes. They are in these tables because every call reads the row. */
const SHARED: Readonly<Record<string, string>> = { platforms: "src/journal/volume-store.ts" };
/** Fewer writes mean that the tree could not be read. */
const FEWEST_WRITES = 30;

const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
const { options, fileNames } = ts.parseJsonConfigFileContent({ ...config, include: ["src"] }, ts.sys, root);
const program = ts.createProgram(fileNames, options);
const checker = program.getTypeChecker();

const faults: string[] = [];
const tables = new Set<string>();
const writes: Write[] = [];

/** The name of the table of this type; "" if the type is any table, null if it is none. */
function tableOf(node: ts.Expression): string | null {
  const described = memberOf(checker.getTypeAtLocation(node), "_", node);
  if (!described?.getProperty("columns")) return null;
  const name = memberOf(described, "name", node);
  return name?.isStringLiteral() ? name.value : "";
}

function memberOf(type: ts.Type, name: string, at: ts.Node): ts.Type | undefined {
  const member = type.getProperty(name);
  return member && checker.getTypeOfSymbolAtLocation(member, at);
}

/** The text of a literal. A table after a verb becomes its name; other expressions are left out. */
function textOf(node: ts.Node): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return "";
  return node.templateSpans.reduce((text, { expression, literal }) => {
    const table = /(?:into|update|from)\s+$/i.test(text) ? tableOf(expression) : null;
    return `${text}${table ?? "?"}${literal.text}`;
  }, node.head.text);
}

function visit(node: ts.Node, source: ts.SourceFile): void {
  const file = relative(root, source.fileName).split(sep).join("/");
  const at = () => `${file}:${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1}`;
  if (ts.isVariableDeclaration(node) && file.startsWith(TABLES) && node.initializer) {
    const table = tableOf(node.initializer);
    if (table) tables.add(table);
  }
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const [written] = node.arguments;
    const table = VERBS.has(node.expression.name.text) && written ? tableOf(written) : null;
    if (table === "") faults.push(`${at()}: cannot tell which table this writes`);
    else if (table !== null) writes.push({ table, at: at(), file });
  }
  for (const [, table = ""] of textOf(node).matchAll(RAW)) writes.push({ table: table.toLowerCase(), at: at(), file });
  ts.forEachChild(node, (child) => visit(child, source));
}

for (const source of program.getSourceFiles()) {
  if (relative(root, source.fileName).startsWith(`src${sep}`)) visit(source, source);
}

const tableWrites = writes.filter(({ table }) => tables.has(table));
for (const { table, at, file } of tableWrites)
  if (!WRITER.test(file)) faults.push(`${at}: writes ${table}, and is not a store`);
for (const table of [...tables].sort()) {
  const ofTable = tableWrites.filter((write) => write.table === table && SHARED[table] !== write.file);
  if (new Set(ofTable.map(({ file }) => file)).size < 2) continue;
  faults.push(`${table} is written by more than one file: ${ofTable.map(({ at }) => at).join(", ")}`);
}
if (tableWrites.length < FEWEST_WRITES) {
  faults.push(
    `only ${tableWrites.length} writes of ${tables.size} tables were found, fewer than ${FEWEST_WRITES}: nothing is proved`,
  );
}
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
