// Reads JSON numbers by their digits where a body's schema expects money (HTTP-4), because a binary float would round them.
import * as z from "zod";
import { memoizeBy } from "../core/retry.ts";
import { toPlainAmount } from "../core/text.ts";

export type Path = readonly string[];

/** The paths at which a schema has money: text that may be sent as a number. Lists contain no money. */
export const findMoneyPaths = memoizeBy(collectMoneyPaths);

function collectMoneyPaths(schema: z.ZodType): Path[] {
  if (Array.isArray(z.globalRegistry.get(schema)?.["type"])) return [[]];
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return collectMoneyPaths(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodPipe) return collectMoneyPaths(schema.in as z.ZodType);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => collectMoneyPaths(option as z.ZodType));
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, field]) =>
    collectMoneyPaths(field).map((path) => [name, ...path]),
  );
}

/** The digits of the numbers of a body, by the object that holds them and their name in it. */
export type NumberSources = Map<unknown, Map<string, string>>;

/** In one form for each value. Returns the paths that held a number, because text with the same digits is another body. */
export function writeMoneyAsText(body: unknown, paths: readonly Path[], sources: NumberSources): Path[] {
  return paths.filter((path) => {
    const name = path.at(-1) ?? "";
    const holder = findMoneyHolder(body, path);
    const ofHolder = sources.get(holder);
    const source = ofHolder?.get(name);
    if (holder === null || source === undefined) return false;
    holder[name] = toPlainAmount(source) ?? source;
    ofHolder?.delete(name);
    return true;
  });
}

type Holder = Record<string, unknown>;

function findMoneyHolder(body: unknown, path: Path): Holder | null {
  let holder = body;
  for (const name of path.slice(0, -1)) holder = isHolder(holder) && Object.hasOwn(holder, name) ? holder[name] : null;
  return isHolder(holder) ? holder : null;
}

const isHolder = (value: unknown): value is Holder =>
  typeof value === "object" && value !== null && !Array.isArray(value);
