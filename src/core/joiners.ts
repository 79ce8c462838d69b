// Default-ignorable characters that a correctly written name needs (HTTP-8), in the sense of RFC 5892, appendix A: joiners in some scripts, and
// variants of Han characters.

/** The characters of canonical combining class 9 (Unicode 14). */
const VIRAMAS = [
  0x94d, 0x9cd, 0xa4d, 0xacd, 0xb4d, 0xbcd, 0xc4d, 0xccd, 0xd3b, 0xd3c, 0xd4d, 0xdca, 0xe3a, 0xeba, 0xf84, 0x1039,
  0x103a, 0x1714, 0x1715, 0x1734, 0x17d2, 0x1a60, 0x1b44, 0x1baa, 0x1bab, 0x1bf2, 0x1bf3, 0x2d7f, 0xa806, 0xa82c,
  0xa8c4, 0xa953, 0xa9c0, 0xaaf6, 0xabed, 0x10a3f, 0x11046, 0x11070, 0x1107f, 0x110b9, 0x11133, 0x11134, 0x111c0,
  0x11235, 0x112ea, 0x1134d, 0x11442, 0x114c2, 0x115bf, 0x1163f, 0x116b6, 0x1172b, 0x11839, 0x1193d, 0x1193e, 0x119e0,
  0x11a34, 0x11a47, 0x11a99, 0x11c3f, 0x11d44, 0x11d45, 0x11d97,
];
const AFTER_VIRAMA = `(?<=[${String.fromCodePoint(...VIRAMAS)}])`;
const CURSIVE = String.raw`[[\p{L}\p{M}]&&[\p{scx=Arabic}\p{scx=Syriac}\p{scx=Mongolian}\p{scx=Nko}]]`;

/** U+200C and U+200D between cursive letters or after a virama, and U+E0100 to U+E01EF after a Han character. */
const NEEDED_JOINER = new RegExp(
  String.raw`(?:(?<=${CURSIVE})[\u200c\u200d](?=${CURSIVE})|${AFTER_VIRAMA}[\u200c\u200d]|(?<=\p{sc=Han})[\u{e0100}-\u{e01ef}])`,
  "gv",
);
const ANY_JOINER = /\u200c|\u200d|[\u{e0100}-\u{e01ef}]/gu;

export const removeNeededJoiners = (name: string): string => name.replace(NEEDED_JOINER, "");
/** For comparisons: names that differ only in joiners are equal. */
export const removeJoiners = (name: string): string => name.replace(ANY_JOINER, "");
