// What a dispute's acts write into the log of the platform that makes them (DSP-1, DSP-7, DSP-8): one entry each, and none for an agent's own act.
import { beforeAll, expect, it } from "vitest";
import { facilitated, pairOf } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, createWorld, expectStatus, type Reply, type World } from "../support/world.ts";
import { act, type Disputed, filing, PATH, richProvider } from "./support.ts";

let world: World;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await richProvider(world);
});

const entriesOf = async (id: string): Promise<string[]> =>
  (
    await rows(
      "select action from activity_entries where platform_id = ? and subject_type = 'dispute' and subject_id = ? order by seq",
      ...[world.platformId, id],
    )
  ).map(({ action }) => action);

/** Filed by the platform, for its consumer. */
async function filed(): Promise<Disputed> {
  const bought = await facilitated(world, await pairOf(world, provider), "1.00");
  const body = filing(bought, { disputed_amount: "0.05" });
  const dispute = expectStatus(await world.call("POST", PATH, { body }), 201);
  return { ...bought, dispute, id: dispute.dispute_id };
}

const OFFER = { message: "Half.", offer_amount: "0.02" };
const ACTS = {
  respond: { by: "provider", body: OFFER, entry: "dispute.answered" },
  evidence: {
    by: "consumer",
    body: { description: "A note.", submitted_by: "consumer" },
    entry: "dispute.evidence_added",
  },
  accept: { by: "consumer", body: undefined, entry: "dispute.accepted" },
  concede: { by: "provider", body: undefined, entry: "dispute.conceded" },
  withdraw: { by: "consumer", body: undefined, entry: "dispute.withdrawn" },
  escalate: { by: "consumer", body: undefined, entry: "dispute.escalated" },
} as const;
type Verb = keyof typeof ACTS;
const byPlatform = ({ id }: Disputed, verb: Verb): Promise<Reply> => {
  const { body }: { readonly body: unknown } = ACTS[verb];
  return world.call("POST", `${PATH}/${id}/${verb}`, body === undefined ? {} : { body });
};

it.each(Object.keys(ACTS) as Verb[])(
  "%s is one entry where a platform does it, and none where its agent does",
  async (verb) => {
    const { by, body, entry } = ACTS[verb];
    const [own, agents] = [await filed(), await filed()];
    const before = ["dispute.filed"];
    if (verb === "accept" || verb === "escalate") {
      for (const one of [own, agents]) expect((await byPlatform(one, "respond")).status).toBe(200);
      before.push("dispute.answered");
    }
    expect((await byPlatform(own, verb)).status).toBeLessThan(300);
    expect(await entriesOf(own.id)).toEqual([...before, entry]);
    expect((await act(world, agents[by], agents.id, verb, body)).status).toBeLessThan(300);
    expect(await entriesOf(agents.id)).toEqual(before);
  },
);
