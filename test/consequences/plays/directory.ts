// Plays of the directory's jobs, and of the job that publishes ratings again.
import { publishRatings } from "../../../src/agents/ratings.ts";
import { indexDirectory, pruneDirectory } from "../../../src/directory/changes.ts";
import { signDirectoryHeads } from "../../../src/directory/heads.ts";
import { confirm, facilitated } from "../../facilitation/support.ts";
import type { World } from "../../support/world.ts";
import { pairOf } from "./purchases.ts";
import { DAY, must, ofNobody, type Play, type Plays } from "./stage.ts";

/** A provider whose rating has moved by decay. */
const decayed: Play = async (stage) => {
  const { world, other } = stage;
  const pair = await pairOf(stage);
  const { task } = await facilitated(world, pair);
  await must(200, confirm(other, pair.consumer, task));
  for (const each of [world, other]) each.advance(60 * DAY);
  return async () => {
    await publishRatings.record(world.deps, pair.provider.did);
    return { provider: [pair.provider.did] };
  };
};

/** A rating that is looked at before decay has moved it. */
const early: Play = async (stage) => {
  const { world } = stage;
  const act = await decayed(stage);
  const { provider = [] } = await act();
  const [did = ""] = provider;
  await world.deps.env.DB.prepare("update agents set republish_at = 0 where did = ?").bind(did).run();
  return act;
};

/** A provider that has been revoked meanwhile. */
const ended: Play = async (stage) => {
  const act = await decayed(stage);
  const { world } = stage;
  const last = await world.deps.env.DB.prepare(
    "select did from agents where platform_id = ? and republish_at is not null order by created_at desc limit 1",
  )
    .bind(world.platformId)
    .first<{ did: string }>();
  await must(200, world.call("POST", `/v1/agents/${last?.did}/revoke`, { body: { reason: "Gone." } }));
  return act;
};

const sign = (world: World) => world.run(signDirectoryHeads);

export const DIRECTORY_PLAYS: Plays = {
  publish_ratings: {
    "decay has moved the rating, and its threshold": decayed,
    "the agent has ended": ended,
    "decay has not moved the rating yet": early,
  },
  sign_directory_heads: {
    "something has changed": ofNobody(async (world) => {
      await sign(world);
      await world.consumer();
    }, sign),
  },
  index_directory: {
    "the terms of an entry are out of date": ofNobody(
      (world) => world.consumer(),
      (world) => world.run(indexDirectory),
    ),
  },
  prune_directory: {
    "records are older than 30 days": ofNobody(
      async (world) => {
        await world.consumer();
        await sign(world);
        world.advance(31 * DAY);
      },
      (world) => world.run(pruneDirectory),
    ),
  },
};
