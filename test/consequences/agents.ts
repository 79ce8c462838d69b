// The rows of principals, agents, and what others read of them in the table of consequences (table.ts).
import { BY_ITSELF, type Cases, NO_EDIT } from "./words.ts";

const RECORDED_WITH_PROFILE = { none: "recorded with the change of the profile" } as const;

export const AGENT_OPERATIONS: Readonly<Record<string, Cases>> = {
  registerPrincipal: [
    {
      when: "without a customer",
      states: ["principal none → ACTIVE"],
      tables: ["attestations", "principals"],
      activity: ["principal.registered"],
    },
    {
      when: "under a customer, which counts it",
      states: ["principal none → ACTIVE"],
      tables: ["attestations", "customers", "principals"],
      activity: ["principal.registered"],
    },
  ],

  registerAgent: [
    {
      when: "a consumer",
      states: ["agent none → DRAFT"],
      tables: ["agents"],
      activity: ["agent.registered"],
      events: { agent: ["agent.registered"] },
      document: { agent: ["unsigned version"] },
    },
    {
      when: "a provider, which its principal counts",
      states: ["agent none → DRAFT"],
      tables: ["agents", "principals"],
      activity: ["agent.registered"],
      events: { agent: ["agent.registered"] },
      document: { agent: ["unsigned version"] },
    },
  ],

  reissueAgentCertificate: [
    {
      when: "always",
      tables: ["agents"],
      activity: ["agent.certificate_reissued"],
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued"] },
    },
  ],

  rotateAgentKey: [
    {
      when: "without a grace",
      tables: ["agents"],
      activity: ["agent.key_rotated"],
      events: { agent: ["agent.key_rotated"] },
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued", "replaced"] },
    },
    {
      when: "with a grace of 24 hours",
      tables: ["agents"],
      activity: ["agent.key_rotated"],
      events: { agent: ["agent.key_rotated"] },
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued", "replaced in 24 hours"] },
    },
  ],

  patchAgent: [
    {
      when: "the profile or the address",
      tables: ["agents"],
      activity: ["agent.updated"],
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
    },
    {
      when: "the reference or the metadata only",
      tables: ["agents"],
      activity: ["agent.updated"],
    },
    {
      when: "the profile of a DRAFT",
      tables: ["agents"],
      activity: ["agent.updated"],
      document: { agent: ["unsigned version"] },
    },
  ],

  patchAgentScope: [
    {
      when: "not narrowed",
      tables: ["agents"],
      activity: ["agent.scope_changed"],
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued"] },
    },
    {
      when: "narrowed",
      tables: ["agents"],
      activity: ["agent.scope_changed"],
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued", "replaced in 24 hours"] },
    },
    {
      when: "narrowed, the principal not ACTIVE",
      tables: ["agents"],
      activity: ["agent.scope_changed"],
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["replaced in 24 hours"] },
    },
    {
      when: "a DRAFT",
      tables: ["agents"],
      activity: ["agent.scope_changed"],
      document: { agent: ["unsigned version"] },
    },
  ],

  getAgentAid: [
    {
      when: "the document is stale",
      activity: NO_EDIT,
      document: { agent: ["signed"] },
    },
    { when: "the document is signed" },
  ],

  getStatusList: [
    {
      when: "the list was signed a minute ago or never",
      tables: ["status_lists"],
      activity: NO_EDIT,
    },
    { when: "the list was signed since" },
  ],
};

export const AGENT_JOBS: Readonly<Record<string, Cases>> = {
  end_attestations: [
    {
      when: "it has active agents",
      states: ["agent ACTIVE → SUSPENDED", "principal ACTIVE → ATTESTATION_EXPIRED"],
      tables: ["agents", "principals"],
      activity: ["agent.suspended", "principal.attestation_expired"],
      events: { principal: ["principal.status_changed"], agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      certificate: { agent: ["suspended"] },
    },
    {
      when: "it has no active agents",
      states: ["principal ACTIVE → ATTESTATION_EXPIRED"],
      tables: ["principals"],
      activity: ["principal.attestation_expired"],
      events: { principal: ["principal.status_changed"] },
    },
  ],

  restate_agents: [
    {
      when: "a crash left agents that state the old name",
      tables: ["agents", "walks"],
      activity: RECORDED_WITH_PROFILE,
      directory: { agent: ["updated"] },
      document: { agent: ["stale version"] },
    },
  ],

  note_authority_keys: [
    {
      when: "a key is published, signs, or leaves without having signed",
      tables: ["authority_keys"],
      activity: BY_ITSELF,
    },
    {
      when: "a key that is needed is missing",
      states: ["alert none → open"],
      activity: BY_ITSELF,
      alerts: ["authority_key"],
    },
  ],

  open_status_lists: [{ when: "the newest list is counted", tables: ["status_lists"], activity: BY_ITSELF }],
};
