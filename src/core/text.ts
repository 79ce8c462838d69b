// Text that people write: lists in configuration, names that are compared (HTTP-8), and addresses.
import { removeJoiners, removeNeededJoiners } from "./joiners.ts";

/** `a, b,c` → its items, without white space and without empty items. */
export const splitList = (text: string): string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

/** Trims spaces only. The lookbehind keeps the time linear for a text of many spaces. */
export const trimSpaces = (text: string): string => text.replace(/^ +|(?<! ) +$/g, "");

/**
 * The form in which names are compared: Unicode's compatibility forms, caseless, white space as one space. Lower case of upper case also equates ß
 * with SS, and σ with ς; lower case comes first, because ẞ has no other upper case. A dotless ı stays apart: Unicode folds it to itself, though its
 * upper case is that of i.
 */
export const foldName = (name: string): string =>
  removeJoiners(name)
    .normalize("NFKC")
    .split("ı")
    .map(toCaseless)
    .join("ı")
    .normalize("NFKC")
    .replace(/\s+/gu, " ")
    .trim();

/** Whether two names or two addresses differ only in notation. */
export const isSameText = (one: string, other: string): boolean => foldName(one) === foldName(other);

const toCaseless = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase();

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;
const CONTROL_IN_LINES = /(?![\t\n\r])[\p{Cc}\p{Zl}\p{Zp}]/u;
const BIDI_CONTROL = /\p{Bidi_Control}/u;
/**
 * Besides the ignorable characters: annotations, a Braille symbol without a dot, controls and blanks of hieroglyphs, a filler and a note without a
 * head.
 */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb\u{13430}-\u{13442}\u{16fe4}\u{1d159}]/u;
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** A character's fault as a sentence; null for a good name. An invisible character would let one name pass for another. */
export function findNameCharacterFault(name: string): string | null {
  if (CONTROL.test(name)) return "Must not contain control characters.";
  if (BIDI_CONTROL.test(name)) return "Must not contain characters that change the direction of writing.";
  return INVISIBLE.test(removeNeededJoiners(name)) ? "Must not contain invisible characters." : null;
}

export const findNameFault = (name: string): string | null =>
  findNameCharacterFault(name) ?? (VISIBLE.test(name) ? null : "Must contain a visible character.");

/** The fault of a text of several lines as a sentence; null for a good text. */
export function findTextFault(text: string): string | null {
  if (CONTROL_IN_LINES.test(text)) return "Must not contain control characters.";
  if (BIDI_CONTROL.test(text)) return "Must not contain characters that change the direction of writing.";
  return null;
}

/** Whether the parser finds the host as it is written, ignoring case. Otherwise a client that resolves the written text would reach another host. */
export function isHostAsWritten(url: string): boolean {
  const [, host = ""] = /^https?:\/\/([^/?#]*?)(?::\d*)?(?:[/?#]|$)/i.exec(url) ?? [];
  return isAscii(host) && host.toLowerCase() === new URL(url).hostname;
}

const isAscii = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);
