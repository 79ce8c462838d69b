// No call reveals whether an address has an account (ACC-10, CRED-21, CRED-22): every public question about an address gets the same answer for
// every address, to the last header. Only the mailbox shows a difference.
import { beforeAll, describe, expect, it } from "vitest";
import { MINUTE_MS } from "../../src/core/limits.ts";
import { createWorld, expectStatus, type Reply, type World } from "../support/world.ts";
import { operate } from "./review-support.ts";
import { freshAddress, freshClient, logIn, PASSWORD, post, postAs, readAccount, register, signUp } from "./support.ts";

let world: World;

type Kind = "unknown" | "waiting" | "verified" | "suspended" | "closed";
/** The history of an address of each kind. */
const MAKE: Readonly<Record<Kind, () => Promise<string>>> = {
  unknown: async () => freshAddress(),
  waiting: async () => (await register(world)).email,
  verified: async () => (await signUp(world)).email,
  suspended: async () => {
    const { email, platformId } = await signUp(world);
    const reason = "Chargebacks.";
    expectStatus(await operate(world, "POST", `/v1/operator/platforms/${platformId}/suspend`, { reason }), 200);
    return email;
  },
  closed: async () => {
    const { email, key } = await signUp(world);
    expect((await readAccount(world, key)).legal_name).toBeNull();
    const body = { confirmation: email, current_password: PASSWORD };
    expectStatus(await postAs(world, await logIn(world, email), "/v1/platform/close", body), 200);
    return email;
  },
};
const KINDS = Object.keys(MAKE) as Kind[];
const addresses = new Map<Kind, string>();

beforeAll(async () => {
  world = await createWorld();
  for (const kind of KINDS) addresses.set(kind, await MAKE[kind]());
  // The link of the sign-up rests for a minute before another is mailed.
  world.advance(MINUTE_MS + 1_000);
});

/** All that a stranger sees, without the members that differ between any two requests. */
function seen({ status, body, headers }: Reply): unknown {
  const { request_id: _id, ...rest } = body;
  return { status, body: rest, headers: [...headers].filter(([name]) => !/^(request-id|ratelimit)$/.test(name)) };
}

const QUESTIONS: [string, number, (email: string) => object, Kind[]][] = [
  ["/v1/platform/verify-email/resend", 202, (email) => ({ email }), ["waiting"]],
  ["/v1/platform/password/forgot", 202, (email) => ({ email }), ["waiting", "verified", "suspended"]],
  ["/v1/platform/sessions", 401, (email) => ({ email, password: "wrong horse battery staple" }), []],
];

describe("an address that is unknown, waiting, verified, suspended or closed", () => {
  it.each(QUESTIONS)(
    "gets the same answer from POST %s (%i), and a mail if one is due",
    async (path, status, ask, due) => {
      const mailed = world.mails.length;
      const replies: Reply[] = [];
      for (const kind of KINDS) {
        replies.push(await post(world, path, ask(addresses.get(kind) ?? ""), freshClient()));
      }
      const [unknown, ...others] = replies.map(seen);
      expect(unknown).toMatchObject({ status });
      expect(others).toEqual(KINDS.slice(1).map(() => unknown));
      expect(world.mails.slice(mailed).map(({ to }) => to)).toEqual(due.map((kind) => addresses.get(kind)));
    },
  );
});
