// The requests and answers of a real run of every operation, recorded by scripts/examples.ts.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export type Example = {
  readonly request?: unknown;
  readonly response?: unknown;
  /** Answers in media types other than JSON, by type. */
  readonly texts?: Readonly<Record<string, string>>;
  /** Answers of a route whose media types have different content, by type. */
  readonly forms?: Readonly<Record<string, unknown>>;
};

const file = join(import.meta.dirname, "examples.json");

export const EXAMPLES: Readonly<Record<string, Example>> = existsSync(file)
  ? (JSON.parse(readFileSync(file, "utf8")) as Record<string, Example>)
  : {};
