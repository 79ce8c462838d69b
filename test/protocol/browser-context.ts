// Runs the payer's half in a context that has what browsers have and nothing of Node, and prints what it makes of the published vectors. Types
// are left out as a browser's build leaves them out; a module of Node is no module here.
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";
import { createContext, type Module, SourceTextModule } from "node:vm";

const ENTRY = import.meta.resolve("../../src/protocol/payment.ts");
const context = createContext({ crypto, TextEncoder, TextDecoder, btoa, atob });
const textAt = (url: string): string => readFileSync(fileURLToPath(url), "utf8");
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
  const file = exports[`.${path}`]?.import;
  if (typeof file !== "string") throw new Error(`no browser has ${specifier}`);
  return new URL(file, root).href;
}

const resolved = (specifier: string, from: string): string =>
  specifier.startsWith(".") ? new URL(specifier, from).href : inPackage(specifier);

const entry = moduleAt(ENTRY);
await entry.link((specifier, from) => moduleAt(resolved(specifier, from.identifier)));
await entry.evaluate();
const { preparePayment, authorize, authorizationNonce, settleWithAuthorizationCalldata, newSalt } =
  entry.namespace as typeof import("../../src/protocol/payment.ts");
const { payments } = JSON.parse(textAt(import.meta.resolve("./payment-vectors.json")));
const made = payments.map(({ intent, terms, authorization, signature }: (typeof payments)[number]) => {
  const prepared = preparePayment(intent, terms);
  const times = { validAfter: BigInt(authorization.validAfter), validBefore: BigInt(authorization.validBefore) };
  const authorized = authorize(prepared, { ...authorization, ...times });
  return {
    settlement_key: prepared.settlementKey,
    nonce: authorizationNonce(prepared.payment, authorized.salt),
    typed_data: authorized.typedData,
    settleWithAuthorization: settleWithAuthorizationCalldata(prepared.payment, authorized, signature),
    salt: newSalt().length,
  };
});
console.log(JSON.stringify(made));
