// The script and the style of the pages that mailed links open (ACC-14), served as files, so that a page needs nothing inline and nothing remote.

/** Sends to the page's own path, and repeats under one Idempotency-Key, so that a key whose answer was lost is shown again. */
const SCRIPT = `"use strict";
const form = document.querySelector("form");
const button = form.querySelector("button");
const refuse = form.querySelector("[data-refuse]");
const status = document.querySelector("[role=status]");
const done = document.querySelector("section");
const token = new URLSearchParams(location.search).get("token");
let idempotencyKey = keyOfPage();

/** One for the link in this tab, so that it outlives a reload after a lost answer. */
function keyOfPage() {
  const drawn = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  try {
    const [link, kept] = (sessionStorage.getItem("link") ?? "").split(" ");
    if (link === token && kept) return kept;
    sessionStorage.setItem("link", token + " " + drawn);
  } catch {
    // A browser that keeps nothing: the key lives as long as the page.
  }
  return drawn;
}

const say = (text) => {
  status.textContent = text;
};
const reasonOf = ({ field_errors: faults = [], message = "The request failed." }) =>
  faults.length > 0 ? faults.map((fault) => fault.message).join(" ") : message;
const valueAt = (answer, path) => path.split(".").reduce((value, name) => value?.[name], answer);

function show(answer) {
  for (const element of done.querySelectorAll("[data-answer]")) {
    element.textContent = valueAt(answer, element.dataset.answer) ?? "";
  }
  for (const element of done.querySelectorAll("[data-with]")) element.hidden = answer[element.dataset.with] === undefined;
  form.hidden = true;
  done.hidden = false;
  say("");
  done.focus();
}

function forget() {
  try {
    sessionStorage.removeItem("link");
  } catch {
    // Nothing was kept.
  }
}

const post = (path, body, headers) =>
  fetch(path, {
    method: "POST",
    credentials: "omit",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
const leave = () => {
  history.replaceState(null, "", location.pathname);
  forget();
};

async function send() {
  const body = { token, ...Object.fromEntries(new FormData(form)) };
  const response = await post(location.pathname, body, { "Idempotency-Key": idempotencyKey });
  const answer = await response.json();
  if (response.ok) {
    leave();
    show(answer);
    return;
  }
  // The next attempt says something else.
  forget();
  idempotencyKey = keyOfPage();
  say(reasonOf(answer));
}

async function sendRefusal() {
  const response = await post(location.pathname + "/refuse", { token });
  if (!response.ok) {
    say(reasonOf(await response.json()));
    return;
  }
  leave();
  form.hidden = true;
  say("Thank you. The link no longer works.");
}

async function press(event, act) {
  event.preventDefault();
  button.disabled = true;
  say("One moment.");
  try {
    await act();
  } catch {
    say("The service could not be reached. Try again.");
  }
  button.disabled = false;
}

form.addEventListener("submit", (event) => press(event, send));
refuse?.addEventListener("click", (event) => press(event, sendRefusal));

if (!token) {
  form.hidden = true;
  say("This link is incomplete. Open it from the mail again.");
}
`;

const STYLE = `body { margin: 0; padding: 24px; background: #fff; color: #1f2328; font: 16px/1.5 sans-serif; }
main { max-width: 36em; margin: 0 auto; }
label { display: block; font-weight: bold; }
input { box-sizing: border-box; width: 100%; padding: 8px; border: 1px solid #59636e; border-radius: 6px; font: inherit; }
button { padding: 10px 18px; border: 0; border-radius: 6px; background: #1f2328; color: #fff; font: inherit; cursor: pointer; }
button:disabled { background: #59636e; }
code { display: block; padding: 12px; background: #f6f8fa; overflow-wrap: anywhere; user-select: all; }
`;

export type PageFile = { readonly path: string; readonly type: string; readonly text: string };

export const PAGE_FILES: readonly PageFile[] = [
  { path: "/pages/link.js", type: "text/javascript; charset=utf-8", text: SCRIPT },
  { path: "/pages/link.css", type: "text/css; charset=utf-8", text: STYLE },
];
