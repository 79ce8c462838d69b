// Suspension, reinstatement and closing, each of an account of its own: with a few agents, and with ten more, whose rows the first slice takes.
import { hashPassword } from "../../src/accounts/passwords.ts";
import type { Case } from "../case.ts";
import { asPerson } from "../persons.ts";
import { agent, operate, type Play, principal } from "../play.ts";
import { accredit, type Platform } from "../stage.ts";
import { type Ask, send } from "../wire.ts";

const PASSWORD = "bench the standing of accounts";
const hashed = hashPassword(PASSWORD);

type Owned = { readonly platform: Platform; readonly name: string };

/** A new account with a principal and a number of ACTIVE agents. */
async function owning({ stage, next }: Play, agents: number): Promise<Owned> {
  const name = `Standing ${next()}`;
  const platform = await accredit(stage.origin, name);
  const principalId = await principal(stage, platform, next());
  for (let n = 0; n < agents; n++) await agent(stage, platform, "CONSUMER", principalId);
  return { platform, name };
}

const decide = ({ stage }: Play, { platform }: Owned, decision: string): Ask => ({
  ...operate(stage, "POST", `/v1/operator/platforms/${platform.platformId}/${decision}`),
  body: JSON.stringify({ reason: "Chargebacks." }),
});

const suspending = (agents: number) => async (play: Play) => decide(play, await owning(play, agents), "suspend");

const reinstating = (agents: number) => async (play: Play) => {
  const owned = await owning(play, agents);
  const { status } = await send(play.stage.origin, decide(play, owned, "suspend"));
  if (status !== 200) throw new Error("the account could not be suspended");
  return decide(play, owned, "reinstate");
};

const closing = (agents: number) => async (play: Play) => {
  const { stage } = play;
  const { platform, name } = await owning(play, agents);
  const text = "insert into passwords (platform_id, hash, changed_at) values (?, ?, ?)";
  await stage.sql([{ sql: text, params: [platform.platformId, await hashed, Date.now()] }]);
  const body = { confirmation: name, current_password: PASSWORD };
  return asPerson(stage, platform, "POST", "/v1/platform/close", body);
};

const sizes = (route: string, arrange: (agents: number) => Case["ask"]): Case[] => [
  { route, status: 200, ask: arrange(1) },
  { route, variant: "eleven agents", status: 200, ask: arrange(11) },
];

export const STANDING: readonly Case[] = [
  ...sizes("POST /v1/operator/platforms/{platform_id}/suspend", suspending),
  ...sizes("POST /v1/operator/platforms/{platform_id}/reinstate", reinstating),
  ...sizes("POST /v1/platform/close", closing),
];
