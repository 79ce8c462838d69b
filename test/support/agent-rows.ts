// Checks the columns in which an agent's row repeats other tables, so that its public status reads fewer rows: the states of its escrows (MKT-18) and
// the sums of the counterparties that may be clipped (TSK-14). Also checks that a market is marked as the only one exactly if it is.
import { type AgentRow, agentMarkets, agents, ratingCounterparties } from "../../src/db/tables/agents.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { toEscrowStates } from "../../src/escrow/states.ts";
import { pickClippable } from "../../src/ratings/rating.ts";
import type { World } from "./world.ts";

type Of = Pick<AgentRow, "did" | "environment">;

/** Returns the agents whose rows differ from those tables, with both versions. */
export async function strayAgents({ deps: { db } }: World) {
  const [rows, held, counterparties, markets] = await db.batch([
    db.select().from(agents),
    db.select().from(escrows),
    db.select().from(ratingCounterparties),
    db.select().from(agentMarkets),
  ]);
  const repeated = rows.map((agent) => {
    const isOwn = ({ did, environment }: Of) => did === agent.did && environment === agent.environment;
    const others = counterparties.filter(isOwn).sort((a, b) => b.weight - a.weight);
    const sums = {
      weight: agent.ratingWeight,
      weighted: agent.ratingWeighted,
      interactions: agent.ratingInteractions,
      counterparties: agent.ratingCounterparties,
    };
    const open = markets.filter(isOwn);
    const soles = open.filter(({ sole }) => sole).length;
    return {
      did: agent.did,
      row: { states: agent.escrowStates, heaviest: agent.ratingHeaviest, soles },
      tables: {
        states: toEscrowStates(held.filter(isOwn)),
        heaviest: pickClippable(sums, others),
        soles: open.length > 1 ? 0 : soles,
      },
    };
  });
  const sorted = ({ states, heaviest, soles }: (typeof repeated)[number]["row"]) =>
    JSON.stringify([Object.entries(states).sort(), heaviest, soles]);
  return repeated.filter(({ row, tables }) => sorted(row) !== sorted(tables));
}
