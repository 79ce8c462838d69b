// Texts that are refused as names, and names that are equal (HTTP-8).
import { describe, expect, it } from "vitest";
import { findNameFault, findTextFault, foldName, splitList } from "../../src/core/text.ts";

const CONTROL = "Must not contain control characters.";
const DIRECTION = "Must not contain characters that change the direction of writing.";
const INVISIBLE = "Must not contain invisible characters.";
const NOTHING = "Must contain a visible character.";

describe("the fault of a name", () => {
  it.each([
    ["nul", "\u0000", CONTROL],
    ["a line break", "\n", CONTROL],
    ["a tab", "\t", CONTROL],
    ["delete", "\u007f", CONTROL],
    ["next line", "\u0085", CONTROL],
    ["a line separator", "\u2028", CONTROL],
    ["a paragraph separator", "\u2029", CONTROL],
    ["a left-to-right mark", "\u200e", DIRECTION],
    ["an Arabic letter mark", "\u061c", DIRECTION],
    ["a right-to-left override", "\u202e", DIRECTION],
    ["an isolate", "\u2066", DIRECTION],
    ["a zero-width space", "\u200b", INVISIBLE],
    ["a zero-width joiner", "\u200d", INVISIBLE],
    ["a soft hyphen", "\u00ad", INVISIBLE],
    ["a byte order mark", "\ufeff", INVISIBLE],
    ["a word joiner", "\u2060", INVISIBLE],
    ["a Hangul filler", "\u3164", INVISIBLE],
    ["a Mongolian vowel separator", "\u180e", INVISIBLE],
    ["a variation selector", "\ufe0f", INVISIBLE],
    ["a tag", "\u{e0041}", INVISIBLE],
    ["an annotation", "\ufff9", INVISIBLE],
    ["a hieroglyphic control", "\u{13430}", INVISIBLE],
    ["a hieroglyphic blank", "\u{13441}", INVISIBLE],
    ["a Khitan filler", "\u{16fe4}", INVISIBLE],
    ["a note without a head", "\u{1d159}", INVISIBLE],
    ["an empty Braille cell", "\u2800", INVISIBLE],
  ])("is %s", (_name, character, fault) => {
    expect(findNameFault(`Ac${character}me`)).toBe(fault);
    expect(findNameFault(`${character}Acme`)).toBe(fault);
  });

  it.each([
    ["spaces", "  \u00a0\u3000"],
    ["marks without a letter", "\u0301\u0308"],
    ["nothing", ""],
  ])("says that nothing is visible in %s", (_name, text) => {
    expect(findNameFault(text)).toBe(NOTHING);
  });

  it.each([
    "Acme",
    "Ácme",
    "A\u0301cme",
    "株式会社",
    "شركة",
    "חברה",
    "Робот",
    "3M",
    "!",
    "🤖",
    "Smith & Söhne (Berlin)",
  ])("is absent for %s", (text) => expect(findNameFault(text)).toBeNull());

  it.each([
    ["Persian", "می\u200cخواهم"],
    ["Persian with a mark", "مِی\u200cخ"],
    ["Sinhala", "ශ්\u200dරී ලංකා"],
    ["Malayalam", "അവന്\u200d"],
    ["Syriac", "ܐ\u200dܒ"],
    ["N'Ko", "ߊ\u200cߋ"],
    ["Mongolian", "ᠠ\u200dᠡ"],
    ["a Han character's variant", "葛\u{e0100}城"],
  ])("is absent for the joiner of %s", (_script, text) => expect(findNameFault(text)).toBeNull());

  it.each([
    ["at the end of an Arabic word", "می\u200c"],
    ["at the beginning of an Arabic word", "\u200cمی"],
    ["before a space", "می\u200c خ"],
    ["next to another joiner", "می\u200c\u200cخ"],
    ["between scripts", "می\u200ca"],
    ["after a Sinhala letter without a virama", "ශ\u200dර"],
    ["between digits", "1\u200d2"],
    ["of a variant after a letter", "a\u{e0100}"],
    ["of two variants after a Han character", "葛\u{e0100}\u{e0101}"],
    ["of another variant after a Han character", "葛\ufe00"],
  ])("is an invisible character %s", (_place, text) => expect(findNameFault(text)).toBe(INVISIBLE));

  it("is absent for a line break, a tab or an emoji's joiner in a text of several lines", () => {
    expect(findTextFault("One.\r\n\tTwo 👩\u200d🔬.")).toBeNull();
    expect(findTextFault("One\u0000")).toBe(CONTROL);
    expect(findTextFault("One\u202e")).toBe(DIRECTION);
  });
});

describe("the folded name that finds duplicates", () => {
  it.each([
    ["Acme", "ACME"],
    ["Acme", "Ａcme"],
    ["straße", "STRASSE"],
    ["straße", "STRAẞE"],
    ["ΣΊΣΥΦΟΣ", "σίσυφος"],
    ["ﬁne", "FINE"],
    ["№ 1 ㎏", "no 1 kg"],
    ["Ácme", "a\u0301cme"],
    ["Acme  \u3000 GmbH ", "acme gmbh"],
    ["K", "\u212a"],
    ["sıLA", "sıla"],
    ["می\u200cخواهم", "میخواهم"],
    ["ශ්\u200dරී", "ශ්රී"],
    ["葛\u{e0100}城", "葛城"],
  ])("is the same for %s and %s", (one, other) => expect(foldName(one)).toBe(foldName(other)));

  it.each([
    ["Acme", "Acne"],
    ["Acme", "Ácme"],
    ["Acme GmbH", "AcmeGmbH"],
    ["sıla", "sila"],
    ["SILA", "sıla"],
    ["𝚤", "i"],
  ])("differs for %s and %s", (one, other) => expect(foldName(one)).not.toBe(foldName(other)));

  it("is the same for every character in upper, lower and its own case, and does not change when folded again", () => {
    const wrong: string[] = [];
    for (let code = 0x20; code < 0x20000; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const character = String.fromCodePoint(code);
      const folded = foldName(`a${character}a`);
      const cases = [character.toUpperCase(), character.toLowerCase(), character.normalize("NFKC")];
      const same = cases.every((other) => foldName(`a${other}a`) === folded);
      if (!same || foldName(folded) !== folded) wrong.push(code.toString(16));
    }
    // The upper case of a dotless ı is that of i.
    expect(wrong).toEqual(["131"]);
  });
});

it("skips empty items of a list in the configuration", () => expect(splitList(" a, b,,c ,")).toEqual(["a", "b", "c"]));
