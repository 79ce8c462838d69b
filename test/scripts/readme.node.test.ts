// README against the project: what it names exists. Its commands are played by start.node.test.ts.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { launch, root } from "./commands.ts";
import { blocks, README } from "./readme.ts";

const read = (file: string) => readFileSync(join(root, file), "utf8");

describe("the code blocks", () => {
  it("are those that a test here compares, beside the drawing of the flow", () => {
    const languages = [...README.matchAll(/^```(\w*)\n[\s\S]*?^```$/gm)].map(([, language]) => language);
    expect(languages).toEqual(["sh", "sh", "text", "sh", "json", "sh", "sh", "sh", "mermaid"]);
  });

  it("of a shell name commands that there are, with nothing but a comment behind them", () => {
    const lines = blocks("sh")
      .filter((block) => !block.includes("curl"))
      .flatMap((block) => block.trimEnd().split("\n"));
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(line).toMatch(/^npm (start|test|run demo) +# /);
  });
});

describe("what README names", () => {
  const scripts = JSON.parse(read("package.json")).scripts as Record<string, string>;
  const commands = [...README.matchAll(/(?:^|`)npm (?:run (?:-s )?)?([a-z][\w:]*)/gm)].map(([, name = ""]) => name);

  it("are commands that there are, and all of them stand in its table", () => {
    expect(commands.filter((name) => !(name in scripts))).toEqual([]);
    const own = Object.keys(scripts).filter((name) => !name.startsWith("pre"));
    const table = [...README.matchAll(/^\| `npm (?:run (?:-s )?)?([\w:]+)(?: [^`]*)?`/gm)].map(([, name]) => name);
    expect([...new Set(table)].sort()).toEqual(own.sort());
  });

  it("are the variables and secrets of the Worker, all of them", () => {
    const rows = [...README.matchAll(/^\| ((?:secrets )?`[A-Z_]+`.*?) \|/gm)].map(([, cell = ""]) => cell);
    const named = rows.flatMap((cell) => [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name = ""]) => name));
    const [, env = ""] = /^export type Env = \{([^}]*)\}/m.exec(read("src/context.ts")) ?? [];
    const known = [...env.matchAll(/^ +([A-Z_]+): string;/gm)].map(([, name = ""]) => name);
    expect(known.length).toBeGreaterThan(15);
    expect(named.sort()).toEqual(known.sort());
  });

  it("are the defaults of npm start", async () => {
    const help = launch(process.execPath, [join(root, "scripts/start.ts"), "--help"]);
    await help.ended;
    const output = help.output();
    const [, defaults = ""] = /`npm start` takes (.*?),\s+or the\s+options/s.exec(README) ?? [];
    expect(defaults).toMatch(/\d/);
    expect(output).toContain(defaults.replaceAll("`", "").replace(/\s+/g, " "));
  });

  it("are routes that there are", () => {
    const documents = ["docs/openapi.json", "docs/openapi-operator.json"].map((file) => JSON.parse(read(file)));
    const anyId = (path: string) => path.replace(/\{\w+\}/g, "{}");
    const known = new Set(documents.flatMap(({ paths }) => Object.keys(paths)).map(anyId));
    const named = [...README.matchAll(/(?<![\w}])\/v1\/[\w/{}-]+/g)].map(([path]) => anyId(path));
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((path) => !known.has(path))).toEqual([]);
  });

  it("are files that there are", () => {
    const links = [...README.matchAll(/\]\(([^)#]+)\)/g)].map(([, path = ""]) => path);
    expect(links.length).toBeGreaterThan(15);
    expect(links.filter((path) => !/^https?:/.test(path) && !existsSync(join(root, path)))).toEqual([]);
    const labelled = [...README.matchAll(/\[`([^`]+)`\]\(([^)#]+)\)/g)];
    expect(labelled.filter(([, label = "", path]) => label.replace(/\/$/, "") !== path).map(([text]) => text)).toEqual(
      [],
    );
  });
});
