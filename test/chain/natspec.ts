// Reads the documentation in the contracts' sources (NatSpec), with the compiler that explorers use too.
import { join } from "node:path";
import solc from "solc";
import type { AbiParameter } from "viem";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { buildStandardInput, resolveImport } from "../../scripts/chain/solidity.ts";

const FOLDER = join(import.meta.dirname, "../../src/chain/contracts");
const GROUPS = { function: "methods", event: "events", error: "errors" } as const;
type Group = (typeof GROUPS)[keyof typeof GROUPS];
type Said = { readonly params?: Record<string, string>; readonly returns?: Record<string, string>; details?: string };
type Notice = { readonly notice?: string };
type Entries<T> = Partial<Record<Group, Record<string, T | readonly T[]>>>;
type Compiled = { readonly devdoc: Entries<Said>; readonly userdoc: Entries<Notice> };

export type Documented = {
  readonly kind: Group;
  readonly name: string;
  /** True for a public variable, whose parameters cannot be documented. */
  readonly isVariable: boolean;
  readonly notice: string;
  /** Names the errors of a call, among others. */
  readonly details: string;
  /** The text about each parameter and return value; empty if there is none. */
  readonly said: readonly { readonly type: string; readonly text: string }[];
};

/** Returns every entry of the settlement contract's interface. */
export function documented(): readonly Documented[] {
  const input = buildStandardInput(FOLDER, "SettlementContract.sol");
  const settings = { outputSelection: { "SettlementContract.sol": { "*": ["devdoc", "userdoc"] } } };
  const output = JSON.parse(solc.compile(JSON.stringify({ ...input, settings }), { import: resolveImport }));
  const { devdoc, userdoc }: Compiled = output.contracts["SettlementContract.sol"].SettlementContract;
  const source = input.sources["SettlementContract.sol"]?.content ?? "";
  return settlementAbi.flatMap((entry): Documented[] => {
    if (entry.type === "constructor") return [];
    const kind = GROUPS[entry.type];
    const key = `${entry.name}(${entry.inputs.map(typeOf).join(",")})`;
    const dev = first(devdoc[kind]?.[key]);
    const user = first(userdoc[kind]?.[key]);
    const outputs: readonly AbiParameter[] = entry.type === "function" ? entry.outputs : [];
    return [
      {
        kind,
        name: entry.name,
        isVariable: entry.type === "function" && !source.includes(`function ${entry.name}(`),
        notice: user?.notice ?? "",
        details: dev?.details ?? "",
        said: [
          ...entry.inputs.map(({ type, name = "" }) => ({ type, text: dev?.params?.[name] ?? "" })),
          ...outputs.map(({ type, name }, i) => ({ type, text: dev?.returns?.[name || `_${i}`] ?? "" })),
        ],
      },
    ];
  });
}

const first = <T>(found: T | readonly T[] | undefined): T | undefined =>
  Array.isArray(found) ? found[0] : (found as T | undefined);

const typeOf = (parameter: AbiParameter): string =>
  "components" in parameter ? `(${parameter.components.map(typeOf).join(",")})` : parameter.type;
