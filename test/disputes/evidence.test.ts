// The evidence and the answers of the parties (DSP-8): their form, their number, and who hands them in.
import { beforeAll, describe, expect, it } from "vitest";
import type { Side } from "../../src/core/vocabulary.ts";
import { rows } from "../promotion/support.ts";
import { isWhole } from "../support/scale.ts";
import { createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { act, type Disputed, disputed, eventsAbout, PATH, read } from "./support.ts";

let world: World;
let one: Awaited<ReturnType<typeof disputed>>;
beforeAll(async () => {
  world = await createWorld();
  one = await disputed(world);
});

const DIGEST = "ab".repeat(32);
const piece = (more: Record<string, unknown> = {}) => ({ description: "The delivery note.", ...more });
const hand = (id: string, more: Record<string, unknown> = {}): Promise<Reply> =>
  act(world, one.consumer, id, "evidence", piece(more));
const faultsOf = ({ status, body }: Reply) => [status, body.field_errors.map(({ field, code }: Json) => [field, code])];

describe("evidence", () => {
  it.each<[string, unknown, string]>([
    ["sha256", "ab".repeat(31), "invalid_format"],
    ["sha256", "ab".repeat(33), "invalid_format"],
    ["sha256", "zz".repeat(32), "invalid_format"],
    ["sha256", `0x${DIGEST}`, "invalid_format"],
    ["sha256", ` ${DIGEST}`, "invalid_format"],
    ["sha256", `${DIGEST}\n`, "invalid_format"],
    ["sha256", "", "invalid_format"],
    ["sha256", 5, "invalid_type"],
    ["uri", "ftp://files.example/note", "invalid_format"],
    ["uri", "javascript:alert(1)", "invalid_format"],
    ["uri", "data:text/plain,note", "invalid_format"],
    ["uri", "files.example/note", "invalid_format"],
    ["uri", "https://me:secret@files.example/note", "invalid_format"],
    ["uri", "https://files.example/a note", "invalid_format"],
    ["uri", "", "invalid_format"],
    ["uri", `https://files.example/${"n".repeat(2_048)}`, "too_long"],
    ["uri", ["https://files.example/note"], "invalid_type"],
    ["media_type", "png", "invalid_format"],
    ["media_type", "image/", "invalid_format"],
    ["media_type", "/png", "invalid_format"],
    ["media_type", "image/png; q=1", "invalid_format"],
    ["media_type", "image/png\r\nX: y", "invalid_format"],
    ["media_type", "image/*", "invalid_format"],
    ["media_type", `image/${"p".repeat(122)}`, "too_long"],
    ["media_type", true, "invalid_type"],
    ["description", undefined, "required"],
    ["description", " ", "too_short"],
    ["description", "x".repeat(2_001), "too_long"],
    ["submitted_by", "arbiter", "invalid_value"],
    ["content", "bytes", "unknown_field"],
  ])("with %s %j is a fault of that field", async (field, value, code) => {
    expect(faultsOf(await hand(one.id, { [field]: value }))).toEqual([422, [[field, code]]]);
  });

  it("reports all its faults at once, and is not kept", async () => {
    const reply = await hand(one.id, { sha256: "x", uri: "x", media_type: "x" });
    expect(faultsOf(reply)).toEqual([
      422,
      [
        ["uri", "invalid_format"],
        ["sha256", "invalid_format"],
        ["media_type", "invalid_format"],
      ],
    ]);
    expect((await read(world, one.consumer, one.id)).evidence).toEqual([]);
  });

  it("may fill its fields, and null counts as absent", async () => {
    const { id } = await disputed(world, { pair: await fresh() });
    const most = {
      description: "x".repeat(2_000),
      sha256: DIGEST.toUpperCase(),
      uri: "http://files.example/note?v=1#page",
      media_type: `application/${"p".repeat(115)}`,
    };
    expect(expectStatus(await hand(id, most), 201)).toMatchObject({ ...most, number: 1, sha256: DIGEST });
    expect(expectStatus(await hand(id, { sha256: DIGEST }), 201)).toMatchObject({ number: 2, sha256: DIGEST });
    const least = { sha256: null, uri: null, media_type: null };
    expect(expectStatus(await hand(id, least), 201)).toMatchObject({ ...least, number: 3, submitted_by: "consumer" });
  });
});

/** A provider of its own, because a CONSTRAINED provider stops selling, and the consumer whose key signs. */
const fresh = async () => ({ consumer: one.consumer, provider: await world.provider() });

describe("the limits of a dispute", () => {
  const FIFTY = Array.from({ length: 50 }, (_, n) => n + 1);

  /** Hands in pieces of one side: through the API in a whole run, else as rows. Returns the number of calls. */
  async function handIn(one: Disputed, side: Side, from: number, to: number): Promise<number> {
    if (isWhole()) {
      for (let number = from; number <= to; number++)
        expect(expectStatus(await act(world, one[side], one.id, "evidence", piece()), 201).number).toBe(number);
      return to - from + 1;
    }
    const put = env.DB.prepare(
      `insert into dispute_evidence (dispute_id, number, submitted_by, description, submitted_at)
        values (?, ?, ?, 'The delivery note.', ?)`,
    );
    const numbers = Array.from({ length: to - from + 1 }, (_, n) => from + n);
    await env.DB.batch(numbers.map((number) => put.bind(one.id, number, side, Date.now())));
    await rows(
      `update disputes set evidence = evidence + ?1, consumer_evidence = consumer_evidence + ?1 * ?2 where dispute_id = ?3`,
      ...[numbers.length, side === "consumer" ? 1 : 0, one.id],
    );
    return 0;
  }

  const refusedAs = ({ status, body }: Reply) => [status, body.code, body.message];
  const FULL = [409, "invalid_status", "A side can submit at most 50 pieces of evidence."];

  it.each(["consumer", "provider"] as const)(
    "allow fifty pieces of evidence of the %s, which use up no place of the other side",
    async (side) => {
      const one = await disputed(world, { pair: await fresh() });
      const { id, consumer } = one;
      const [own, other] = side === "consumer" ? [consumer, one.provider] : [one.provider, consumer];
      const byKey = (submitted_by: string) =>
        world.call("POST", `${PATH}/${id}/evidence`, { body: { ...piece(), submitted_by } });
      // Evidence that the platform hands in for a side counts for that side.
      expectStatus(await byKey(side), 201);
      const before49 = await handIn(one, side, 2, 49);
      expect(expectStatus(await act(world, own, id, "evidence", piece()), 201).number).toBe(50);
      const before = await rows("select * from disputes where dispute_id = ?", id);
      for (const reply of [await act(world, own, id, "evidence", piece()), await byKey(side)])
        expect(refusedAs(reply)).toEqual(FULL);
      expect(await rows("select * from disputes where dispute_id = ?", id)).toEqual(before);
      const others = side === "consumer" ? "provider" : "consumer";
      expectStatus(await byKey(others), 201);
      const before99 = await handIn(one, others, 52, 99);
      expect(expectStatus(await act(world, other, id, "evidence", piece()), 201).number).toBe(100);
      for (const reply of [
        await act(world, own, id, "evidence", piece()),
        await act(world, other, id, "evidence", piece()),
      ])
        expect(refusedAs(reply)).toEqual(FULL);
      const { evidence } = await read(world, consumer, id);
      expect(evidence.map(({ submitted_by, number }: Json) => [number, submitted_by])).toEqual([
        ...FIFTY.map((number) => [number, side]),
        ...FIFTY.map((number) => [50 + number, others]),
      ]);
      expect((await eventsAbout(id)).length).toBe(1 + 4 + before49 + before99);
      // The full evidence blocks no other act.
      expectStatus(await act(world, one.provider, id, "respond", { message: "It was delivered." }), 200);
    },
  );

  it("allow no lower offer than before, so that the consumer gets at least the offer that it accepts", async () => {
    const { id, provider, consumer } = await disputed(world, { pair: await fresh() });
    const offer = (offer_amount: string) => act(world, provider, id, "respond", { message: "An offer.", offer_amount });
    expectStatus(await offer("5"), 200);
    const lower = await offer("4.999999");
    expect([lower.status, lower.body.field_errors]).toEqual([
      422,
      [{ field: "offer_amount", code: "too_small", message: "Must be at least the previous offer." }],
    ]);
    expectStatus(await offer("5"), 200);
    expectStatus(await act(world, provider, id, "respond", { message: "Nothing new." }), 200);
    expect(expectStatus(await act(world, consumer, id, "accept"), 200).refund_amount).toBe("5.00");
  });

  /** Stores answers as rows. */
  async function place(id: string, numbers: readonly number[]): Promise<void> {
    const put = env.DB.prepare(
      "insert into dispute_messages (dispute_id, number, message, offer, sent_at) values (?, ?, ?, ?, ?)",
    );
    await env.DB.batch(numbers.map((n) => put.bind(id, n, `Answer ${n}.`, 100_000 * n, Date.now())));
    await rows("update disputes set messages = ?, offer = ? where dispute_id = ?", numbers.at(-1), 4_900_000, id);
  }

  it("allow fifty answers, and the fifty-first changes neither the offer nor anything else", async () => {
    const { id, provider, consumer } = await disputed(world, { pair: await fresh() });
    const answer = async (number: number) => {
      const body = { message: `Answer ${number}.`, offer_amount: String(number / 10) };
      expectStatus(await act(world, provider, id, "respond", body), 200);
    };
    await answer(1);
    if (isWhole()) for (const number of FIFTY.slice(1, -1)) await answer(number);
    else await place(id, FIFTY.slice(1, -1));
    await answer(50);
    const reply = await act(world, provider, id, "respond", { message: "All of it.", offer_amount: "10" });
    expect([reply.status, reply.body.code, reply.body.message]).toEqual([
      409,
      "invalid_status",
      "A dispute can have at most 50 answers.",
    ]);
    const { messages, offer_amount } = await read(world, consumer, id);
    expect(messages.map(({ message }: Json) => message)).toEqual(FIFTY.map((number) => `Answer ${number}.`));
    expect(offer_amount).toBe("5.00");
    const settled = expectStatus(await act(world, consumer, id, "accept"), 200);
    expect(settled.refund_amount).toBe("5.00");
  });

  it("number pieces of evidence that come at once, and refuse just the one that is too many", async () => {
    const one = await disputed(world, { pair: await fresh() });
    const { id, provider, consumer } = one;
    expectStatus(await act(world, consumer, id, "evidence", piece()), 201);
    await handIn(one, "consumer", 2, 41);
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => act(world, n % 2 ? consumer : provider, id, "evidence", piece())),
    );
    const codes = replies.map(({ status, body }) => (status === 201 ? "taken" : body.code)).sort();
    expect(codes).toEqual(["invalid_status", ...Array(19).fill("taken")]);
    const { evidence } = await read(world, consumer, id);
    expect(evidence.map(({ number }: Json) => number)).toEqual(Array.from({ length: 60 }, (_, n) => n + 1));
  });
});
