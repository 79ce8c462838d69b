// Loads modules of the protocol in a context that has what browsers have, and nothing of Node. Types are stripped as in a browser's build; a module
// of Node cannot be imported.
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";
import { createContext, type Module, SourceTextModule } from "node:vm";

// The classes that this realm's Web Crypto returns and accepts.
const BYTES = { Uint8Array, ArrayBuffer };
const context = createContext({
  ...BYTES,
  crypto,
  CryptoKey,
  TextEncoder,
  TextDecoder,
  btoa,
  atob,
  URL,
  structuredClone,
});
export const textAt = (url: string): string => readFileSync(fileURLToPath(url), "utf8");
const modules = new Map<string, Module>();

function moduleAt(url: string): Module {
  const source = textAt(url);
  const code = url.endsWith(".ts") ? stripTypeScriptTypes(source) : source;
  const made = modules.get(url) ?? new SourceTextModule(code, { context, identifier: url });
  modules.set(url, made);
  return made;
}

/** The file of a package for all platforms; a file only for Node is ignored. */
function inPackage(specifier: string): string {
  const [, name = "", path = ""] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(specifier) ?? [];
  const root = new URL(`../../node_modules/${name}/`, import.meta.url);
  const { exports } = JSON.parse(textAt(new URL("package.json", root).href));
  const entry = exports[`.${path}`];
  const file = entry?.import ?? entry?.default;
  if (typeof file !== "string") throw new Error(`no browser has ${specifier}`);
  return new URL(file, root).href;
}

const resolved = (specifier: string, from: string): string =>
  specifier.startsWith(".") ? new URL(specifier, from).href : inPackage(specifier);

/** Returns the exports of a module of src/protocol. */
export async function loadProtocol<T>(name: string): Promise<T> {
  const entry = moduleAt(import.meta.resolve(`../../src/protocol/${name}`));
  if (entry.status === "unlinked")
    await entry.link((specifier, from) => moduleAt(resolved(specifier, from.identifier)));
  await entry.evaluate();
  return entry.namespace as T;
}
