// The table of roles equals the table of the specification, including ENTERPRISE, and the fields of each role follow from it (AGT-2 to AGT-7,
// IDN-15).
import { describe, expect, it } from "vitest";
import { findScopeFaults } from "../../src/agents/roles.ts";
import {
  isRegistrable,
  listRequiredActions,
  listTiers,
  REGISTRABLE_ROLES,
  SPEND_FIELDS,
  sells,
} from "../../src/core/roles.ts";
import { ECONOMIC_ROLES, type EconomicRole } from "../../src/core/vocabulary.ts";
import { pickWorstEscrowState } from "../../src/escrow/states.ts";
import { toScope } from "../../src/identity/aid.ts";

type Expected = { tiers: number; must: string[]; mustNot: string[]; registrable: boolean };
const TABLE: Readonly<Record<EconomicRole, Expected>> = {
  CONSUMER: { tiers: 3, must: ["purchase"], mustNot: ["sell"], registrable: true },
  PROVIDER: { tiers: 2, must: ["sell"], mustNot: ["purchase"], registrable: true },
  ENTERPRISE: { tiers: 1, must: ["sell", "purchase"], mustNot: [], registrable: false },
};

describe.each(ECONOMIC_ROLES)("a %s", (role) => {
  const { tiers, must, mustNot, registrable } = TABLE[role];

  it("has its actions and its tiers, and can be registered or not", () => {
    expect([listRequiredActions(role), listTiers(role).length]).toEqual([{ must, mustNot }, tiers]);
    expect([isRegistrable(role), REGISTRABLE_ROLES.some((one) => one === role)]).toEqual([registrable, registrable]);
    const faultsOf = (authorized_actions: string[]) =>
      findScopeFaults(role, { authorized_actions }, "", true).map(({ code }) => code);
    expect(faultsOf(must)).toEqual([]);
    for (const action of must)
      expect(faultsOf([...must.filter((other) => other !== action), "other"])).toEqual([
        "authorized_action_role_mismatch",
      ]);
    for (const action of mustNot) expect(faultsOf([...must, action])).toEqual(["authorized_action_role_mismatch"]);
  });

  it("has the spend fields if it buys, and escrow and markets if it sells", () => {
    const bought = must.includes("purchase");
    const refused = SPEND_FIELDS.flatMap((field) => findScopeFaults(role, { [field]: "1" }, "", false));
    expect(refused.length).toBe(bought ? 0 : SPEND_FIELDS.length);
    const scope = toScope({ economicRole: role } as Parameters<typeof toScope>[0]);
    expect(SPEND_FIELDS.every((field) => field in scope)).toBe(bought);
    expect(sells(role)).toBe(must.includes("sell"));
    expect(pickWorstEscrowState(role, [])).toBe(sells(role) ? "FUNDING" : null);
    const [fault] = findScopeFaults(role, { authorized_markets: [] }, "", false);
    expect(fault?.code).toBe(sells(role) ? "invalid_field" : "field_not_allowed_for_role");
  });
});

it("refuses any other text as a role", () => {
  for (const text of ["constructor", "consumer", "", null, 1]) expect(isRegistrable(text)).toBe(false);
});
