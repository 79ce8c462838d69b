// A client's weight of a type is the weight of the most specific range that covers it (RFC 9110, 12.5.1).
import { describe, expect, it } from "vitest";
import { choosePreferred, parseAcceptWeights } from "../../src/http/accept.ts";

describe("the weight of a type", () => {
  it.each([
    [undefined, 1, 1],
    ["*/*", 1, 1],
    ["application/json", 1, 0],
    ["application/jwt", 0, 1],
    ["application/*;q=0.4", 0.4, 0.4],
    ["application/jwt;q=0.9, application/*;q=0.5, */*;q=0.1", 0.5, 0.9],
    ["*/*;q=0.8, application/jwt;q=0", 0.8, 0],
    ["APPLICATION/JWT", 0, 1],
    ["text/html", 0, 0],
  ])("under %s is %d for JSON and %d for a JWT", (accept, json, jwt) => {
    const weight = parseAcceptWeights(accept);
    expect([weight("application/json"), weight("application/jwt")]).toEqual([json, jwt]);
  });
});

describe("the preferred offer", () => {
  const LD = "application/ld+json";
  const offers = [
    { type: "application/a" },
    { type: LD, profile: "https://p.example" },
    { type: LD },
    { type: "text/b" },
  ];
  it.each([
    [undefined, 0],
    ["*/*", 0],
    ["text/*", 3],
    ["text/b, */*", 3],
    ["text/b;q=0.5, */*", 0],
    ["APPLICATION/LD+JSON", 2],
    ['application/ld+json; profile="https://p.example"', 1],
    ['application/ld+json; profile="https://q.example"', undefined],
    ["application/a;q=0, */*", 1],
    ["image/png", undefined],
  ])("under %s is the offer at index %s", (accept, place) => {
    expect(choosePreferred(accept, offers)).toEqual(place === undefined ? undefined : offers[place]);
  });
});
