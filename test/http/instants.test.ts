// An instant must be in years 0000 to 9999 after its conversion to UTC, so that the service can write and parse it again (HTTP-3).
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { toIso } from "../../src/core/clock.ts";
import { DAY_MS } from "../../src/core/limits.ts";
import { instantInput } from "../../src/http/schemas.ts";
import { runs } from "../support/scale.ts";
import { createWorld, type World } from "../support/world.ts";

const OUT_OF_RANGE = [
  "9999-12-31T23:59:59-23:59",
  "9999-12-31T23:59:59.999-00:01",
  "0000-01-01T00:00:00+00:01",
  "0000-01-01T00:00:00+23:59",
];

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("an instant", () => {
  it("is formatted with a four-digit year and parses to the same instant", () => {
    const two = (most: number) => fc.integer({ min: 0, max: most }).map((n) => String(n).padStart(2, "0"));
    const year = fc.oneof(fc.constantFrom(0, 1, 9998, 9999), fc.integer({ min: 0, max: 9999 }));
    const zone = fc.oneof(
      fc.constant("Z"),
      fc.tuple(fc.constantFrom("+", "-"), two(23), two(59)).map(([sign, hour, minute]) => `${sign}${hour}:${minute}`),
    );
    const parts = fc.tuple(year, fc.constantFrom("01-01", "12-31", "02-28"), two(23), two(59), two(59), zone);
    fc.assert(
      fc.property(parts, ([years, day, hour, minute, second, offset]) => {
        const text = `${String(years).padStart(4, "0")}-${day}T${hour}:${minute}:${second}${offset}`;
        const read = instantInput.safeParse(text);
        const written = toIso(Date.parse(text));
        expect(read.success).toBe(/^\d{4}-/.test(written));
        if (read.success) expect(instantInput.parse(written)).toBe(read.data);
      }),
      runs(),
    );
  });

  it.each(OUT_OF_RANGE)("%s is refused in a body and in a query", async (text) => {
    const attestation = { attestation_id: "att-1", verifier_id: "ver-1", model: "kyb" };
    const verification_attestation = { ...attestation, issued_at: toIso(Date.now() - DAY_MS), expires_at: text };
    const body = { legal_name: "Late GmbH", country: "DE", entity_type: "company", external_ref: "late-1" };
    const registered = await world.call("POST", "/v1/principals", { body: { ...body, verification_attestation } });
    const fault = { code: "invalid_value", message: "Must be an instant of the years 0000 to 9999 in UTC." };
    expect([registered.status, registered.body.field_errors]).toEqual([
      422,
      [expect.objectContaining({ field: "verification_attestation.expires_at", ...fault })],
    ]);
    const since = encodeURIComponent(text);
    const listed = await world.call("GET", `/v1/transactions?since=${since}`);
    expect([listed.status, listed.body.field_errors]).toEqual([
      422,
      [expect.objectContaining({ field: "since", ...fault })],
    ]);
    const events = await world.call("GET", `/v1/events?since=${since}`);
    expect([events.status, events.body.field_errors[0].field]).toEqual([422, "since"]);
  });
});
