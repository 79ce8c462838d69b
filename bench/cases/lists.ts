// Lists by every filter, of a platform with a history in every state, a tenth of which has ended without a record.
import type { Case } from "../case.ts";
import { type Ahead, manageAs } from "../play.ts";

type Filter = readonly [filter: string, query?: (ahead: Ahead) => string];

const PRINCIPALS: readonly Filter[] = [
  ["no filter", () => ""],
  ["a customer", ({ customerId }) => `customer_id=${customerId}`],
  ["customer_id=none"],
  ["external_ref=old-1"],
  ["status=ACTIVE"],
  ["status=ATTESTATION_EXPIRED"],
  ["status=SUSPENDED"],
  ["status=CLOSED"],
  [
    "a customer and status=ATTESTATION_EXPIRED",
    ({ customerId }) => `customer_id=${customerId}&status=ATTESTATION_EXPIRED`,
  ],
  ["customer_id=none&status=ATTESTATION_EXPIRED"],
];

const AGENTS: readonly Filter[] = [
  ["no filter", () => ""],
  ["external_ref=ahead-1"],
  ["status=ACTIVE"],
  ["status=FUNDING"],
  ["status=SUSPENDED"],
  ["status=REVOKED"],
  ["economic_role=CONSUMER&status=SUSPENDED"],
  ["a principal and status=ACTIVE", ({ agent }) => `principal_id=${agent.principalId}&status=ACTIVE`],
];

const pages = (path: string, filters: readonly Filter[]): Case[] =>
  filters.map(([filter, query = () => filter]) => ({
    route: `GET ${path}`,
    variant: `much has ended: ${filter}`,
    status: 200,
    filling: true,
    ask: async ({ ahead, stage }) => {
      // While agents' rows are still to be written, a page by status reads another range. Restatements of earlier cases must not count here.
      await stage.sql([{ sql: "delete from walks where kind = 'restatement'" }]);
      return manageAs(ahead.platform, "GET", `${path}?limit=20&${query(ahead)}`);
    },
  }));

export const LISTS: readonly Case[] = [...pages("/v1/principals", PRINCIPALS), ...pages("/v1/agents", AGENTS)];
