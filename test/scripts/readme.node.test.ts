// Compares README with the project: everything that it names exists. start.node.test.ts runs its commands.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { launch, root } from "./commands.ts";
import { blocks, README } from "./readme.ts";

const read = (file: string) => readFileSync(join(root, file), "utf8");

describe("the code blocks", () => {
  it("are those that these tests compare, plus the diagram of the flow", () => {
    const languages = [...README.matchAll(/^```(\w*)\n[\s\S]*?^```$/gm)].map(([, language]) => language);
    expect(languages).toEqual(["sh", "sh", "text", "sh", "json", "sh", "sh", "sh", "mermaid"]);
  });

  it("in shell name existing commands, followed by nothing but a comment", () => {
    const lines = blocks("sh")
      .filter((block) => !block.includes("curl"))
      .flatMap((block) => block.trimEnd().split("\n"));
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(line).toMatch(/^npm (start|test|run demo) +# /);
  });
});

describe("the names in README", () => {
  const scripts = JSON.parse(read("package.json")).scripts as Record<string, string>;
  const commands = [...README.matchAll(/(?:^|`)npm (?:run (?:-s )?)?([a-z][\w:]*)/gm)].map(([, name = ""]) => name);

  it("are existing commands, and its table has all of them", () => {
    expect(commands.filter((name) => !(name in scripts))).toEqual([]);
    const own = Object.keys(scripts).filter((name) => !name.startsWith("pre"));
    const table = [...README.matchAll(/^\| `npm (?:run (?:-s )?)?([\w:]+)(?: [^`]*)?`/gm)].map(([, name]) => name);
    expect([...new Set(table)].sort()).toEqual(own.sort());
  });

  it("are the variables and secrets of the Worker, and all of them", () => {
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

  it("are existing routes", () => {
    const documents = ["docs/openapi.json", "docs/openapi-operator.json"].map((file) => JSON.parse(read(file)));
    const anyId = (path: string) => path.replace(/\{\w+\}/g, "{}");
    const known = new Set(documents.flatMap(({ paths }) => Object.keys(paths)).map(anyId));
    const named = [...README.matchAll(/(?<![\w}])\/v1\/[\w/{}-]+/g)].map(([path]) => anyId(path));
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((path) => !known.has(path))).toEqual([]);
  });

  it("are existing files", () => {
    const links = [...README.matchAll(/\]\(([^)#]+)\)/g)].map(([, path = ""]) => path);
    expect(links.length).toBeGreaterThan(15);
    expect(links.filter((path) => !/^https?:/.test(path) && !existsSync(join(root, path)))).toEqual([]);
    const labelled = [...README.matchAll(/\[`([^`]+)`\]\(([^)#]+)\)/g)];
    expect(labelled.filter(([, label = "", path]) => label.replace(/\/$/, "") !== path).map(([text]) => text)).toEqual(
      [],
    );
  });
});
