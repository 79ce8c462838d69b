// A facilitation and a rotation of either party's key at the same time, in each order (AGT-32, FAC-13): the payment is recorded once, or is refused
// for the key that has just ended and recorded under the next one.
import { beforeAll, describe, expect, it } from "vitest";
import { importPrivateKeyPem } from "../../src/protocol/ecdsa.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, createWorld, expectStatus, type Reply, type World } from "../support/world.ts";
import { asConsumer, asProvider, type Paid, paid, pairOf } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const rotate = async (agent: Agent): Promise<Agent> => {
  const rotated = await world.call("POST", `/v1/agents/${agent.did}/rotate-key`);
  const { private_key: pem, certificate } = expectStatus(rotated, 200);
  return { ...agent, certificate, pem, privateKey: await importPrivateKeyPem(pem) };
};
const versionOf = async ({ did }: Agent): Promise<number> =>
  (await rows("select version from agents where did = ?", did))[0]?.version;
/** The version of the provider's document that each record of the payment names. */
const recordedVersions = async ({ intent }: Paid): Promise<number[]> =>
  (await rows("select provider_aid_version as version from transactions where intent_id = ?", intent.intent_id)).map(
    ({ version }) => version,
  );

/** Runs `other` right before a trip of `act`. */
async function between<A, B>(trip: number, act: () => Promise<A>, other: () => Promise<B>): Promise<readonly [A, B]> {
  let done: { readonly value: B } | undefined;
  world.meter.beforeBatch(trip, async () => {
    done = { value: await other() };
  });
  const answer = await act();
  if (!done) throw new Error(`there was no trip ${trip}`);
  return [answer, done.value];
}

const FORMS = [
  ["its consumer", asConsumer],
  ["the provider", asProvider],
] as const;

describe("a facilitation", () => {
  it.each([1, 2])(
    "by the consumer is recorded under the provider's new version if the provider rotates before trip %i",
    async (trip) => {
      const purchase = await paid(world, await pairOf(world));
      const before = await versionOf(purchase.provider);
      const [reply] = await between(
        trip,
        () => asConsumer(world, purchase),
        () => rotate(purchase.provider),
      );
      expectStatus(reply, 200);
      expect(await recordedVersions(purchase)).toEqual([before + 1]);
    },
  );

  describe.each(FORMS)("by %s, whose key rotates", (_caller, facilitate) => {
    const callerOf = (purchase: Paid) => (facilitate === asConsumer ? purchase.consumer : purchase.provider);
    const under = (purchase: Paid, agent: Agent): Paid =>
      facilitate === asConsumer ? { ...purchase, consumer: agent } : { ...purchase, provider: agent };

    it.each([1, 2])("before its trip %i, is recorded once, because it began while the key was valid", async (trip) => {
      const purchase = await paid(world, await pairOf(world));
      const [reply, rotated] = await between(
        trip,
        () => facilitate(world, purchase),
        () => rotate(callerOf(purchase)),
      );
      const settled = expectStatus(reply, 200);
      expect(expectStatus(await facilitate(world, under(purchase, rotated)), 200)).toEqual(settled);
      expect(await recordedVersions(purchase)).toHaveLength(1);
    });

    it("before it begins, is refused, and then recorded under the new key", async () => {
      const purchase = await paid(world, await pairOf(world));
      const rotated = await rotate(callerOf(purchase));
      const reply = await facilitate(world, purchase);
      expect([reply.status, reply.body.code]).toEqual([401, "aeap_verification_failed"]);
      expect(await recordedVersions(purchase)).toEqual([]);
      expectStatus(await facilitate(world, under(purchase, rotated)), 200);
      expect(await recordedVersions(purchase)).toHaveLength(1);
    });
  });
});

describe("a rotation", () => {
  it.each([1, 2])(
    "of either key before trip %i of a facilitation leaves the payment recorded exactly once",
    async (trip) => {
      for (const side of ["provider", "consumer"] as const) {
        const purchase = await paid(world, await pairOf(world));
        const before = await versionOf(purchase.provider);
        let reply: Reply | undefined;
        await between(
          trip,
          () => rotate(purchase[side]),
          async () => {
            reply = await asConsumer(world, purchase);
          },
        );
        expect(reply?.status, reply?.text).toBe(200);
        expect(await recordedVersions(purchase)).toEqual([before]);
      }
    },
  );
});
