// The states of an escrow (MKT-17, MKT-18). Pure.
import { CONSTRAINING_DISPUTES, ESCROW_BASE_THRESHOLD } from "../core/limits.ts";
import { sells } from "../core/roles.ts";
import { floorAmount } from "../core/text.ts";
import type { EconomicRole, EscrowState } from "../core/vocabulary.ts";

type EscrowAmounts = {
  readonly balance: number;
  readonly baseThreshold: number;
  readonly threshold: number;
  readonly disputed: number;
};

/** Both limits are in hundredths. A row has the second in base units of its token, so their ratio gives the first in base units too. */
export const CONSTRAINING_HUNDREDTHS = floorAmount(CONSTRAINING_DISPUTES, 2);
export const BASE_HUNDREDTHS = floorAmount(ESCROW_BASE_THRESHOLD, 2);

/** CONSTRAINED if at least 5.00 and more than the balance are disputed; else ACTIVE or FUNDING by the threshold, and FUNDING without one (MKT-17). */
export function computeEscrowState({ balance, baseThreshold, threshold, disputed }: EscrowAmounts): EscrowState {
  const constraining = (baseThreshold * CONSTRAINING_HUNDREDTHS) / BASE_HUNDREDTHS;
  if (disputed >= constraining && disputed > Math.max(0, balance)) return "CONSTRAINED";
  return threshold > 0 && balance >= threshold ? "ACTIVE" : "FUNDING";
}

/** Never negative, although more may have been taken out of the vault than counts here. */
export const toShownBalance = ({ balance }: { readonly balance: number }): number => Math.max(0, balance);

/** The edition of the contract that the escrow's vault belongs to. An early row has none, and means the present one. */
export const pickEditionContract = (
  { contract }: { readonly contract: string },
  { settlement_contract }: { readonly settlement_contract: string },
): string => contract || settlement_contract.toLowerCase();

const WORST_FIRST = ["CONSTRAINED", "FUNDING", "ACTIVE"] as const satisfies readonly EscrowState[];

/** The worst state over all networks of an agent that sells (MKT-18). Other agents have none. */
export function pickWorstEscrowState(
  role: EconomicRole,
  escrows: readonly { state: EscrowState }[],
): EscrowState | null {
  if (!sells(role)) return null;
  return WORST_FIRST.find((state) => escrows.some((escrow) => escrow.state === state)) ?? "FUNDING";
}

type EscrowStates = Readonly<Record<string, EscrowState>>;

export const toEscrowStates = (escrows: readonly { network: string; state: EscrowState }[]): EscrowStates =>
  Object.fromEntries(escrows.map(({ network, state }) => [network, state]));

/** The worst state from the agent's row, which each batch that moves an escrow writes. */
export const pickWorstStateOfAgent = ({
  economicRole,
  escrowStates,
}: {
  economicRole: EconomicRole;
  escrowStates: EscrowStates;
}) =>
  pickWorstEscrowState(
    economicRole,
    Object.values(escrowStates).map((state) => ({ state })),
  );
