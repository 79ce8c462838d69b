// The script of the pages that mailed links open (ACC-14), run on a document with the pages' elements: the requests that it sends, the texts that it
// shows, and that it repeats a request whose answer was lost under the same Idempotency-Key.
import { createContext, runInContext } from "node:vm";
import { beforeEach, describe, expect, it } from "vitest";
import { RESET_PAGE, VERIFY_PAGE } from "../../src/accounts/pages.ts";
import { PAGE_FILES } from "../../src/http/page-files.ts";

const SCRIPT = PAGE_FILES.find(({ path }) => path.endsWith(".js"))?.text ?? "";
const TOKEN = "a-token_of-43-characters-as-mailed-links-have";
const VERIFY = "/v1/platform/verify-email";
const RESET = "/v1/platform/password/reset";
const FIELDS = { password: "correct horse battery staple" };
const KEY = { raw_key: "service_sk_sandbox_the-key-itself", warning: "This key is shown once." };
const VERIFIED = { platform_id: "plt_1", email: "founder@startup.example", api_key: KEY };

// ---- A document ----------------------------------------------------------------------------------------------------

type Submission = { readonly preventDefault: () => void };
type Element = {
  textContent: string;
  hidden: boolean;
  disabled: boolean;
  focused: boolean;
  readonly dataset: Readonly<Record<string, string>>;
};
type Sent = {
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

const element = (dataset: Record<string, string> = {}, hidden = false): Element => ({
  ...{ textContent: "", hidden, disabled: false, focused: false },
  dataset,
});

/** The elements of a page that name themselves by a data attribute. */
const elementsWith = (html: string, name: string): Element[] =>
  [...html.matchAll(new RegExp(`<\\w+( hidden)? data-${name}="([^"]+)"`, "g"))].map(([, hidden, value = ""]) =>
    element({ [name]: value }, hidden !== undefined),
  );

/** A selector that the page does not have is a fault instead of an element. */
function choose<T>(found: Readonly<Record<string, T>>): (selector: string) => T {
  return (selector) => {
    const one = found[selector];
    if (one === undefined) throw new Error(`the page has no ${selector}`);
    return one;
  };
}

/** The parts of the page that the script sees and changes, and the listener that it adds. */
function documentOf(html: string) {
  const [button, status] = [element(), element()];
  const presses: ((event: Submission) => Promise<void>)[] = [];
  const refuse = html.includes("data-refuse")
    ? {
        addEventListener: (type: string, listener: (event: Submission) => Promise<void>) => {
          expect(type).toBe("click");
          presses.push(listener);
        },
      }
    : null;
  const [shown, conditional] = [elementsWith(html, "answer"), elementsWith(html, "with")];
  const listeners: ((event: Submission) => Promise<void>)[] = [];
  const form = Object.assign(element(), {
    querySelector: choose<unknown>({ button, "[data-refuse]": refuse }),
    addEventListener: (type: string, listener: (event: Submission) => Promise<void>) => {
      expect(type).toBe("submit");
      listeners.push(listener);
    },
  });
  const section = Object.assign(element({}, true), {
    querySelectorAll: choose({ "[data-answer]": shown, "[data-with]": conditional }),
    focus: () => {
      section.focused = true;
    },
  });
  const document = { querySelector: choose<Element>({ form, section, "[role=status]": status }) };
  return { document, form, section, status, button, shown, conditional, listeners, presses };
}

/** A service that gives the prepared answers, and otherwise loses the connection; it records the requests, and the page's state meanwhile. */
function serviceOf({ status, button }: ReturnType<typeof documentOf>) {
  const answers: Response[] = [];
  const sent: Sent[] = [];
  const meanwhile: { status: string; disabled: boolean }[] = [];
  const fetch = async (path: string, init: Omit<Sent, "path">): Promise<Response> => {
    sent.push({ path, ...init });
    meanwhile.push({ status: status.textContent, disabled: button.disabled });
    const answer = answers.shift();
    if (answer === undefined) throw new TypeError("Failed to fetch");
    return answer;
  };
  return { fetch, answers, sent, meanwhile };
}

/** The storage of a tab while it is open. */
function tabStorage() {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  };
}
type Tab = Pick<ReturnType<typeof tabStorage>, "getItem" | "setItem" | "removeItem">;

/** A browser whose storage is blocked. */
const keepNothing = (): never => {
  throw new Error("SecurityError");
};
const SEALED: Tab = { getItem: keepNothing, setItem: keepNothing, removeItem: keepNothing };

/** Runs the script on a page, and returns what a person can see and do there. */
function openPage(
  html: string,
  address: string,
  fields: Readonly<Record<string, string>> = {},
  sessionStorage: Tab = tabStorage(),
) {
  const parts = documentOf(html);
  const { document, form, section, status, shown, listeners, presses } = parts;
  const { fetch, answers, sent, meanwhile } = serviceOf(parts);
  const url = new URL(address, "https://service.example");
  const replaceState = (_state: null, _title: string, to: string) => {
    url.href = new URL(to, url).href;
  };
  // biome-ignore lint/complexity/useArrowFunction: it is called by `new`.
  const FormData = function (of: unknown) {
    expect(of).toBe(form);
    return Object.entries(fields);
  };
  const own = { document, location: url, history: { replaceState }, FormData, fetch, sessionStorage };
  runInContext(SCRIPT, createContext({ ...own, URLSearchParams, Uint8Array, crypto }));
  let prevented = 0;
  return {
    ...{ ...parts, sent, meanwhile, url },
    prevented: () => prevented,
    /** Presses the button; without an answer the connection is lost. */
    click: async (code?: number, answer?: unknown) => {
      if (code !== undefined) answers.push(Response.json(answer, { status: code }));
      for (const listener of listeners) await listener({ preventDefault: () => prevented++ });
    },
    /** States that the link is not about this person. */
    refuse: async (code: number, answer?: unknown) => {
      answers.push(code === 204 ? new Response(null, { status: 204 }) : Response.json(answer, { status: code }));
      for (const listener of presses) await listener({ preventDefault: () => prevented++ });
    },
    read: (name: string) => shown.find(({ dataset }) => dataset["answer"] === name)?.textContent,
    /** All text that a person sees. */
    text: () => [status, ...(section.hidden ? [] : shown)].map(({ textContent }) => textContent).join(" "),
  };
}
type Page = ReturnType<typeof openPage>;

// ---- The script's behaviour ----------------------------------------------------------------------------------------

describe("the page of a verification link", () => {
  let page: Page;
  beforeEach(() => {
    page = openPage(VERIFY_PAGE, `${VERIFY}?token=${TOKEN}`, FIELDS);
  });

  it("sends nothing, shows no text and keeps its address until its button is pressed", () => {
    expect(page.sent).toEqual([]);
    expect(page.text()).toBe("");
    expect([page.form.hidden, page.section.hidden]).toEqual([false, true]);
    expect(page.url.search).toBe(`?token=${TOKEN}`);
  });

  it("sends the token as JSON by POST to the page's own path, without cookies, and leaves the form unsent", async () => {
    await page.click(200, VERIFIED);
    expect(page.sent).toEqual([
      {
        ...{ path: VERIFY, method: "POST", credentials: "omit" },
        headers: { "Content-Type": "application/json", "Idempotency-Key": expect.stringMatching(/^[0-9a-f]{32}$/) },
        body: JSON.stringify({ token: TOKEN, ...FIELDS }),
      },
    ]);
    expect(page.prevented()).toBe(1);
  });

  it("shows that it works, and accepts no second press meanwhile", async () => {
    await page.click(200, VERIFIED);
    expect(page.meanwhile).toEqual([{ status: "One moment.", disabled: true }]);
    expect(page.status.textContent).toBe("");
  });

  it("shows the address and the key with its warning, in place of the form", async () => {
    await page.click(200, VERIFIED);
    expect(page.read("email")).toBe(VERIFIED.email);
    expect(page.read("api_key.raw_key")).toBe(KEY.raw_key);
    expect(page.read("api_key.warning")).toBe(KEY.warning);
    expect(page.conditional.map(({ hidden }) => hidden)).toEqual([false]);
    expect([page.form.hidden, page.section.hidden, page.section.focused]).toEqual([true, false, true]);
    expect(page.text().split(KEY.raw_key)).toHaveLength(2);
  });

  it("removes the token from its address, so that the page opened again shows no key and sends nothing", async () => {
    await page.click(200, VERIFIED);
    expect(page.url.href).toBe(`https://service.example${VERIFY}`);
    const again = openPage(VERIFY_PAGE, page.url.href);
    expect(again.form.hidden).toBe(true);
    expect(again.text()).toBe("This link is incomplete. Open it from the mail again.");
    expect(again.sent).toEqual([]);
  });

  it("shows no part about a key if the answer has none, as when an account moves to another address", async () => {
    await page.click(200, { platform_id: "plt_1", email: "new@startup.example" });
    expect(page.read("email")).toBe("new@startup.example");
    expect(page.conditional.map(({ hidden }) => hidden)).toEqual([true]);
    expect(page.read("api_key.raw_key")).toBe("");
  });

  it("shows the message of each fault of a refusal, and can be pressed again", async () => {
    const faults = ["The link is unknown, used or expired.", "A second one."].map((message) => ({ message }));
    await page.click(422, { code: "validation_error", message: "The request is invalid.", field_errors: faults });
    expect(page.status.textContent).toBe("The link is unknown, used or expired. A second one.");
    expect([page.form.hidden, page.section.hidden, page.button.disabled]).toEqual([false, true, false]);
    expect(page.url.search).toBe(`?token=${TOKEN}`);
  });

  it("shows the message of a refusal that names no field", async () => {
    await page.click(403, { code: "account_suspended", message: "The account is suspended." });
    expect(page.text()).toBe("The account is suspended.");
  });

  it("repeats the request under the same Idempotency-Key when an answer was lost, and shows the replayed key", async () => {
    await page.click();
    expect(page.text()).toBe("The service could not be reached. Try again.");
    expect([page.form.hidden, page.button.disabled, page.url.search]).toEqual([false, false, `?token=${TOKEN}`]);
    await page.click(200, VERIFIED);
    expect(page.sent).toHaveLength(2);
    expect(page.sent[1]).toEqual(page.sent[0]);
    expect(page.read("api_key.raw_key")).toBe(KEY.raw_key);
  });

  it("continues under the same Idempotency-Key in a reloaded tab, only for the same link, until it is done", async () => {
    const tab = tabStorage();
    const open = (token: string) => openPage(VERIFY_PAGE, `${VERIFY}?token=${token}`, {}, tab);
    const before = open(TOKEN);
    await before.click();
    const after = open(TOKEN);
    await after.click(200, VERIFIED);
    expect(after.sent).toEqual(before.sent);
    expect(tab.kept.size).toBe(0);
    const [one, other] = [open("one-token"), open("other-token")];
    await one.click();
    await other.click();
    const keys = [before, one, other].map(({ sent }) => sent[0]?.headers["Idempotency-Key"]);
    expect(new Set(keys).size).toBe(3);
  });

  it("uses another Idempotency-Key after a refusal, because the next password is another body", async () => {
    await page.click(422, { code: "current_password_invalid", message: "The password is wrong." });
    expect(page.text()).toBe("The password is wrong.");
    await page.click(200, VERIFIED);
    const [first, second] = page.sent.map(({ headers }) => headers["Idempotency-Key"]);
    expect(second).toMatch(/^[0-9a-f]{32}$/);
    expect(second).not.toBe(first);
  });

  it("sends only the token if the person says that it is not his, and ends", async () => {
    await page.refuse(204);
    expect(page.sent).toEqual([
      {
        ...{ path: `${VERIFY}/refuse`, method: "POST", credentials: "omit" },
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ token: TOKEN }),
      },
    ]);
    expect(page.text()).toBe("Thank you. The link no longer works.");
    expect([page.form.hidden, page.section.hidden, page.url.search]).toEqual([true, true, ""]);
  });

  it("says why it could not refuse", async () => {
    await page.refuse(422, { field_errors: [{ message: "The link is unknown, used or expired." }] });
    expect(page.text()).toBe("The link is unknown, used or expired.");
    expect(page.form.hidden).toBe(false);
  });

  it("works in a browser that stores nothing", async () => {
    const sealed = openPage(VERIFY_PAGE, `${VERIFY}?token=${TOKEN}`, {}, SEALED);
    await sealed.click();
    await sealed.click(200, VERIFIED);
    expect(sealed.sent[1]).toEqual(sealed.sent[0]);
    expect(sealed.read("api_key.raw_key")).toBe(KEY.raw_key);
  });

  it("draws a separate Idempotency-Key for each tab", async () => {
    const other = openPage(VERIFY_PAGE, `${VERIFY}?token=${TOKEN}`);
    await page.click(200, VERIFIED);
    await other.click(200, VERIFIED);
    expect(other.sent[0]?.headers["Idempotency-Key"]).not.toBe(page.sent[0]?.headers["Idempotency-Key"]);
  });

  it("puts the answer only into text, even if it looks like markup", async () => {
    const email = '<img src=x onerror="alert(1)">';
    await page.click(200, { ...VERIFIED, email });
    expect(page.read("email")).toBe(email);
  });
});

describe("the page of a link to reset the password", () => {
  it("sends the new password with the token, and shows that it is done", async () => {
    const fields = { new_password: "correct horse battery staple" };
    const page = openPage(RESET_PAGE, `${RESET}?token=${TOKEN}`, fields);
    await page.click(200, { platform_id: "plt_1", changed_at: "2026-11-22T12:00:00.000Z" });
    expect(page.sent.map(({ path, body }) => [path, JSON.parse(body)])).toEqual([[RESET, { token: TOKEN, ...fields }]]);
    expect([page.form.hidden, page.section.hidden]).toEqual([true, false]);
    expect(page.url.href).toBe(`https://service.example${RESET}`);
  });

  it("shows what is wrong with the password, and keeps the token for another one", async () => {
    const page = openPage(RESET_PAGE, `${RESET}?token=${TOKEN}`, { new_password: "short" });
    await page.click(422, { message: "The request is invalid.", field_errors: [{ message: "Too short." }] });
    expect(page.text()).toBe("Too short.");
    expect([page.form.hidden, page.url.search]).toEqual([false, `?token=${TOKEN}`]);
  });
});
