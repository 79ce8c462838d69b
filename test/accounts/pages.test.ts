// The pages that mailed links open (ACC-14) have nothing inline or remote, do not contain the token, and have no effect.
import { beforeAll, describe, expect, it } from "vitest";
import { dumpDatabase, send } from "../support/variants.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { freshAddress, mailedToken, PASSWORD, post, register } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const open = (path: string) => world.call("GET", path, { key: null });
const PAGES = ["/v1/platform/verify-email", "/v1/platform/password/reset"];

describe.each(PAGES)("the page %s", (path) => {
  it("is HTML that no cache keeps, that sends no referrer, and that runs only the service's own files", async () => {
    const { status, headers } = await open(`${path}?token=abc`);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    const policy = new Map(
      (headers.get("content-security-policy") ?? "").split("; ").map((part) => {
        const [name = "", ...sources] = part.split(" ");
        return [name, sources.join(" ")];
      }),
    );
    expect(Object.fromEntries(policy)).toEqual({
      "default-src": "'none'",
      "script-src": "'self'",
      "style-src": "'self'",
      "connect-src": "'self'",
      "form-action": "'none'",
      "base-uri": "'none'",
      "frame-ancestors": "'none'",
    });
  });

  it("leaves the validation of the input to the service, which counts letters in another form", async () => {
    expect((await open(path)).text).not.toMatch(/minlength|maxlength|pattern=/);
  });

  it("is the same for every token, and without one", async () => {
    const [bare, marked] = [await open(path), await open(`${path}?token=${encodeURIComponent('"><script>alert(1)')}`)];
    expect(marked.text).toBe(bare.text);
    expect(bare.text).not.toContain("alert(1)");
  });

  it("has nothing inline and nothing remote, and its files are served", async () => {
    const { text } = await open(path);
    expect(text).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:|https?:|\/\/[a-z]/i);
    const named = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url ?? "");
    expect(named.length).toBe(2);
    for (const url of named) {
      const { response, body } = await send(world, url, {});
      expect(response.status, url).toBe(200);
      expect(response.headers.get("content-type")).toMatch(/^text\/(javascript|css); charset=utf-8$/);
      expect(body).not.toMatch(/https?:|innerHTML|eval\(/);
    }
    for (const [, inside] of text.matchAll(/<script[^>]*>([^<]*)<\/script>/g)) expect(inside).toBe("");
  });

  it("is accessible: it has its language, a heading, a status, and a label for each field", async () => {
    const { text } = await open(path);
    for (const part of [
      '<html lang="en">',
      "<h1>",
      "<main>",
      'role="status"',
      '<button type="submit">',
      "<noscript>",
    ]) {
      expect(text).toContain(part);
    }
    const fields = [...text.matchAll(/<input id="(\w+)"/g)].map(([, id]) => id);
    for (const id of fields) expect(text).toContain(`<label for="${id}">`);
    expect(fields).toEqual(path.endsWith("reset") ? ["new_password"] : ["password"]);
  });

  it("reads no row, however often it is opened, also by HEAD", async () => {
    world.meter.reset();
    const before = await dumpDatabase();
    await open(`${path}?token=abc`);
    const { response } = await send(world, `${path}?token=abc`, { method: "HEAD" });
    expect(response.status).toBe(200);
    expect(world.meter.reading.trips).toBe(0);
    expect(await dumpDatabase()).toEqual(before);
  });
});

describe("a mailed link", () => {
  it("opens its page, is not used up by that, and is used up by the POST to the same path", async () => {
    const email = freshAddress();
    await register(world, email);
    const token = mailedToken(world, email);
    const url = new URL(/https?:\S+token=\S+/.exec(world.mails.at(-1)?.text ?? "")?.[0] ?? "");
    for (let n = 0; n < 3; n++) expect((await open(`${url.pathname}${url.search}`)).status).toBe(200);
    expectStatus(await post(world, url.pathname, { token, password: PASSWORD }), 200);
    expect((await open(`${url.pathname}${url.search}`)).status).toBe(200);
  });

  it("shows the sandbox key with its warning if the answer has one", async () => {
    const { text } = await open("/v1/platform/verify-email");
    expect(text).toContain('data-with="api_key"');
    for (const name of ["email", "api_key.raw_key", "api_key.warning"]) expect(text).toContain(`data-answer="${name}"`);
  });
});
