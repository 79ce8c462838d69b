// The compiler itself makes the committed interfaces and code of the contracts; `npm run check` compares a digest (CHN-1).
import { expect, test } from "vitest";
import { runScript } from "../scripts/commands.ts";

test("the committed files are what the compiler makes of the sources", async () => {
  const check = runScript("contracts.ts", "--check", "--whole");
  expect([await check.ended, check.output()]).toEqual([0, ""]);
});
