// Records which store functions the tests call. Without a call, no test proves that a statement works, and its plan is not checked.
import type { TestModule } from "vitest/node";

/** The files that write SQL. */
const STORES = /\/src\/.+[/-]store\.ts$/;

type Noted = { readonly known: Set<string>; readonly called: Set<string> };
declare module "vitest" {
  interface TaskMeta {
    storeFunctions?: { readonly known: readonly string[]; readonly called: readonly string[] };
  }
}

/** A runtime loads a store once for many test files, so the record is global. */
const noted = (): Noted => {
  const global = globalThis as { storeFunctions?: Noted };
  global.storeFunctions ??= { known: new Set(), called: new Set() };
  return global.storeFunctions;
};

/** Returns the record of this runtime and empties it. */
export function takeRecord(): { readonly known: string[]; readonly called: string[] } {
  const { known, called } = noted();
  const taken = { known: [...known], called: [...called] };
  known.clear();
  called.clear();
  return taken;
}

/** The first line of a marked module, so that line numbers stay. It uses the same object as `noted`. */
const MARK =
  "const markCall = (name, value) => { if (typeof value !== 'function') return value;" +
  " const noted = globalThis.storeFunctions ??= { known: new Set(), called: new Set() };" +
  " noted.known.add(name); return (...given) => { noted.called.add(name); return value(...given); }; };";

type Node = { readonly type: string; readonly start: number; readonly end: number };
type Declared = Node & {
  readonly id: { readonly name: string } | null;
  readonly init?: Node | null;
  readonly declarations?: readonly Declared[];
};
type Program = { readonly body: readonly (Node & { readonly declaration?: Declared | null })[] };

/** A Vite plugin: each exported function of a store records its call. */
export const markStores = () => ({
  name: "mark-stores",
  enforce: "post" as const,
  transform(this: { parse: (code: string) => unknown }, code: string, id: string) {
    const [path = ""] = id.split("?");
    if (!STORES.test(path)) return null;
    const file = path.slice(path.indexOf("/src/") + 1);
    const inserts: (readonly [at: number, text: string])[] = [];
    for (const { declaration } of (this.parse(code) as Program).body) {
      if (declaration?.type === "FunctionDeclaration" && declaration.id) {
        const { name } = declaration.id;
        inserts.push([declaration.end, `\n${name} = markCall(${JSON.stringify(`${file}: ${name}`)}, ${name});`]);
      }
      for (const { id: named, init } of declaration?.declarations ?? [])
        if (named && init)
          inserts.push([init.start, `markCall(${JSON.stringify(`${file}: ${named.name}`)}, `], [init.end, ")"]);
    }
    const marked = inserts
      .toSorted(([one], [other]) => other - one)
      .reduce((text, [at, insert]) => text.slice(0, at) + insert + text.slice(at), code);
    return { code: MARK + marked, map: null };
  },
});

/** Collects the records of all files of a run. */
export class CalledStores {
  readonly #known = new Set<string>();
  readonly #called = new Set<string>();

  add(module: TestModule): void {
    const { known = [], called = [] } = module.meta().storeFunctions ?? {};
    for (const name of known) this.#known.add(name);
    for (const name of called) this.#called.add(name);
  }

  /** Returns the functions that no file has called. */
  uncalled(): string[] {
    return [...this.#known].filter((name) => !this.#called.has(name)).sort();
  }
}
