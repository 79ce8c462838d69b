// What a caller far from the database waits for, where it is not as many hops as the call has trips.

/**
 * How many trips and object calls a far caller waits for one after the other, where they are not as many as the trips: locks and the
 * memory of proofs are asked for beside the first trip.
 */
export const HOPS: Readonly<Record<string, number>> = {
  // The lock of the agent's markets, five trips, and the signer's object.
  "POST /v1/agents/{did}/scope/authorized_markets": 7,
  "POST /v1/agents/{did}/scope/authorized_markets (on a mainnet with a sandbox key)": 7,
  // Its five trips and the signer's object.
  "POST /v1/agents/{did}/escrow/release": 6,
  // A new password takes a place of its network once nothing else refuses it.
  "POST /v1/platform/register": 3,
  "POST /v1/platform/password/reset": 3,
  // The database, then the chains, each asked beside the others.
  "GET /v1/operator/networks": 2,
  // What fell due is recorded by the platform's object, in parts.
  "POST /v1/sandbox/clock/advance (100 tasks and 100 intents)": 11,
  "POST /v1/sandbox/clock/advance (100 tasks, 100 intents and 10 disputes)": 12,
  // A bound proof is used up once it is known whom it is bound to.
  "POST /v1/facilitate (intent)": 3,
  "POST /v1/facilitate (second platform)": 3,
  "POST /v1/facilitate (one delegator)": 3,
  "POST /v1/facilitate (two delegators)": 3,
  "POST /v1/facilitate (the vault reaches its threshold)": 3,
  "POST /v1/facilitate (100 settlements of its transaction before)": 3,
  "POST /v1/verify/proof (challenge)": 2,
  // An attempt is counted by its client, then by its account, which the first trip finds.
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
  // Both run during the first trip.
  "POST /v1/platform/sessions": 3,
  "POST /v1/platform/sessions (a new device)": 3,
  "POST /v1/platform/sessions (a code)": 3,
};
