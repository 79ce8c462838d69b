// The rows of a database of the first version, for the test of the migrations.

type Insert = (table: string, ...values: Record<string, unknown>[]) => Promise<void>;

async function insertInto(db: D1Database, table: string, values: Record<string, unknown>[]): Promise<void> {
  const statements = values.map((row) => {
    const names = Object.keys(row);
    const places = names.map(() => "?").join(", ");
    return db.prepare(`insert into ${table} (${names.join(", ")}) values (${places})`).bind(...Object.values(row));
  });
  await db.batch(statements);
}

/** The two heaviest hold more than a quarter each, and no number of theirs is short in decimals. */
export const COUNTERPARTIES = [0.7, 0.5, 0.1, 0.05, 0.03].map((part) => ({
  weight: part * Math.PI * 2 ** 0.3,
  weighted: part * Math.E * 2 ** -0.7,
}));

export async function insertFirstVersion(db: D1Database): Promise<void> {
  const insert = (table: string, ...values: Record<string, unknown>[]) => insertInto(db, table, values);
  await insert("agents", agent("did:a"), agent("did:b", "did:a"), agent("did:c", "did:b"), agent("did:draft"));
  await db.batch([
    db.prepare("update agents set status = 'DRAFT' where did = 'did:draft'"),
    db.prepare("update agents set status = 'SUSPENDED' where did = 'did:b'"),
    db.prepare("update agents set principal_id = 'prn_3' where did = 'did:c'"),
    db.prepare("update agents set spend_settled = 700, spend_open = 50, settled_volume = 2000 where did = 'did:a'"),
  ]);
  const own = COUNTERPARTIES.map((sums, n) => ({ ...sums, did: "did:a", counterparty_principal_id: `prn_${n}` }));
  await insert("rating_counterparties", ...own);
  await db
    .prepare("update agents set rating_counterparties = 5, rating_weight = ? where did = 'did:a'")
    .bind(COUNTERPARTIES.reduce((sum, { weight }) => sum + weight, 0))
    .run();
  await insert("spend_ledger", { did: "did:a", at: 5, total: 300 }, { did: "did:a", at: 9, total: 700 });
  await insert("spend_holds", { did: "did:a", expires_at: 20, intent_id: "pin_1", amount: 50 });
  const aid = { version: 2, revision: 3, content: "{}", stale: 0 };
  await insert(
    "aids",
    { ...aid, did: "did:a", proof: "proof-a" },
    { ...aid, did: "did:b", proof: "proof-b", stale: 1 },
  );
  await insert("aids", { ...aid, did: "did:draft", proof: null });
  const signed = (certificate: string | null) => JSON.stringify({ identity: { certificate } });
  const version = { proof: "proof", issued_at: 1 };
  await insert("aid_versions", { ...version, did: "did:a", version: 1, content: signed(null) });
  await insert("aid_versions", { ...version, did: "did:a", version: 2, content: signed("eyJ") });
  const certificate = { key_id: "key", issued_at: 1, expires_at: 9 };
  await insert("certificates", { ...certificate, did: "did:a", jti: "1", status_list_idx: 77, replaced_at: 5 });
  await insert("certificates", { ...certificate, did: "did:b", jti: "2", status_list_idx: 900_000, replaced_at: null });
  const event = { platform_id: "plt_1", environment: "sandbox", type: "agent.activated" };
  const about = (object: Record<string, string>) => ({ ...event, object: JSON.stringify(object) });
  const [both, one] = [about({ provider_did: "did:a", consumer_did: "did:c" }), { provider_did: "did:x" }];
  await insert("events", { ...both, id: "evt_2", occurred_at: 20, dispatched_at: null });
  await insert("events", { ...about({ did: "did:b" }), id: "evt_1", occurred_at: 10, dispatched_at: 11 });
  await insert("events", {
    ...about({ ...one, consumer_did: "did:c", transaction_id: "txn_3" }),
    type: "transaction.settled",
    id: "evt_3",
    occurred_at: 30,
    dispatched_at: 31,
  });
  const open = { network: "base-sepolia", operational_wallet: "0x", status: "ACTIVE", created_at: 1, updated_at: 1 };
  const first = { ...open, did: "did:a", environment: "sandbox", market: "DE-USDC" };
  const second = { ...first, did: "did:b" };
  await insert(
    "agent_markets",
    first,
    second,
    { ...second, market: "AT-USDC" },
    { ...second, environment: "production" },
  );
  await insertSettlements(insert);
  await insertActivity(insert);
}

async function insertActivity(insert: Insert): Promise<void> {
  const platform = { status: "ACCREDITED", legal_name: "Acme", country: "DE", email: "ops@acme.test", created_at: 1 };
  await insert(
    "platforms",
    { ...platform, platform_id: "plt_1", tenant_principal_id: "prn_1", updated_at: 1 },
    { ...platform, platform_id: "plt_2", tenant_principal_id: "prn_2", updated_at: 1 },
  );
  const entry = { environment: "sandbox", action: "agent.registered", actor_type: "system", actor_id: "job" };
  const own = { ...entry, platform_id: "plt_1", subject_type: "agent" };
  await insert(
    "activity_entries",
    { ...own, id: "act_2", occurred_at: 20, subject_id: "second" },
    { ...own, id: "act_1", occurred_at: 10, subject_id: "first" },
    { ...own, id: "act_3", occurred_at: 20, subject_id: "third" },
    { ...own, id: "act_0", occurred_at: 15, subject_id: "other", platform_id: "plt_2" },
  );
}

async function insertSettlements(insert: Insert): Promise<void> {
  const place = { environment: "sandbox", network: "base-sepolia", currency: "USDC" };
  const parties = {
    consumer_did: "did:c",
    provider_did: "did:a",
    consumer_platform_id: "p",
    provider_platform_id: "p",
  };
  await insert("escrows", {
    ...place,
    did: "did:a",
    vault: "0xvault",
    operational_wallet: "0xwallet",
    base_threshold: 1,
    threshold: 1,
    chain_threshold: 1,
    state: "ACTIVE",
    updated_at: 1,
  });
  for (const [n, openedBy] of [
    [1, "did:c"],
    [2, "did:a"],
  ] as const) {
    const intent = { ...place, ...parties, market: "DE-USDC", amount: 1_000, status: "SETTLED", spenders: "[]" };
    await insert("payment_intents", {
      ...intent,
      intent_id: `pin_${n}`,
      opened_by: openedBy,
      created_at: 1,
      expires_at: 2,
    });
    await insert("tasks", {
      task_id: `tsk_${n}`,
      transaction_id: `fac_${n}`,
      environment: "sandbox",
      consumer_did: "did:c",
      provider_did: "did:a",
      ...(n === 1 ? { status: "confirmed", outcome: "partial" } : { status: "auto_confirmed", outcome: "confirmed" }),
      opened_at: 1,
      confirm_by: 2,
    });
    const amounts = { gross: 1_000, fee: 10, escrow: 90, operational: 900, escrow_balance: 90 };
    await insert("transactions", {
      ...place,
      ...parties,
      ...amounts,
      transaction_id: `fac_${n}`,
      intent_id: `pin_${n}`,
      tx_hash: `0x${n}`,
      log_index: 4,
      settlement_id: `0x${n}`,
      payer: "0xpayer",
      escrow_state: "ACTIVE",
      dispute_window_days: 7,
      provider_aid_version: 1,
      block_number: 1,
      block_hash: "0xblock",
      receipt: `receipt-${n}`,
      settled_at: 1,
    });
  }
}

/** A dispute with three pieces of evidence, two of them the consumer's: as it stood before each side's were counted. */
export async function insertDispute(db: D1Database): Promise<void> {
  const insert = (table: string, ...values: Record<string, unknown>[]) => insertInto(db, table, values);
  const amounts = { gross: 1_000, disputed: 1_000, bounty: 50 };
  await insert("disputes", {
    ...{ dispute_id: "dsp_1", transaction_id: "fac_1", task_id: "tsk_1", attempt: 1, environment: "sandbox" },
    ...{ consumer_did: "did:c", provider_did: "did:a", consumer_platform_id: "p", provider_platform_id: "p" },
    ...{ network: "base-sepolia", currency: "USDC", contract: "0xcontract", settlement_key: "0xkey", ...amounts },
    ...{ status: "pre_arbitration", reason: "other", filed_at: 1, answers_until: 2, evidence: 3 },
  });
  const piece = { dispute_id: "dsp_1", description: "A note.", submitted_at: 1 };
  await insert(
    "dispute_evidence",
    { ...piece, number: 1, submitted_by: "consumer" },
    { ...piece, number: 2, submitted_by: "provider" },
    { ...piece, number: 3, submitted_by: "consumer" },
  );
}

/** One attestation that its Verifier signed, one that was recorded without a proof, and one with a proof that nobody has checked. */
export async function insertAttested(db: D1Database): Promise<void> {
  const insert = (table: string, ...values: Record<string, unknown>[]) => insertInto(db, table, values);
  await insert("verifiers", {
    ...{ verifier_id: "ver_1", name: "Acme", jwks: "{}", status: "enabled", created_at: 1, updated_at: 1 },
  });
  const given = [
    { principal_id: "prn_signed", verifier_id: "ver_1", proof: "e30.e30.e30" },
    { principal_id: "prn_unsigned", verifier_id: "ver_1", proof: null },
    { principal_id: "prn_unchecked", verifier_id: "anybody", proof: "a text" },
  ];
  for (const { principal_id, verifier_id, proof } of given) {
    const attestation = { attestation_id: "att_1", issued_at: 1, expires_at: 9 };
    await insert("attestations", { ...attestation, principal_id, verifier_id, model: "kyb", proof, recorded_at: 1 });
    await insert("principals", {
      ...{ principal_id, platform_id: "plt_2", environment: "sandbox", status: "ACTIVE", legal_name: principal_id },
      ...{ name_folded: principal_id, country: "DE", entity_type: "company", external_ref: principal_id },
      ...{ attestation_id: "att_1", attestation_verifier_id: verifier_id, attestation_model: "kyb" },
      ...{ attestation_issued_at: 1, attestation_expires_at: 9, created_at: 1, updated_at: 1 },
    });
  }
}

/** Deliveries as they stood when each had its body: of an event that is listed, of one that is not yet, and of one that is deleted. */
export async function insertDeliveries(db: D1Database): Promise<void> {
  const at = { webhook_id: "whe_1", event_type: "task.opened", body: "{}" };
  await insertInto(db, "webhook_endpoints", [
    {
      ...{
        webhook_id: "whe_1",
        platform_id: "plt_1",
        environment: "sandbox",
        url: "https://hooks.example",
        event_types: "[]",
      },
      ...{ status: "enabled", secret: "s", seal_key: "k", events_after: 0, created_at: 1, updated_at: 1 },
    },
  ]);
  const term = { platform_id: "plt_1", environment: "sandbox", type: "task.opened" };
  await insertInto(db, "event_terms", [{ ...term, term: "evt_2", seq: 2 }]);
  await insertInto(db, "outbox", [{ name: "listed", seq: 2 }]);
  for (const [n, eventId] of ["evt_2", "evt_3", "evt_gone"].entries()) {
    const one = { ...at, delivery_id: `dlv_${n}`, event_id: eventId, next_at: n };
    await insertInto(db, "webhook_queue", [{ ...one, tries: 1, logged: 1, lease_until: 0 }]);
    await insertInto(db, "webhook_deliveries", [{ ...one, status: "pending", attempts: "[]" }]);
  }
}

const agent = (did: string, delegatedBy: string | null = null) => ({
  did,
  delegated_by: delegatedBy,
  platform_id: "plt_1",
  environment: "sandbox",
  principal_id: "prn_1",
  economic_role: "CONSUMER",
  cert_tier: "TIER_1",
  display_name: did,
  endpoint_url: "https://agent.example",
  authorized_actions: "[]",
  capabilities: "[]",
  dispute_window_days: 7,
  status: "ACTIVE",
  version: 2,
  revision: 3,
  created_at: 1,
  updated_at: 1,
});

/** As the certificates stood before the directory had entries: two agents have one. */
export async function certify(db: D1Database): Promise<void> {
  await db.prepare("update agents set certificate_jti = did where did in ('did:a', 'did:b')").run();
}

/** Two sessions of one account, as they stood before they had ids. */
export const insertSessions = (db: D1Database): Promise<void> =>
  insertInto(
    db,
    "sessions",
    ["a", "b"].map((token_hash) => ({
      token_hash,
      platform_id: "plt_1",
      created_at: 1,
      used_at: 1,
      expires_at: 2,
    })),
  );

/** Adds a former wallet that was registered, and one that the provider named on-chain. */
export const nameWallets = (db: D1Database) =>
  db
    .prepare("update escrows set former_wallets = ? where did = 'did:a'")
    .bind(
      JSON.stringify([
        { wallet: "0xBefore", until: 5 },
        { wallet: "0xNamed", until: Number.MAX_SAFE_INTEGER },
      ]),
    )
    .run();
