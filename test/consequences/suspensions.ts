// The rows of an account's suspension, reinstatement and closing, and of the cascades that follow them (table.ts).
import type { Cases } from "./words.ts";

const TOLD = {} as const;
const NOT_MOVED = { none: "the agents' own state stays: only the reason of their suspension is another" } as const;

export const STANDING_OPERATIONS: Readonly<Record<string, Cases>> = {
  suspendPlatform: [
    {
      when: "it has active agents",
      states: ["account PROFILE_PENDING → SUSPENDED", "agent ACTIVE → SUSPENDED"],
      tables: ["agents", "operator_entries", "platforms", "principals"],
      activity: ["account.suspended", "agent.suspended"],
      events: { agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      certificate: { agent: ["suspended"] },
      ...TOLD,
      mails: ["customer.account_suspended"],
    },
    {
      when: "it has no active agents",
      states: ["account PROFILE_PENDING → SUSPENDED"],
      tables: ["operator_entries", "platforms"],
      activity: ["account.suspended"],
      mails: ["customer.account_suspended"],
    },
  ],

  reinstatePlatform: [
    {
      when: "its agents were suspended with it",
      states: ["account SUSPENDED → PROFILE_PENDING", "agent SUSPENDED → ACTIVE"],
      tables: ["agents", "operator_entries", "platforms", "principals"],
      activity: ["account.reinstated", "agent.reactivated"],
      events: { agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      certificate: { agent: ["reinstated"] },
      ...TOLD,
      mails: ["customer.account_reinstated"],
    },
    {
      when: "its agents were suspended with it, in FUNDING",
      states: ["account SUSPENDED → PROFILE_PENDING", "agent SUSPENDED → FUNDING"],
      tables: ["agents", "operator_entries", "platforms", "principals"],
      activity: ["account.reinstated", "agent.reactivated"],
      events: { agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      // Their certificates are still listed as suspended.
      ...TOLD,
      mails: ["customer.account_reinstated"],
    },
    {
      when: "the attestation of their principal has ended meanwhile",
      states: ["account SUSPENDED → PROFILE_PENDING"],
      tables: ["agents", "operator_entries", "platforms", "principals"],
      activity: ["account.reinstated"],
      mails: ["customer.account_reinstated"],
    },
  ],

  closePlatform: [
    {
      when: "it has active agents",
      states: ["account PROFILE_PENDING → CLOSED", "agent ACTIVE → REVOKED", "principal ACTIVE → CLOSED"],
      tables: [
        "account_links",
        "agents",
        "management_keys",
        "passwords",
        "platforms",
        "principals",
        "seen_devices",
        "sessions",
      ],
      activity: ["account.closed", "agent.revoked", "principal.closed"],
      events: { agent: ["agent.status_changed"], principal: ["principal.status_changed"] },
      directory: { agent: ["revoked"] },
      certificate: { agent: ["revoked"] },
      ...TOLD,
      mails: ["customer.account_closed"],
    },
    {
      when: "it has neither agents nor principals",
      states: ["account PROFILE_PENDING → CLOSED"],
      tables: ["account_links", "management_keys", "passwords", "platforms", "seen_devices", "sessions"],
      activity: ["account.closed"],
      mails: ["customer.account_closed"],
    },
  ],
};

/** Acts of a platform on one of its principals. */
export const PRINCIPAL_OPERATIONS: Readonly<Record<string, Cases>> = {
  suspendPrincipal: [
    {
      when: "it has active agents",
      states: ["principal ACTIVE → SUSPENDED", "agent ACTIVE → SUSPENDED"],
      tables: ["agents", "principals"],
      activity: ["principal.suspended", "agent.suspended"],
      events: { principal: ["principal.status_changed"], agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      certificate: { agent: ["suspended"] },
    },
    {
      when: "it has active agents, after an end that no job has recorded",
      states: ["principal ACTIVE → SUSPENDED", "agent ACTIVE → SUSPENDED"],
      tables: ["agents", "principals"],
      activity: ["principal.attestation_expired", "principal.suspended", "agent.suspended"],
      events: { principal: ["principal.status_changed", "principal.status_changed"], agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      certificate: { agent: ["suspended"] },
    },
    {
      when: "its customer is suspended already",
      tables: ["principals"],
      activity: ["principal.suspended"],
    },
  ],

  reactivatePrincipal: [
    {
      when: "it is suspended for no other reason",
      states: ["principal SUSPENDED → ACTIVE"],
      tables: ["principals"],
      activity: ["principal.reactivated"],
      events: { principal: ["principal.status_changed"] },
    },
    {
      when: "its agents are reactivated with it",
      states: ["principal SUSPENDED → ACTIVE", "agent SUSPENDED → ACTIVE"],
      tables: ["agents", "principals"],
      activity: ["agent.reactivated", "principal.reactivated"],
      events: { agent: ["agent.status_changed"], principal: ["principal.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: {},
      certificate: { agent: ["reinstated"] },
    },
    {
      when: "its attestation has ended meanwhile",
      states: ["principal SUSPENDED → ATTESTATION_EXPIRED"],
      tables: ["principals"],
      activity: ["principal.reactivated"],
      events: { principal: ["principal.status_changed"] },
    },
  ],

  closePrincipal: [
    {
      when: "it has agents",
      states: ["principal SUSPENDED → CLOSED", "agent SUSPENDED → REVOKED"],
      tables: ["agents", "principals"],
      activity: ["principal.closed", "agent.revoked"],
      events: { principal: ["principal.status_changed"], agent: ["agent.status_changed"] },
      directory: { agent: ["revoked"] },
      certificate: { agent: ["revoked"] },
    },
    {
      when: "after an end that no job has recorded",
      states: ["principal ACTIVE → CLOSED"],
      tables: ["principals"],
      activity: ["principal.attestation_expired", "principal.closed"],
      events: { principal: ["principal.status_changed", "principal.status_changed"] },
    },
    {
      when: "it belongs to a customer",
      states: ["principal ACTIVE → CLOSED"],
      tables: ["customers", "principals"],
      activity: ["principal.closed"],
      events: { principal: ["principal.status_changed"] },
    },
  ],

  patchPrincipal: [
    { when: "its metadata", tables: ["principals"], activity: ["principal.updated"] },
    {
      when: "it joins a customer",
      tables: ["customers", "principals"],
      activity: ["principal.updated"],
    },
    {
      when: "it leaves a suspended customer",
      states: ["principal SUSPENDED → ACTIVE"],
      tables: ["customers", "principals"],
      activity: ["principal.updated"],
      events: { principal: ["principal.status_changed"] },
    },
    {
      when: "it leaves a suspended customer, and its attestation has ended meanwhile",
      states: ["principal SUSPENDED → ATTESTATION_EXPIRED"],
      tables: ["customers", "principals"],
      activity: ["principal.updated"],
      events: { principal: ["principal.status_changed"] },
    },
  ],
};

/** The rest of a cascade that a crash has interrupted. */
export const CASCADE_CASES: Cases = [
  {
    when: "a crash left active agents",
    states: ["agent ACTIVE → SUSPENDED"],
    tables: ["agents", "walks"],
    activity: ["agent.suspended"],
    events: { agent: ["agent.status_changed"] },
    directory: { agent: ["status_changed"] },
    certificate: { agent: ["suspended"] },
  },
  {
    when: "a crash left principals of a suspended customer, and their agents",
    states: ["agent ACTIVE → SUSPENDED"],
    tables: ["agents", "walks"],
    activity: ["principal.suspended", "agent.suspended"],
    events: { principal: ["principal.status_changed"], agent: ["agent.status_changed"] },
    directory: { agent: ["status_changed"] },
    certificate: { agent: ["suspended"] },
  },
  {
    when: "a crash left principals of a reactivated customer",
    tables: ["walks"],
    activity: ["principal.reactivated"],
    events: { principal: ["principal.status_changed"] },
  },
  {
    when: "a crash left active agents of a suspended account",
    states: ["agent ACTIVE → SUSPENDED"],
    tables: ["agents", "walks"],
    activity: ["agent.suspended"],
    events: { agent: ["agent.status_changed"] },
    directory: { agent: ["status_changed"] },
    certificate: { agent: ["suspended"] },
  },
  {
    when: "a crash left agents that were suspended with their account",
    states: ["agent SUSPENDED → ACTIVE"],
    tables: ["agents", "walks"],
    activity: ["agent.reactivated"],
    events: { agent: ["agent.status_changed"] },
    directory: { agent: ["status_changed"] },
    certificate: { agent: ["reinstated"] },
  },
  {
    when: "a crash left agents that were suspended with their account, and their attestation has ended",
    tables: ["agents", "walks"],
    activity: NOT_MOVED,
  },
  {
    when: "a crash left agents and principals of a closed account",
    states: ["agent ACTIVE → REVOKED", "principal ACTIVE → CLOSED"],
    tables: ["agents", "principals", "walks"],
    activity: ["agent.revoked", "principal.closed"],
    events: { agent: ["agent.status_changed"], principal: ["principal.status_changed"] },
    directory: { agent: ["revoked"] },
    certificate: { agent: ["revoked"] },
  },
];
