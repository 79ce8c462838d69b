// The states of an escrow (MKT-17, MKT-18). Pure.
import { sells } from "../core/roles.ts";
import type { EconomicRole, EscrowState } from "../core/vocabulary.ts";

type Held = { readonly balance: number; readonly threshold: number; readonly disputed: number };

/**
 * CONSTRAINED while more is disputed than counts in the vault, else FUNDING or ACTIVE by the balance (MKT-17). A provider that has left has no
 * threshold, and funds nothing.
 */
export function escrowStateAt({ balance, threshold, disputed }: Held): EscrowState {
  if (disputed > Math.max(0, balance)) return "CONSTRAINED";
  return threshold > 0 && balance >= threshold ? "ACTIVE" : "FUNDING";
}

/** What an escrow shows: more may have been taken out of the vault than counts here. */
export const shownBalance = ({ balance }: { readonly balance: number }): number => Math.max(0, balance);

/** The edition of the contract whose vault an escrow is: an early row did not note it. */
export const editionOf = (
  { contract }: { readonly contract: string },
  { settlement_contract }: { readonly settlement_contract: string },
): string => contract || settlement_contract.toLowerCase();

const WORST_FIRST = ["CONSTRAINED", "FUNDING", "ACTIVE"] as const satisfies readonly EscrowState[];

/** The worst state of all networks of an agent that sells (MKT-18). Others have none. */
export function worstEscrowState(role: EconomicRole, escrows: readonly { state: EscrowState }[]): EscrowState | null {
  if (!sells(role)) return null;
  return WORST_FIRST.find((state) => escrows.some((escrow) => escrow.state === state)) ?? "FUNDING";
}

type EscrowStates = Readonly<Record<string, EscrowState>>;

/** The states of an agent's escrows, as its row holds them. */
export const statesOf = (escrows: readonly { network: string; state: EscrowState }[]): EscrowStates =>
  Object.fromEntries(escrows.map(({ network, state }) => [network, state]));

/** The worst state from the agent's row, which each batch that moves an escrow writes. */
export const escrowStateOf = ({
  economicRole,
  escrowStates,
}: {
  economicRole: EconomicRole;
  escrowStates: EscrowStates;
}) =>
  worstEscrowState(
    economicRole,
    Object.values(escrowStates).map((state) => ({ state })),
  );
