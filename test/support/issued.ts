// Records which statements of the code the tests build. A statement that no test builds may be wrong, and its plan is not checked.
import type { TestModule } from "vitest/node";

/** A file that writes SQL imports Drizzle, or belongs to a Durable Object. */
const WRITES_SQL = /from "drizzle-orm|storage\.sql/;

type Sites = { readonly known: Set<string>; readonly built: Set<string> };
declare module "vitest" {
  interface TaskMeta {
    statementSites?: { readonly known: readonly string[]; readonly built: readonly string[] };
  }
}

/** A runtime loads a module once for many test files, so the record is global. */
const sites = (): Sites => {
  const global = globalThis as { statementSites?: Sites };
  global.statementSites ??= { known: new Set(), built: new Set() };
  return global.statementSites;
};

/** Returns the record of this runtime., and empties it. */
export function takeRecord(): { readonly known: string[]; readonly built: string[] } {
  const { known, built } = sites();
  const taken = { known: [...known], built: [...built] };
  known.clear();
  built.clear();
  return taken;
}

/** The first line of a marked module, so that line numbers stay. It uses the same object as `sites`. */
const mark = (names: readonly string[]) =>
  "const markSite = (() => { const sites = globalThis.statementSites ??= { known: new Set(), built: new Set() };" +
  ` const names = ${JSON.stringify(names)}; for (const name of names) sites.known.add(name);` +
  " return (i) => void sites.built.add(names[i]); })();";

type Node = { readonly type: string; readonly start: number; readonly end: number };
type Callee = Node & { readonly property?: Node & { readonly name?: string } };
type Call = Node & { readonly callee?: Callee; readonly tag?: Node & { readonly name?: string } };

/** The calls that begin a statement, and `sql` templates, which may be a statement or a part of one. */
const isSite = ({ type, callee, tag }: Call): boolean =>
  (type === "CallExpression" &&
    /^(?:select|selectDistinct|insert|update|delete|exec)$/.test(callee?.property?.name ?? "")) ||
  (type === "TaggedTemplateExpression" && tag?.name === "sql");

function* findSites(node: unknown): Generator<Call> {
  if (typeof node !== "object" || node === null) return;
  if ("type" in node && isSite(node as Call)) yield node as Call;
  for (const child of Object.values(node)) yield* findSites(child);
}

/** A Vite plugin: each statement of `src` records that it is built. */
export const markStatements = () => ({
  name: "mark-statements",
  enforce: "post" as const,
  transform(this: { parse: (code: string) => unknown }, code: string, id: string) {
    const [path = ""] = id.split("?");
    if (!path.includes("/src/") || path.includes("/node_modules/") || !WRITES_SQL.test(code)) return null;
    const file = path.slice(path.indexOf("/src/") + 1);
    const found = [...findSites(this.parse(code))];
    const lineOf = (at: number) => code.slice(0, at).split("\n").length;
    const names = found.map(
      ({ start, end }, i) => `${file}:${lineOf(end)} (${i}): ${code.slice(start, end).replace(/\s+/g, " ").slice(-60)}`,
    );
    const marked = found
      .flatMap(({ start, end }, i): (readonly [number, string])[] => [
        [start, `(markSite(${i}), `],
        [end, ")"],
      ])
      .toSorted(([one], [other]) => other - one)
      .reduce((text, [at, insert]) => text.slice(0, at) + insert + text.slice(at), code);
    return { code: mark(names) + marked, map: null };
  },
});

/** Collects the records of all files of a run. */
export class BuiltStatements {
  readonly #known = new Set<string>();
  readonly #built = new Set<string>();

  add(module: TestModule): void {
    const { known = [], built = [] } = module.meta().statementSites ?? {};
    for (const name of known) this.#known.add(name);
    for (const name of built) this.#built.add(name);
  }

  /** Returns the statements that no file has built. */
  unbuilt(): string[] {
    return [...this.#known].filter((name) => !this.#built.has(name)).sort();
  }
}
