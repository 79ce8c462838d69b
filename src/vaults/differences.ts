// Lists the differences that the reconciliation found, for operators (MKT-28). Nothing repairs one: the operator finds out what became of the money.
import { type OperatorCall, readPage } from "../call.ts";
import { findNetwork, formatTokenUnits, requireNetwork, toCaip2 } from "../chain/networks.ts";
import type { Config } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { toFieldError, toValidationError } from "../core/errors.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { type ListedDifference, listDifferences, toDifferencePlace } from "./difference-list-store.ts";
import type { DifferenceView } from "./responses.ts";
import type { DifferenceQuery } from "./schema.ts";

export async function getDifferences(call: OperatorCall, query: DifferenceQuery): Promise<Page<DifferenceView>> {
  const { config } = call.deps;
  const network = query.network === undefined ? undefined : findNetwork(config.networks, query.network)?.network;
  const filter = { network, did: query.did };
  const page = await readPage(call, query, hashListing("differences", [], filter));
  const { rows } = await call.read({ rows: listDifferences(call.db, filter, page) });
  if (query.network !== undefined && network === undefined)
    throw toValidationError([toFieldError("network", "invalid_value", "No such network; see GET /v1/markets.")]);
  return toPage(
    rows,
    page,
    (row) => ({ at: row.foundAt, id: toDifferencePlace(row) }),
    (row) => toDifferenceView(config, row),
  );
}

function toDifferenceView(config: Config, row: ListedDifference): DifferenceView {
  const network = requireNetwork(config.networks, row.network);
  return {
    network: row.network,
    caip2: toCaip2(network),
    did: row.did,
    contract: row.contract,
    currency: network.currency,
    held: formatTokenUnits(network, row.held),
    expected: formatTokenUnits(network, row.expected),
    block_number: row.blockNumber,
    found_at: toIso(row.foundAt),
    alert_id: row.alertId,
  };
}
