// The number of hops that a caller far from the database waits for, if it differs from the number of trips.

/**
 * The number of sequential trips and object calls that a far caller waits for, if it differs from the number of trips: locks and the memory of proofs
 * are asked together with the first trip.
 */
export const HOPS: Readonly<Record<string, number>> = {
  // The lock of the agent's markets, five trips, and the signer's object.
  "POST /v1/agents/{did}/scope/authorized_markets": 7,
  "POST /v1/agents/{did}/scope/authorized_markets (on a mainnet with a sandbox key)": 7,
  // Five trips and the signer's object.
  "POST /v1/agents/{did}/escrow/release": 6,
  // A new password takes a place of its network once no other check refuses it.
  "POST /v1/platform/register": 3,
  "POST /v1/platform/password/reset": 3,
  // The database, then the chains, all of them together.
  "GET /v1/operator/networks": 2,
  // The platform's object records the due rows, in parts.
  "POST /v1/sandbox/clock/advance (100 tasks and 100 intents)": 11,
  "POST /v1/sandbox/clock/advance (100 tasks, 100 intents and 10 disputes)": 12,
  // A bound proof is used up only once the agent that it is bound to is known.
  "POST /v1/facilitate (intent)": 3,
  "POST /v1/facilitate (second platform)": 3,
  "POST /v1/facilitate (one delegator)": 3,
  "POST /v1/facilitate (two delegators)": 3,
  "POST /v1/facilitate (the vault reaches its threshold)": 3,
  "POST /v1/facilitate (100 settlements of its transaction before)": 3,
  "POST /v1/verify/proof (challenge)": 2,
  // An attempt is counted for its client, then for its account, which the first trip finds.
  "POST /v1/platform/password": 4,
  "POST /v1/platform/email": 4,
  "POST /v1/platform/close": 4,
  "POST /v1/platform/close (eleven agents)": 4,
  "POST /v1/platform/verify-email": 4,
  "POST /v1/platform/verify-email (a new address)": 4,
  "POST /v1/platform/sessions/current/confirm": 4,
  "POST /v1/platform/sessions/current/confirm (a code)": 4,
  "POST /v1/platform/totp": 4,
  "POST /v1/platform/totp/confirm": 4,
  "DELETE /v1/platform/totp": 4,
  // Both counts run during the first trip.
  "POST /v1/platform/sessions": 3,
  "POST /v1/platform/sessions (a new device)": 3,
  "POST /v1/platform/sessions (a code)": 3,
};
