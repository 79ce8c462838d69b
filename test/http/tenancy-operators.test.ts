// The operator's and the Verifiers' routes, called with unknown ids and with an object of another account: they answer 404 whatever else the request
// says, and write nothing (HTTP-18, HTTP-19).
import { beforeAll, describe, expect, it } from "vitest";
import type { Route } from "../../src/http/route.ts";
import { raiseAlert } from "../../src/journal/alerts.ts";
import { credential } from "../cascades/revocation-support.ts";
import { must, operator, store } from "../consequences/plays/stage.ts";
import type { Json } from "../support/world.ts";
import { attestationBy, drawKey, registerVerifier, type VerifierPair } from "../verifiers/support.ts";
import { newDispute, type Platform, type Side } from "./tenancy-makers.ts";
import { namedIn, OF_OPERATORS, takes } from "./tenancy-names.ts";
import {
  ask,
  byOperator,
  type Caller,
  type Form,
  formsOf,
  type Ids,
  newDocument,
  nowhere,
  openPlatform,
  pathOf,
  watchRows,
} from "./tenancy-support.ts";

let side: Side;
let other: Platform;
beforeAll(async () => {
  ({ sandbox: side } = await openPlatform());
  other = await openPlatform();
});

// ---- Objects ---------------------------------------------------------------------------------------------------------------

async function newAlert({ world }: Side): Promise<string> {
  const subject = crypto.randomUUID();
  await store(world, (db) => raiseAlert(db, { kind: "low_gas", subject, message: "Low." }));
  const { data } = await must(200, world.call("GET", "/v1/operator/alerts?limit=100", operator()));
  return data.find((alert: Json) => alert.subject === subject).alert_id;
}

async function attested(of: Side, verifierId: string): Promise<Json> {
  const attestation = attestationBy(verifierId);
  await of.world.principal({ verification_attestation: attestation });
  return attestation;
}

const OBJECTS: Readonly<Record<string, (of: Side) => Promise<string>>> = {
  platform_id: async ({ world }) => world.platformId,
  document_id: newDocument,
  verifier_id: async ({ world }) => (await registerVerifier(world, [(await drawKey()).jwk])).verifier_id,
  alert_id: newAlert,
  dispute_id: newDispute,
  attestation_id: async (of) => (await attested(of, "acme-verification")).attestation_id,
};

async function idsIn(route: Route, of: Side): Promise<Ids> {
  const ids: Record<string, string> = {};
  for (const member of namedIn(route, "path")) {
    const object = OBJECTS[member];
    if (!object) throw new Error(`nobody makes a ${member}`);
    ids[member] = await object(of);
  }
  return ids;
}

/** Refusals because of the object's state, although the object is known. */
const REFUSED: Readonly<Record<string, number>> = {
  decideVerification: 409,
  repeatPayout: 409,
  resolveDispute: 409,
  removePlatformTotp: 409,
};

/** Routes whose path names an object only together with the body: with another body there is no object to find. */
const NAMED_BY_BODY: Readonly<Record<string, string>> = {
  revokeAttestation:
    "an attestation is known by its Verifier and its id, and an operator names the Verifier in the body",
};
const operatorForms = (route: Route): readonly Form[] => {
  const [good, ...others] = formsOf(route, side);
  return [good, ...others.filter(([, , { body }]) => !(route.operationId in NAMED_BY_BODY) || body === good[2].body)];
};

async function findings(
  caller: Caller,
  route: Route,
  path: string,
  forms: readonly Form[] = operatorForms(route),
): Promise<string> {
  const found: string[] = [];
  const isUnchanged = await watchRows(side);
  for (const form of forms) {
    const { status, body } = await ask(caller, route, path, form);
    if (status !== 404 || body.code !== "not_found") found.push(`${form[0]}: ${status} ${body?.code}`);
    if (!(await isUnchanged())) found.push(`${form[0]}: something was written`);
  }
  return found.join("\n");
}

describe("an operator's call with an unknown id", () => {
  it.each(
    OF_OPERATORS.flatMap((route) =>
      namedIn(route, "path").map((member) => [route.operationId, member, route] as const),
    ),
  )("%s: %s", async (id, member, route) => {
    const caller = byOperator(side);
    const ids = await idsIn(route, side);
    expect(await findings(caller, route, pathOf(route, side, { ...ids, [member]: nowhere(member) }))).toBe("");
    const [good] = formsOf(route, side);
    const known = await ask(caller, route, pathOf(route, side, ids), good);
    expect(known.status, known.text).toBe(REFUSED[id] ?? route.status);
  });

  it.each(
    OF_OPERATORS.filter((route) => namedIn(route, "path").length > 1).map(
      (route) => [route.operationId, route] as const,
    ),
  )("%s: with another account's object", async (_id, route) => {
    const [platform = "", member = ""] = namedIn(route, "path");
    const [ids, foreign] = [await idsIn(route, side), await idsIn(route, other.sandbox)];
    for (const mixed of [
      { ...ids, [member]: foreign[member] ?? "" },
      { ...ids, [platform]: foreign[platform] ?? "" },
    ]) {
      expect(await findings(byOperator(side), route, pathOf(route, side, mixed))).toBe("");
    }
  });
});

// ---- Verifiers -------------------------------------------------------------------------------------------------------------

const ofVerifiers = OF_OPERATORS.filter((route) => takes(route, "verifier"));

describe("a Verifier's call", () => {
  let pair: VerifierPair;
  let verifierId: string;
  beforeAll(async () => {
    pair = await drawKey();
    ({ verifier_id: verifierId } = await registerVerifier(side.world, [pair.jwk]));
  });

  const byVerifier = (attestation: Json): Caller => ({
    name: "a Verifier",
    ask: async (method, path, options) => {
      const headers = {
        Authorization: `Bearer ${await credential(pair, { ...attestation, verifier_id: verifierId })}`,
      };
      return side.world.call(method, path, { ...options, key: null, headers });
    },
  });

  it.each(ofVerifiers.map((route) => [route.operationId, route] as const))(
    "%s: with another Verifier's attestation, and with an unrecorded attestation",
    async (_id, route) => {
      for (const attestation_id of [
        (await attested(side, side.verifierId)).attestation_id,
        nowhere("attestation_id"),
      ]) {
        const path = pathOf(route, side, { attestation_id });
        const [, ...forms] = formsOf(route, side);
        const good: Form = ["without a body, which may be left out", "", {}];
        expect(await findings(byVerifier({ attestation_id }), route, path, [good, ...forms])).toBe("");
      }
      const own = await attested(side, verifierId);
      const path = pathOf(route, side, { attestation_id: own.attestation_id });
      expect((await ask(byVerifier(own), route, path, ["", "", {}])).status).toBe(route.status);
    },
  );
});
