// Compiles the contracts and compares the committed ABIs and bytecode (CHN-1). `npm run check` compares only a digest.
import { expect, test } from "vitest";
import { runScript } from "../scripts/commands.ts";

test("the committed files equal the output of the compiler", async () => {
  const check = runScript("contracts.ts", "--check", "--whole");
  expect([await check.ended, check.output()]).toEqual([0, ""]);
});
