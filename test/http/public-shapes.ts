// The form of a public answer: its members, including those of its signed content. A member that a form does not name is foreign to it.
import type { Json } from "../support/world.ts";

const EACH = Symbol("each");
const SIGNED = Symbol("signed");

/** `true`: a value without members, or a list of such values. A list of forms has one. Null has every form. */
export type Shape =
  | true
  | readonly [Shape]
  | { readonly [EACH]: Shape }
  | { readonly [SIGNED]: Shape }
  | { readonly [member: string]: Shape };

/** An object whose member names come from the configuration. */
export const each = (shape: Shape): Shape => ({ [EACH]: shape });

/** A compact JWS by the CA, whole or without its payload: exactly `{alg, typ, kid}`, and the members of its payload. */
export const signed = (says: Shape): Shape => ({ [SIGNED]: says });

const HEADER: Shape = { alg: true, typ: true, kid: true };

/** The members of a form that were found, over all answers that were compared with it. */
export type Seen = Set<string>;

/** The members of a value that its form does not name; those that it names are added to `seen`. */
export function foreignTo(shape: Shape, value: unknown, seen: Seen, place = ""): string[] {
  if (value === null || value === undefined) return [];
  if (shape === true) {
    const plain = [value].flat().every((one) => typeof one !== "object");
    return plain ? [] : [`${place}: an object`];
  }
  if (isList(shape)) {
    if (!Array.isArray(value)) return [`${place}: no list`];
    return value.flatMap((item) => foreignTo(shape[0], item, seen, `${place}[]`));
  }
  if (SIGNED in shape) return foreignInJws(shape[SIGNED] as Shape, value, seen, place);
  if (typeof value !== "object" || Array.isArray(value)) return [`${place}: no object`];
  return Object.entries(value).flatMap(([name, member]) => {
    const every = EACH in shape ? (shape[EACH] as Shape) : undefined;
    const inner = every ?? (Object.hasOwn(shape, name) ? (shape as { [name: string]: Shape })[name] : undefined);
    const here = `${place}.${every ? "*" : name}`;
    if (inner === undefined) return [here];
    seen.add(here);
    return foreignTo(inner, member, seen, here);
  });
}

function foreignInJws(says: Shape, value: unknown, seen: Seen, place: string): string[] {
  const [header = "", payload = "", ...more] = typeof value === "string" ? value.split(".") : [];
  if (more.length !== 1) return [`${place}: no JWS`];
  const found = foreignTo(HEADER, decoded(header), seen, `${place}<header>`);
  return payload === "" ? found : [...found, ...foreignTo(says, decoded(payload), seen, `${place}<payload>`)];
}

/** The members that a form names. */
export function membersOf(shape: Shape, place = ""): string[] {
  if (shape === true) return [];
  if (isList(shape)) return membersOf(shape[0], `${place}[]`);
  if (SIGNED in shape) {
    return [...membersOf(HEADER, `${place}<header>`), ...membersOf(shape[SIGNED] as Shape, `${place}<payload>`)];
  }
  const inner = EACH in shape ? [["*", shape[EACH] as Shape] as const] : Object.entries(shape);
  return inner.flatMap(([name, one]) => [`${place}.${name}`, ...membersOf(one, `${place}.${name}`)]);
}

/** A text with everything that it contains: itself, and each part of each JWS in it. */
export function readable(text: string): string {
  const parts = text.match(/eyJ[\w-]*\.[\w-]*\.[\w-]+/g)?.flatMap((jws) => jws.split(".").slice(0, 2)) ?? [];
  const inner = parts.filter((part) => part !== "").map((part) => readable(JSON.stringify(decoded(part))));
  return [text, ...inner].join("\n");
}

const isList = (shape: Shape): shape is readonly [Shape] => Array.isArray(shape);

function decoded(part: string): Json {
  const bytes = Uint8Array.from(atob(part.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}
