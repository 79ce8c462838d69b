// Operators register, read and change Verifiers (PRN-22), with every fault of a key set, the operators' log, and concurrent changes.
import { beforeAll, describe, expect, it } from "vitest";
import { encodeBase64Url } from "../../src/core/encoding.ts";
import { OFF_CURVE_JWK } from "../protocol/fixtures.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import {
  drawKey,
  faultsOf,
  operate,
  patchVerifier,
  registerVerifier,
  type VerifierPair,
  verifierBody,
} from "./support.ts";

const PATH = "/v1/operator/verifiers";
let world: World;
let p256: VerifierPair;
let ed25519: VerifierPair;
beforeAll(async () => {
  world = await createWorld();
  [p256, ed25519] = [await drawKey("ES256", "2027-a"), await drawKey("EdDSA", "2027-b")];
});

/** Encodings that are not keys of Ed25519. WebCrypto imports most of them. */
const encoded = (hex: string): string =>
  encodeBase64Url(Uint8Array.from(hex.match(/../g) ?? [], (two) => Number(`0x${two}`)));
const WEAK = (
  [
    ["the neutral point of Ed25519", `01${"00".repeat(31)}`],
    ["the neutral point with a sign", `01${"00".repeat(30)}80`],
    ["the point of order 2", `ec${"ff".repeat(30)}7f`],
    ["a point of order 4", "00".repeat(32)],
    ["the other point of order 4", `${"00".repeat(31)}80`],
    ["a point of order 8", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"],
    ["another point of order 8", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"],
    ["a point off the curve of Ed25519", `02${"00".repeat(31)}`],
    ["a coordinate that is not reduced", `ee${"ff".repeat(30)}7f`],
    ["a key outside the prime group", "16b981d0b88cdf3ab9fa87190822fe4905b475efda3aec7c34abfa92c19320f4"],
  ] as const
).map(([what, hex]) => [what, encoded(hex)] as const);

const read = (id: string) => operate(world, "GET", `${PATH}/${id}`);
const entriesOf = async (id: string): Promise<Json[]> => {
  const found = env.DB.prepare("select action, detail from operator_entries where subject_id = ? order by seq");
  return (await found.bind(id).all()).results.map(({ action, detail }: Json) => [action, JSON.parse(detail)]);
};

describe("a Verifier", () => {
  it("is registered enabled with the public members of its keys, and a reading equals the answer", async () => {
    const keys = [{ ...p256.jwk, use: "sig", alg: "ES256", x5t: "unknown", key_ops: ["verify"] }, ed25519.jwk];
    const body = verifierBody(keys, { jwks: { keys, cached_until: 5 } });
    const verifier = expectStatus(await operate(world, "POST", PATH, body), 201);
    const [{ kty, crv, x, y, kid }] = [p256.jwk];
    const kept = [{ kty, crv, kid, x, y, use: "sig", alg: "ES256" }, ed25519.jwk];
    expect(verifier).toEqual({
      verifier_id: expect.stringMatching(/^ver_[0-9A-HJKMNP-TV-Z]{26}$/),
      name: "Acme Verification",
      jwks: { keys: kept },
      status: "enabled",
      created_at: expect.any(String),
      updated_at: verifier.created_at,
    });
    expect(expectStatus(await read(verifier.verifier_id), 200)).toEqual(verifier);
    expect(await entriesOf(verifier.verifier_id)).toEqual([
      ["verifier.registered", { name: "Acme Verification", jwks: { keys: kept }, status: "enabled" }],
    ]);
  });

  it("may be registered disabled", async () => {
    expect(await registerVerifier(world, [p256.jwk], { status: "disabled" })).toMatchObject({ status: "disabled" });
  });

  it("is registered once under an Idempotency-Key", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const first = await operate(world, "POST", PATH, verifierBody([p256.jwk]), headers);
    const again = await operate(world, "POST", PATH, verifierBody([p256.jwk]), headers);
    expect([first.status, again.status, again.headers.get("idempotent-replayed")]).toEqual([201, 201, "true"]);
    expect(again.body).toEqual(first.body);
    expect(await entriesOf(first.body.verifier_id)).toHaveLength(1);
  });

  it("is listed with the others, newest first, page by page", async () => {
    const made: string[] = [];
    for (let n = 0; n < 3; n++) made.unshift((await registerVerifier(world, [p256.jwk])).verifier_id);
    const first = expectStatus(await operate(world, "GET", `${PATH}?limit=2`), 200);
    expect([first.data.map(({ verifier_id }: Json) => verifier_id), first.has_more]).toEqual([made.slice(0, 2), true]);
    const next = expectStatus(await operate(world, "GET", `${PATH}?limit=2&cursor=${first.next_cursor}`), 200);
    expect(next.data[0].verifier_id).toBe(made[2]);
  });

  it("gets another name, other keys and another status, one by one, and the log has the old and the new values", async () => {
    const { verifier_id, jwks } = await registerVerifier(world, [p256.jwk]);
    const others = { keys: [ed25519.jwk] };
    expect(expectStatus(await patchVerifier(world, verifier_id, { name: "Acme" }), 200)).toMatchObject({
      name: "Acme",
      jwks,
    });
    expect(expectStatus(await patchVerifier(world, verifier_id, { jwks: others }), 200)).toMatchObject({
      jwks: others,
    });
    const last = expectStatus(await patchVerifier(world, verifier_id, { status: "disabled", name: "Acme" }), 200);
    expect(last).toMatchObject({ name: "Acme", jwks: others, status: "disabled" });
    expect((await entriesOf(verifier_id)).slice(1)).toEqual([
      ["verifier.updated", { name: { from: "Acme Verification", to: "Acme" } }],
      ["verifier.updated", { jwks: { from: jwks, to: others } }],
      ["verifier.updated", { status: { from: "enabled", to: "disabled" } }],
    ]);
    expect(expectStatus(await read(verifier_id), 200)).toEqual(last);
  });

  it("is changed by each of ten calls at the same time", async () => {
    const { verifier_id } = await registerVerifier(world, [p256.jwk]);
    const names = Array.from({ length: 10 }, (_, n) => `Acme ${n}`);
    const replies = await Promise.all(names.map((name) => patchVerifier(world, verifier_id, { name })));
    const done = replies.map((reply) => expectStatus(reply, 200));
    expect(new Set(done.map(({ updated_at }) => updated_at)).size).toBe(done.length);
    expect(await entriesOf(verifier_id)).toHaveLength(1 + done.length);
  });

  it("takes two trips to change", async () => {
    const { verifier_id } = await registerVerifier(world, [p256.jwk]);
    world.meter.reset();
    expectStatus(await patchVerifier(world, verifier_id, { status: "disabled" }), 200);
    expect(world.meter.reading.trips).toBe(2);
  });
});

describe("a body with faults registers nothing", () => {
  const { x: offX, y: offY } = OFF_CURVE_JWK;
  const table: readonly [string, () => unknown, unknown][] = [
    [
      "nothing",
      () => ({}),
      [
        ["jwks", "required"],
        ["name", "required"],
      ],
    ],
    ["a name of spaces", () => verifierBody([p256.jwk], { name: "  " }), [["name", "too_short"]]],
    ["another status", () => verifierBody([p256.jwk], { status: "gone" }), [["status", "invalid_value"]]],
    [
      "an address of keys",
      () => verifierBody([p256.jwk], { jwks_uri: "https://a.example" }),
      [["jwks_uri", "unknown_field"]],
    ],
    ["no key", () => verifierBody([]), [["jwks.keys", "too_short"]]],
    [
      "eleven keys",
      () => verifierBody(Array.from({ length: 11 }, (_, n) => ({ ...p256.jwk, kid: `k${n}` }))),
      [["jwks.keys", "too_long"]],
    ],
    ["a private key", () => verifierBody([{ ...p256.jwk, d: "AAAA" }]), [["jwks.keys.0.d", "invalid_field"]]],
    ["a symmetric part", () => verifierBody([{ ...p256.jwk, k: "AAAA" }]), [["jwks.keys.0.k", "invalid_field"]]],
    ["two keys of one name", () => verifierBody([p256.jwk, p256.jwk]), [["jwks.keys.1.kid", "invalid_value"]]],
    ["a key without a name", () => verifierBody([{ ...p256.jwk, kid: undefined }]), [["jwks.keys.0.kid", "required"]]],
    ["a name with a space", () => verifierBody([{ ...p256.jwk, kid: "a b" }]), [["jwks.keys.0.kid", "invalid_format"]]],
    [
      "an RSA key",
      () => verifierBody([{ kty: "RSA", kid: "r", n: "AQAB", e: "AQAB" }]),
      [["jwks.keys.0.kty", "invalid_value"]],
    ],
    [
      "a secret",
      () => verifierBody([{ kty: "oct", kid: "s", k: "AQAB" }]),
      [
        ["jwks.keys.0.k", "invalid_field"],
        ["jwks.keys.0.kty", "invalid_value"],
      ],
    ],
    ["a key on P-384", () => verifierBody([{ ...p256.jwk, crv: "P-384" }]), [["jwks.keys.0.crv", "invalid_value"]]],
    [
      "a key on X25519",
      () => verifierBody([{ ...ed25519.jwk, crv: "X25519" }]),
      [["jwks.keys.0.crv", "invalid_value"]],
    ],
    [
      "a key of another algorithm",
      () => verifierBody([{ ...p256.jwk, alg: "ES384" }]),
      [["jwks.keys.0.alg", "invalid_value"]],
    ],
    [
      "a key for encryption",
      () => verifierBody([{ ...ed25519.jwk, use: "enc" }]),
      [["jwks.keys.0.use", "invalid_value"]],
    ],
    [
      "a point off the curve",
      () => verifierBody([{ ...p256.jwk, x: offX, y: offY }]),
      [["jwks.keys.0.x", "invalid_value"]],
    ],
    ...WEAK.map(([what, x]): [string, () => unknown, unknown] => [
      what,
      () => verifierBody([{ ...ed25519.jwk, x }]),
      [["jwks.keys.0.x", "invalid_value"]],
    ]),
    ["a short coordinate", () => verifierBody([{ ...p256.jwk, y: "AAAA" }]), [["jwks.keys.0.y", "invalid_format"]]],
    [
      "a padded coordinate",
      () => verifierBody([{ ...ed25519.jwk, x: `${ed25519.jwk.x}=` }]),
      [["jwks.keys.0.x", "invalid_format"]],
    ],
    ["a set that is a list", () => ({ name: "Acme", jwks: [p256.jwk] }), [["jwks", "invalid_type"]]],
    [
      "several at once",
      () =>
        verifierBody([{ ...p256.jwk, d: "AAAA" }, p256.jwk, { ...ed25519.jwk, crv: "Ed448" }], {
          name: 7,
          status: "gone",
        }),
      [
        ["jwks.keys.0.d", "invalid_field"],
        ["jwks.keys.1.kid", "invalid_value"],
        ["jwks.keys.2.crv", "invalid_value"],
        ["name", "invalid_type"],
        ["status", "invalid_value"],
      ],
    ],
  ];
  it.each(table)("%s", async (_name, body, faults) => {
    const before = await dumpDatabase();
    expect(faultsOf(await operate(world, "POST", PATH, body()))).toEqual([422, "validation_failed", faults]);
    expect(await dumpDatabase()).toEqual(before);
  });
});

describe("a change is refused", () => {
  it("with faults, with no changes, and with the present values", async () => {
    const { verifier_id, jwks, name, status } = await registerVerifier(world, [p256.jwk]);
    const before = await dumpDatabase();
    const faulty = { jwks: { keys: [{ ...p256.jwk, d: "AAAA" }] }, colour: "red" };
    expect(faultsOf(await patchVerifier(world, verifier_id, faulty))).toEqual([
      422,
      "validation_failed",
      [
        ["colour", "unknown_field"],
        ["jwks.keys.0.d", "invalid_field"],
      ],
    ]);
    for (const [, x] of WEAK) {
      const weak = { jwks: { keys: [p256.jwk, { ...ed25519.jwk, x }] } };
      expect(faultsOf(await patchVerifier(world, verifier_id, weak))).toEqual([
        422,
        "validation_failed",
        [["jwks.keys.1.x", "invalid_value"]],
      ]);
    }
    for (const same of [{}, { name, jwks, status }]) {
      expect((await patchVerifier(world, verifier_id, same)).body.code).toBe("no_changes_requested");
    }
    expect(await dumpDatabase()).toEqual(before);
  });

  it("by a caller that is not an operator", async () => {
    for (const key of [world.key, world.liveKey, null]) {
      expect((await world.call("POST", PATH, { key, body: verifierBody([p256.jwk]) })).body.code).toBe(
        "invalid_credentials",
      );
    }
  });
});
