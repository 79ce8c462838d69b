// The directory: its listing by every kind of filter, one entry, the feed, and a head.
import type { Case } from "../case.ts";
import { manage, must, type Play } from "../play.ts";

const PATH = "/v1/directory";

const listing = (variant: string, query: string): Case => ({
  route: `GET ${PATH}/agents`,
  variant,
  status: 200,
  filling: true,
  ask: ({ stage }) => manage(stage, "GET", `${PATH}/agents?limit=20&${query}`),
});

const asked = async ({ stage }: Play, path: string) => must(stage, manage(stage, "GET", path), 200);

export const DIRECTORY: readonly Case[] = [
  listing("no filter", ""),
  listing("status=all", "status=all"),
  listing("status=suspended", "status=suspended"),
  listing("two capabilities", "capabilities=translation,summarization"),
  listing("a role", "economic_role=PROVIDER"),
  listing("a rating", "min_agent_rating=0.5"),
  {
    route: `GET ${PATH}/agents`,
    variant: "304",
    status: 304,
    ask: async (play) => {
      const path = `${PATH}/agents?limit=20`;
      const { headers } = await asked(play, path);
      const ask = manage(play.stage, "GET", path);
      return { ...ask, headers: { ...ask.headers, "If-None-Match": String(headers["etag"]) } };
    },
  },
  {
    route: `GET ${PATH}/agents/{did}`,
    status: 200,
    ask: ({ stage, provider }) => manage(stage, "GET", `${PATH}/agents/${provider.did}`),
  },
  {
    route: `GET ${PATH}/changes`,
    variant: "100 from the first",
    status: 200,
    filling: true,
    ask: ({ stage }) => manage(stage, "GET", `${PATH}/changes?limit=100`),
  },
  { route: `GET ${PATH}/head`, status: 200, ask: ({ stage }) => manage(stage, "GET", `${PATH}/head`) },
];
