// Suspension, reactivation and closing, each with an account or a principal of its own: with a few agents, and with ten more, which the first slice
// still takes.
import type { Case } from "../case.ts";
import { asPerson, hash, PASSWORD } from "../persons.ts";
import { agent, manage, must, operate, type Play, principal } from "../play.ts";
import { accredit, type Platform } from "../stage.ts";
import { type Ask, send } from "../wire.ts";

type Owned = { readonly platform: Platform; readonly name: string };

/** Opens an account with one principal and a number of ACTIVE agents. */
async function openAccountWithAgents({ stage, next }: Play, agents: number): Promise<Owned> {
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

const suspending = (agents: number) => async (play: Play) =>
  decide(play, await openAccountWithAgents(play, agents), "suspend");

const reinstating = (agents: number) => async (play: Play) => {
  const owned = await openAccountWithAgents(play, agents);
  const { status } = await send(play.stage.origin, decide(play, owned, "suspend"));
  if (status !== 200) throw new Error("the account could not be suspended");
  return decide(play, owned, "reinstate");
};

const closing = (agents: number) => async (play: Play) => {
  const { stage } = play;
  const { platform, name } = await openAccountWithAgents(play, agents);
  const text = "insert into passwords (platform_id, hash, changed_at) values (?, ?, ?)";
  await stage.sql([{ sql: text, params: [platform.platformId, await hash, Date.now()] }]);
  const body = { confirmation: name, current_password: PASSWORD };
  return asPerson(stage, platform, "POST", "/v1/platform/close", body);
};

const doing =
  (verb: string, agents: number, first?: string) =>
  async ({ stage, next }: Play): Promise<Ask> => {
    const id = await principal(stage, stage.platform, next());
    for (let n = 0; n < agents; n++) await agent(stage, stage.platform, "CONSUMER", id);
    if (first !== undefined) await must(stage, manage(stage, "POST", `/v1/principals/${id}/${first}`), 200);
    return manage(stage, "POST", `/v1/principals/${id}/${verb}`);
  };

const attesting = (stage: Play["stage"], id: string, more = {}): Ask =>
  manage(stage, "POST", `/v1/principals/${id}/attestations`, { placeholder: true, ...more });

/** Records an attestation after the end of the last one has suspended a number of agents, which are reactivated with it or not. */
const recording =
  (agents: number, returning: boolean) =>
  async ({ stage, next }: Play): Promise<Ask> => {
    const id = await principal(stage, stage.platform, next());
    for (let n = 0; n < agents; n++) await agent(stage, stage.platform, "CONSUMER", id);
    await stage.sql([
      {
        sql: "update principals set status = 'ATTESTATION_EXPIRED', attestation_stop = 'attestation_expired' where principal_id = ?",
        params: [id],
      },
      {
        sql: "update agents set status = 'SUSPENDED', suspension_reason = 'attestation', suspended_from = 'ACTIVE' where principal_id = ?",
        params: [id],
      },
    ]);
    return attesting(stage, id, { reactivate_agents: returning });
  };

const sizes = (route: string, arrange: (agents: number) => Case["ask"], status = 200): Case[] => [
  { route, status, ask: arrange(1) },
  { route, variant: "eleven agents", status, ask: arrange(11) },
];

export const STANDING: readonly Case[] = [
  ...sizes("POST /v1/operator/platforms/{platform_id}/suspend", suspending),
  ...sizes("POST /v1/operator/platforms/{platform_id}/reinstate", reinstating),
  ...sizes("POST /v1/platform/close", closing),
  ...sizes("POST /v1/principals/{principal_id}/suspend", (agents) => doing("suspend", agents)),
  { route: "POST /v1/principals/{principal_id}/reactivate", status: 200, ask: doing("reactivate", 1, "suspend") },
  ...sizes("POST /v1/principals/{principal_id}/close", (agents) => doing("close", agents, "suspend")),
  ...sizes("POST /v1/principals/{principal_id}/attestations", (agents) => recording(agents, false), 201),
  {
    route: "POST /v1/principals/{principal_id}/attestations",
    variant: "eleven agents return",
    status: 201,
    ask: recording(11, true),
  },
  {
    route: "POST /v1/attestations/{attestation_id}/revoke",
    variant: "eleven agents, by an operator",
    status: 200,
    ask: async ({ stage, next }) => {
      const id = await principal(stage, stage.platform, next());
      for (let n = 0; n < 11; n++) await agent(stage, stage.platform, "CONSUMER", id);
      const [[row] = []] = await stage.sql([
        {
          sql: "select attestation_id as attestation, attestation_verifier_id as verifier from principals where principal_id = ?",
          params: [id],
        },
      ]);
      return {
        ...operate(stage, "POST", `/v1/attestations/${row?.["attestation"]}/revoke`),
        body: JSON.stringify({ verifier_id: row?.["verifier"], reason: "Forged." }),
      };
    },
  },
  {
    route: "GET /v1/principals/{principal_id}/attestations",
    status: 200,
    ask: async ({ stage, next }) => {
      const id = await principal(stage, stage.platform, next());
      for (let n = 0; n < 25; n++) await must(stage, attesting(stage, id), 201);
      return manage(stage, "GET", `/v1/principals/${id}/attestations`);
    },
  },
  {
    route: "PATCH /v1/principals/{principal_id}",
    status: 200,
    ask: async ({ stage, next }) => {
      const id = await principal(stage, stage.platform, next());
      return manage(stage, "PATCH", `/v1/principals/${id}`, { metadata: { plan: "gold" } });
    },
  },
];
