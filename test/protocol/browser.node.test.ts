// The payer's half runs in a browser as it stands (CHN-2, CHN-8): in a context without anything of Node it makes the published vectors.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { VECTORS } from "./payment-vectors.ts";

test("without anything of Node it makes the published vectors", () => {
  const script = fileURLToPath(import.meta.resolve("./browser-context.ts"));
  const args = ["--experimental-vm-modules", "--no-warnings", script];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toEqual(
    VECTORS.map(({ settlement_key, nonce, typed_data, calldata }) => ({
      ...{ settlement_key, nonce, typed_data },
      settleWithAuthorization: calldata.settleWithAuthorization,
      salt: 66,
    })),
  );
});
