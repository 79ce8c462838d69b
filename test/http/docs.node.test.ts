// The script of the interactive reference, run as a browser runs it (HTTP-32).
import { expect, it } from "vitest";
import { REFERENCE_SCRIPT } from "../../src/http/openapi.ts";

type Sent = { method: string; headers: Record<string, string> };

function interceptor(): (request: Sent) => Sent {
  let options: { requestInterceptor?: (request: Sent) => Sent } = {};
  new Function("SwaggerUIBundle", REFERENCE_SCRIPT)((given: typeof options) => {
    options = given;
  });
  if (!options.requestInterceptor) throw new Error("the script sets no interceptor");
  return options.requestInterceptor;
}

it("gives each call that is tried out its own Idempotency-Key", () => {
  const intercept = interceptor();
  const tried = [1, 2].map(() => intercept({ method: "POST", headers: {} }).headers["Idempotency-Key"]);
  expect(tried).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  expect(new Set(tried).size).toBe(2);
});

it("keeps a key that the reader has typed, and adds none to calls that take none", () => {
  const intercept = interceptor();
  const typed = { method: "POST", headers: { "Idempotency-Key": "mine" } };
  expect(intercept(typed).headers).toEqual({ "Idempotency-Key": "mine" });
  expect(intercept({ method: "GET", headers: {} }).headers).toEqual({});
});
