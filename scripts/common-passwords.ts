// Writes src/http/assets/common-passwords.txt, one password a line in the compared form: those of a packaged list of common passwords that are long
// enough to be chosen here. `--check` exits non-zero if the file is not current.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dictionary } from "@zxcvbn-ts/language-common";
import { PASSWORD_MIN_CHARS } from "../src/core/limits.ts";
import { foldName } from "../src/core/text.ts";

const file = join(import.meta.dirname, "../src/http/assets/common-passwords.txt");
const words = [...new Set(dictionary["passwords-common"].map(String).map(foldName))]
  .filter((word) => word.length >= PASSWORD_MIN_CHARS)
  .sort();
const text = `${words.join("\n")}\n`;

if (!process.argv.includes("--check")) writeFileSync(file, text);
else if (readFileSync(file, "utf8") !== text) {
  console.error("src/http/assets/common-passwords.txt is out of date: run `npm run generate`");
  process.exit(1);
}
