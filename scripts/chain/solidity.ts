// The sources and settings of the contracts, for the compiler and for explorers that compile them again.
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

const packages = join(import.meta.dirname, "../../node_modules");

export const SETTINGS = {
  // Base and anvil support it; later forks have no advantage for these contracts.
  evmVersion: "prague",
  viaIR: true,
  optimizer: { enabled: true, runs: 1_000_000 },
  // Without the metadata's hash the bytecode depends on the code alone, not on comments or paths.
  metadata: { bytecodeHash: "none", appendCBOR: false },
  outputSelection: {
    "*": {
      "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object", "evm.deployedBytecode.immutableReferences"],
    },
  },
} as const;

export type StandardInput = {
  readonly language: "Solidity";
  readonly sources: Readonly<Record<string, { readonly content: string }>>;
  readonly settings: typeof SETTINGS;
};

/** Reads a source by the compiler's name for it, from a package or from the folder. */
export const readSource = (folder: string, name: string): string =>
  readFileSync(name.startsWith("@") ? join(packages, name) : join(folder, name), "utf8");

/** Answers the compiler's request for an import. */
export function resolveImport(path: string): { contents: string } | { error: string } {
  return path.startsWith("@openzeppelin/") && existsSync(join(packages, path))
    ? { contents: readSource("", path) }
    : { error: `not found: ${path}` };
}

/** Returns the compiler's standard JSON input with one file, its direct and indirect imports, and nothing else. */
export function buildStandardInput(folder: string, entry: string): StandardInput {
  const sources: Record<string, { content: string }> = {};
  const waiting = [entry];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (name in sources) continue;
    const content = readSource(folder, name);
    sources[name] = { content };
    for (const [, path = ""] of content.matchAll(/^import\s[^;]*?"([^"]+)";/gm)) {
      waiting.push(path.startsWith(".") ? posix.join(posix.dirname(name), path) : path);
    }
  }
  return { language: "Solidity", sources: Object.fromEntries(Object.entries(sources).sort()), settings: SETTINGS };
}
