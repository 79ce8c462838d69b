// Calls operations by operationId on a running service, with the credentials that each needs, and keeps the requests and answers that become
// examples.
import { setTimeout as sleep } from "node:timers/promises";
import type { Surface } from "../../src/call.ts";
import type { Route } from "../../src/http/route.ts";
import { type Agent, agentHeaders, keyHeaders, must, operatorHeaders, pickValue, type Reply, send } from "../client.ts";
import type { ServiceDescription } from "../stack.ts";
import { headersOf, isFile, NOT_ALWAYS } from "./document.ts";
import { OPERATORS, PUBLIC } from "./documents.ts";
import type { Example } from "./examples.ts";
import { findResponse } from "./responses.ts";
import type { Json } from "./types.ts";

export type Ask = {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** The parts of a form, instead of a body. */
  readonly form?: Readonly<Record<string, string | File>>;
  readonly headers?: Record<string, string>;
  /** The agent that calls. */
  readonly as?: Agent;
};

const OPERATIONS: readonly Route[] = [...PUBLIC, ...OPERATORS];
const LIST_SHOWN = 2;
// Only the prefix that all P-256 keys share, without the bytes of a key.
const NO_KEY = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0w…\n-----END PRIVATE KEY-----\n";

export class Stage {
  readonly service: ServiceDescription;
  readonly #shown = new Map<string, Example>();

  constructor(service: ServiceDescription) {
    this.service = service;
  }

  /** Calls the operation without keeping it. */
  async ask(operationId: string, ask: Ask = {}): Promise<unknown> {
    const { value } = await this.#call(routeOf(operationId), ask);
    return value;
  }

  /** Calls the operation and keeps it as the example. */
  async show(operationId: string, ask: Ask = {}): Promise<unknown> {
    const route = routeOf(operationId);
    const { value, type, reply } = await this.#call(route, ask);
    const { texts, ...known } = this.#shown.get(operationId) ?? {};
    if (findResponse(route).forms) {
      this.#shown.set(operationId, { ...known, forms: { ...known.forms, [type]: value } });
      return value;
    }
    this.#shown.set(operationId, {
      ...known,
      ...(ask.body !== undefined && { request: presentable(ask.body) }),
      ...(type.endsWith("json") && { response: presentable(value) }),
      ...(ask.form && { request: await presentableForm(ask.form) }),
      ...(!type.endsWith("json") && !isFile(type) && type !== ""
        ? { texts: { ...texts, [type]: presentableText(reply.text) } }
        : texts && { texts }),
    });
    return value;
  }

  /** Returns the kept examples, in the order of the routes. Throws with the names of missing operations or types. */
  examples(): Record<string, Example> {
    const missing = OPERATIONS.flatMap((route) => {
      const shown = this.#shown.get(route.operationId);
      if (!shown) return [route.operationId];
      const { forms } = findResponse(route);
      const kept = { ...shown.texts, ...shown.forms };
      const texts = forms
        ? Object.keys(forms)
        : typesOf(route).filter((type) => !type.endsWith("json") && !isFile(type));
      return texts.filter((type) => kept[type] === undefined).map((type) => `${route.operationId} (${type})`);
    });
    must(missing.length === 0, `no example is played of ${missing.join(", ")}: see scripts/openapi/play.ts`);
    return Object.fromEntries(OPERATIONS.map(({ operationId }) => [operationId, this.#shown.get(operationId) ?? {}]));
  }

  async #call(route: Route, ask: Ask): Promise<{ value: unknown; type: string; reply: Reply }> {
    const { base_url: base } = this.service;
    const { headers = {}, body, form } = ask;
    const sent = { method: route.method.toUpperCase(), path: pathOf(route, ask), body, ...(form && { form }) };
    const reply = await send(base, sent, { ...(await this.#credential(route, ask, sent)), ...headers });
    const said = `${sent.method} ${sent.path} (${route.operationId}) answered`;
    must(reply.status === route.status, `${said} ${reply.status}, not ${route.status}: ${reply.text}`);
    const missing = headersOf(route).filter((name) => !NOT_ALWAYS.has(name) && !reply.headers.has(name));
    must(missing.length === 0, `${said} without the headers ${missing.join(", ")}`);
    if (reply.status === 204) return { value: null, type: "", reply };
    const type = (reply.headers.get("content-type") ?? "").split(";")[0] ?? "";
    must(typesOf(route).includes(type), `${said} ${type}, which it does not declare`);
    const isJson = type.endsWith("json") || findResponse(route).forms?.[type] !== undefined;
    return { value: isJson ? JSON.parse(reply.text) : reply.text, type, reply };
  }

  async #credential(route: Route, ask: Ask, sent: Parameters<typeof agentHeaders>[1]): Promise<Record<string, string>> {
    const surfaces: readonly Surface[] = route.surfaces;
    if (surfaces.includes("management")) return keyHeaders(this.service.sandbox_key);
    if (surfaces.includes("operator")) return operatorHeaders(this.service.operator_key);
    return ask.as ? agentHeaders(ask.as, sent) : {};
  }
}

const typesOf = (route: Route): readonly string[] => findResponse(route).types ?? ["application/json"];

function routeOf(operationId: string): Route {
  const route = OPERATIONS.find((one) => one.operationId === operationId);
  must(route !== undefined, `there is no operation ${operationId}`);
  return route;
}

function pathOf(route: Route, { params = {}, query = {} }: Ask): string {
  const path = route.path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(params[name] ?? ""));
  const text = new URLSearchParams(query).toString();
  return text === "" ? path : `${path}?${text}`;
}

/** Returns the first lines of a text. */
const presentableText = (text: string): string =>
  text
    .split("\r\n")
    .slice(0, LIST_SHOWN + 1)
    .join("\r\n");

/** Returns a form as the document shows it: only the first line of a file. */
async function presentableForm(form: NonNullable<Ask["form"]>): Promise<Record<string, string>> {
  const parts = Object.entries(form).map(async ([name, value]) => {
    const text = typeof value === "string" ? value : ((await value.text()).split("\n")[0] ?? "");
    return [name, text] as const;
  });
  return Object.fromEntries(await Promise.all(parts));
}

/** The replacements of secrets. */
const SECRETS: Readonly<Record<string, (secret: string) => string>> = {
  private_key: () => NO_KEY,
  raw_key: (key) => `${key.slice(0, key.lastIndexOf("_") + 7)}…`,
  session_token: () => "ses_…",
};
/** The form of a mailed link's token, which tells it from the `token` of a payment intent. */
const LINK_TOKEN = /^[\w-]{43}$/;

/** Hides secrets and shortens lists. */
function presentable(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const hide = SECRETS[name];
      if (hide && typeof one === "string") return [name, hide(one)];
      if (name === "token" && LINK_TOKEN.test(String(one))) return [name, "the token of the mailed link"];
      if (name === "data" && Array.isArray(one)) return [name, one.slice(0, LIST_SHOWN)];
      return [name, name === "api_key" ? presentable(one) : one];
    }),
  );
}

/** Real jobs run in this time. */
const JOBS_WAIT_MS = 60_000;

/** Records a list as an example once it has the wanted entry. */
export async function showUntil(stage: Stage, listing: string, isThere: (entry: Json) => boolean): Promise<Json> {
  const until = Date.now() + JOBS_WAIT_MS;
  while (true) {
    const entry = pickValue<Json[]>(await stage.show(listing), "data").find(isThere);
    if (entry !== undefined) return entry;
    must(Date.now() < until, `${listing} shows nothing of what the jobs do`);
    await sleep(200);
  }
}
