// The alert `arbitration_waiting` (JOB-9, DSP-7) is raised in the batch that moves a dispute to the arbiter, for whatever reason it moves.
import { beforeAll, describe, expect, it } from "vitest";
import { endDisputeDays } from "../../src/disputes/deadlines.ts";
import { pairOf } from "../facilitation/support.ts";
import { livePair } from "../follower/support.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { at } from "./instants.ts";
import { act, arbitrated, byOperator, type Disputed, disputed, overdue, resolve } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const ALERTS = "/v1/operator/alerts";
const inSandbox = ({ platformId }: World): string => `the sandbox of ${platformId}`;
const inProduction = ({ id }: Disputed): string => `${id} in production`;
const waiting = async (subject: string): Promise<Json[]> =>
  expectStatus(await byOperator(world, "GET", `${ALERTS}?limit=100`), 200).data.filter(
    (alert: Json) => alert.kind === "arbitration_waiting" && alert.subject === subject,
  );
const messageOf = ({ id }: Disputed): string =>
  `A dispute waits for its arbiter: POST /v1/operator/disputes/${id}/resolve decides it.`;

describe("in production", () => {
  it("each dispute raises one alert, which stands from its escalation until it is acknowledged", async () => {
    const pair = await livePair(world, world);
    const one = await disputed(world, { pair });
    expect(await waiting(inProduction(one))).toEqual([]);
    await arbitrated(world, one);
    const [alert, ...others] = await waiting(inProduction(one));
    expect(others).toEqual([]);
    expect(alert).toMatchObject({ seen: 1, message: messageOf(one), acknowledged_at: null });
    expectStatus(await resolve(world, one.id, { resolution: "rejected" }), 200);
    expect(await waiting(inProduction(one))).toEqual([alert]);
    expectStatus(await byOperator(world, "POST", `${ALERTS}/${alert?.alert_id}/acknowledge`), 200);
    expect(await waiting(inProduction(one))).toEqual([]);
  });
});

describe("in a sandbox", () => {
  it("one alert stands for all disputes of a platform, and names the latest", async () => {
    const own = await createWorld();
    const [one, other] = [await disputed(own), await disputed(own)];
    await arbitrated(own, one);
    expect(await waiting(inSandbox(own))).toMatchObject([{ seen: 1, message: messageOf(one) }]);
    await arbitrated(own, other);
    expect(await waiting(inSandbox(own))).toMatchObject([{ seen: 2, message: messageOf(other) }]);
    expect(await waiting(inProduction(one))).toEqual([]);
  });

  it("the job raises the alert in the minute in which the parties' days end, and nothing raises it before", async () => {
    const own = await createWorld();
    const one = await disputed(own, { pair: await pairOf(own) });
    const end = Date.parse(one.dispute.pre_arb_deadline);
    await at(own, end - 1).run(endDisputeDays);
    expect(await waiting(inSandbox(own))).toEqual([]);
    await at(own, end).run(endDisputeDays);
    expect(await waiting(inSandbox(own))).toMatchObject([{ seen: 1, message: messageOf(one) }]);
    await at(own, end + 60_000).run(endDisputeDays);
    expect(await waiting(inSandbox(own))).toMatchObject([{ seen: 1 }]);
  });

  it("an overdue refund after a concession raises the alert", async () => {
    const own = await createWorld();
    const one = await disputed(own);
    await overdue(own, one);
    expect(await waiting(inSandbox(own))).toMatchObject([{ seen: 1, message: messageOf(one) }]);
  });

  it("an end by the parties raises no alert", async () => {
    const own = await createWorld();
    const one = await disputed(own);
    expectStatus(await act(own, one.consumer, one.id, "withdraw"), 200);
    expect(await waiting(inSandbox(own))).toEqual([]);
  });
});
