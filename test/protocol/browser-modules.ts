// Loads modules of the protocol in a context that has what browsers have and nothing of Node. Types are left out as a browser's build leaves them
// out; a module of Node is no module here.
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";
import { createContext, type Module, SourceTextModule } from "node:vm";

// Those that the Web Crypto of this realm makes and takes.
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

/** A package's file for everybody: that for Node alone is left aside. */
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

/** The exports of a module of src/protocol. */
export async function loadProtocol<T>(name: string): Promise<T> {
  const entry = moduleAt(import.meta.resolve(`../../src/protocol/${name}`));
  if (entry.status === "unlinked")
    await entry.link((specifier, from) => moduleAt(resolved(specifier, from.identifier)));
  await entry.evaluate();
  return entry.namespace as T;
}
