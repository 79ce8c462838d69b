// A certificate is reissued for the same key, and the old one stays valid until it ends (AGT-23, IDN-7).
import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { createWorld, expectStatus, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const reissue = (did: string) => world.call("POST", `/v1/agents/${did}/certificate`);

describe("reissuing a certificate", () => {
  it("keeps the key, makes a new version of the document, and both certificates are valid", async () => {
    const agent = await world.consumer();
    const before = expectStatus(await world.call("GET", `/v1/agents/${agent.did}/aid`, { key: null }), 200);
    const renewed = expectStatus(await reissue(agent.did), 200);
    expect(renewed.certificate).not.toBe(agent.certificate);
    const jwks = createLocalJWKSet((await world.call("GET", "/.well-known/aeap-ca-jwks", { key: null })).body);
    const { payload } = await jwtVerify(renewed.certificate, jwks, { typ: "aeap-cert+jwt" });
    expect(payload["cnf"]).toEqual(decodeJwt(agent.certificate)["cnf"]);
    const after = expectStatus(await world.call("GET", `/v1/agents/${agent.did}/aid`, { key: null }), 200);
    expect(after.version).toBe(before.version + 1);
    expect(after.identity.certificate).toBe(renewed.certificate);
    for (const certificate of [agent.certificate, renewed.certificate]) {
      const reply = await world.as({ ...agent, certificate }, "GET", "/v1/payment-intents/pin_none");
      expect(reply.body.code).toBe("not_found");
    }
  });

  it("is refused to a DRAFT, which has no key", async () => {
    const { did } = await world.draft("CONSUMER");
    expect((await reissue(did)).body).toMatchObject({ code: "invalid_status", detail: { status: "DRAFT" } });
  });

  it("is refused to a terminated agent", async () => {
    const { did } = await world.consumer();
    expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "TERMINATED" } }), 200);
    expect((await reissue(did)).body.code).toBe("invalid_status");
  });

  it("is refused after the principal's attestation has expired", async () => {
    const other = await createWorld();
    const { did } = await other.consumer();
    other.advance(366 * 86_400_000);
    const reply = await other.call("POST", `/v1/agents/${did}/certificate`);
    expect(reply.body).toMatchObject({ code: "invalid_status", detail: { principal_status: "ATTESTATION_EXPIRED" } });
  });

  it("does not happen with a scope change after the attestation's end, because the certificate would have ended already", async () => {
    const other = await createWorld();
    const agent = await other.consumer();
    other.advance(366 * 86_400_000);
    expectStatus(
      await other.call("PATCH", `/v1/agents/${agent.did}/scope`, { body: { capabilities: ["legal"] } }),
      200,
    );
    const aid = expectStatus(await other.call("GET", `/v1/agents/${agent.did}/aid`, { key: null }), 200);
    expect(aid.identity.certificate).toBe(agent.certificate);
    expect(aid.identity.scope.capabilities).toEqual(["legal"]);
  });

  it("uses real time, whatever the sandbox clock says, so that the certificate verifies offline at once", async () => {
    const ahead = await createWorld();
    ahead.advance(10 * 86_400_000);
    const agent = await ahead.consumer();
    expect(decodeJwt(agent.certificate).nbf).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000));
    expect((await ahead.as(agent, "GET", "/v1/payment-intents/pin_none")).body.code).toBe("not_found");
  });
});
