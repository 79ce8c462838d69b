// README's code blocks, and its commands as a person runs them: in a shell, in the folder that has the stack's folder.
import { readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { expect } from "vitest";
import { type Command, launch, root } from "./commands.ts";

const read = (file: string): string => readFileSync(join(root, file), "utf8");
/** Links of a page in docs/, as they read from the root. */
const fromRoot = (text: string): string =>
  text
    .replace(/\]\((?!https?:|\.\.\/|#)/g, "](docs/")
    .replaceAll("](../", "](")
    .replace(/\[`([\w.-]+\.md)`\]\(docs\//g, "[`docs/$1`](docs/");
/** README and the page that continues it. */
export const README = `${read("README.md")}\n${fromRoot(read("docs/development.md"))}`;

export type Played = { readonly code: number | null; readonly output: string };

/** The code blocks of a language, in order. */
export const blocks = (language: string): string[] =>
  [...README.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, text = ""]) => text);

export function blockWith(language: string, text: string): string {
  const found = blocks(language).filter((block) => block.includes(text));
  expect(found, `${language} blocks with ${text}`).toHaveLength(1);
  return found[0] ?? "";
}

/** Runs a text in a shell without the machine's start-up files, which bash reads if its input is a socket. `folder` has `.dev`. */
export const playShell = (text: string, folder: string): Promise<Played> =>
  play(launch("bash", ["--norc", "-euo", "pipefail", "-c", text], { cwd: folder, env: environment(folder) }));

export const playDemo = (folder: string): Promise<Played> =>
  play(launch(process.execPath, ["scripts/demo.ts"], { env: environment(folder) }));

async function play(command: Command): Promise<Played> {
  const code = await command.ended;
  return { code, output: command.output() };
}

const environment = (folder: string): NodeJS.ProcessEnv => ({
  PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
  DEV_DIR: join(folder, ".dev"),
  NO_COLOR: "1",
});

/** Expects the demo's output to equal README's, except for the ellipses. */
export function expectShown(output: string): void {
  // The ellipsis of "POST …/scope" is part of the output.
  const shown = comparable(blockWith("text", "/v1/platform")).split(/…(?!\/)/);
  expect(shown.length).toBeGreaterThan(5);
  let rest = comparable(output);
  for (const [i, part] of shown.entries()) {
    const at = i === 0 ? 0 : i === shown.length - 1 ? rest.length - part.length : rest.indexOf(part);
    expect(rest.slice(Math.max(at, 0)).startsWith(part), difference(part, rest)).toBe(true);
    rest = rest.slice(at + part.length);
  }
  expect(rest).toBe("");
}

/** Removes white space, durations, ids, addresses and hashes, which differ from run to run. */
const comparable = (text: string): string =>
  text
    .replace(/ \d+ ms$/gm, " <time>")
    .replace(/did:aeap:[0-9a-f-]{36}/g, "<did>")
    .replace(/http:\/\/127\.0\.0\.1:\d+/g, "<base>")
    .replace(/\b[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}/g, "<id>")
    .replace(/\b0x[0-9a-f]+/gi, "<hash>")
    .replace(/\beyJ[\w-]+/g, "<jws>")
    .replace(/\s+/g, "");

/** The first place at which the output differs from README. */
function difference(part: string, rest: string): string {
  let length = part.length;
  while (!rest.includes(part.slice(0, length))) length -= 1;
  const [same, shown] = [part.slice(0, length), part.slice(length)];
  const printed = rest.slice(rest.indexOf(same) + length);
  return `after "${same.slice(-60)}" README has "${shown.slice(0, 60)}", the output "${printed.slice(0, 60)}"`;
}
