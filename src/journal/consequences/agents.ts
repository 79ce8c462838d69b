// Principals, agents, and what others read of them: the rows of the table of consequences (table.ts).
import { BY_ITSELF, type Cases, NO_EDIT, NO_NOTICE, NONE, NOTHING, UNSEEN } from "./words.ts";

const RECORDED_WITH_PROFILE = { none: "recorded with the change of the profile" } as const;

export const AGENT_OPERATIONS: Readonly<Record<string, Cases>> = {
  registerPrincipal: [
    {
      when: "without a customer",
      states: ["principal none → ACTIVE"],
      tables: ["attestations", "principals"],
      activity: ["principal.registered"],
      ...UNSEEN,
    },
    {
      when: "under a customer, which counts it",
      states: ["principal none → ACTIVE"],
      tables: ["attestations", "customers", "principals"],
      activity: ["principal.registered"],
      ...UNSEEN,
    },
  ],

  registerAgent: [
    {
      when: "a consumer",
      states: ["agent none → DRAFT"],
      tables: ["agents"],
      activity: ["agent.registered"],
      events: { agent: ["agent.registered"] },
      directory: NONE,
      document: { agent: ["unsigned version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "a provider, which its principal counts",
      states: ["agent none → DRAFT"],
      tables: ["agents", "principals"],
      activity: ["agent.registered"],
      events: { agent: ["agent.registered"] },
      directory: NONE,
      document: { agent: ["unsigned version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  reissueAgentCertificate: [
    {
      when: "always",
      states: [],
      tables: ["agents"],
      activity: ["agent.certificate_reissued"],
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued"] },
      ...NO_NOTICE,
    },
  ],

  rotateAgentKey: [
    {
      when: "without a grace",
      states: [],
      tables: ["agents"],
      activity: ["agent.key_rotated"],
      events: { agent: ["agent.key_rotated"] },
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued", "replaced"] },
      ...NO_NOTICE,
    },
    {
      when: "with a grace of 24 hours",
      states: [],
      tables: ["agents"],
      activity: ["agent.key_rotated"],
      events: { agent: ["agent.key_rotated"] },
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued", "replaced in 24 hours"] },
      ...NO_NOTICE,
    },
  ],

  patchAgent: [
    {
      when: "the profile or the address",
      states: [],
      tables: ["agents"],
      activity: ["agent.updated"],
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "the reference or the metadata alone",
      states: [],
      tables: ["agents"],
      activity: ["agent.updated"],
      ...UNSEEN,
    },
    {
      when: "the profile of a DRAFT",
      states: [],
      tables: ["agents"],
      activity: ["agent.updated"],
      events: NONE,
      directory: NONE,
      document: { agent: ["unsigned version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  patchAgentScope: [
    {
      when: "not narrowed",
      states: [],
      tables: ["agents"],
      activity: ["agent.scope_changed"],
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued"] },
      ...NO_NOTICE,
    },
    {
      when: "narrowed",
      states: [],
      tables: ["agents"],
      activity: ["agent.scope_changed"],
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued", "replaced in 24 hours"] },
      ...NO_NOTICE,
    },
    {
      when: "narrowed, the principal not ACTIVE",
      states: [],
      tables: ["agents"],
      activity: ["agent.scope_changed"],
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["replaced in 24 hours"] },
      ...NO_NOTICE,
    },
    {
      when: "of a DRAFT",
      states: [],
      tables: ["agents"],
      activity: ["agent.scope_changed"],
      events: NONE,
      directory: NONE,
      document: { agent: ["unsigned version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  getAgentAid: [
    {
      when: "the document is stale",
      states: [],
      tables: [],
      activity: NO_EDIT,
      events: NONE,
      directory: NONE,
      document: { agent: ["signed"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    { when: "the document is signed", ...NOTHING },
  ],

  getStatusList: [
    {
      when: "the list was signed a minute ago or never",
      states: [],
      tables: ["status_lists"],
      activity: NO_EDIT,
      ...UNSEEN,
    },
    { when: "the list was signed since", ...NOTHING },
  ],
};

export const AGENT_JOBS: Readonly<Record<string, Cases>> = {
  end_attestations: [
    {
      when: "agents run",
      states: ["agent ACTIVE → SUSPENDED", "principal ACTIVE → ATTESTATION_EXPIRED"],
      tables: ["agents", "principals"],
      activity: ["agent.suspended", "principal.attestation_expired"],
      events: { principal: ["principal.status_changed"], agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: NONE,
      certificate: { agent: ["suspended"] },
      ...NO_NOTICE,
    },
    {
      when: "no agent runs",
      states: ["principal ACTIVE → ATTESTATION_EXPIRED"],
      tables: ["principals"],
      activity: ["principal.attestation_expired"],
      events: { principal: ["principal.status_changed"] },
      directory: NONE,
      document: NONE,
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  restate_agents: [
    {
      when: "a crash left agents that state another name",
      states: [],
      tables: ["agents", "restatements"],
      activity: RECORDED_WITH_PROFILE,
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["stale version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  note_authority_keys: [
    {
      when: "a key is published, signs, or leaves without having signed",
      states: [],
      tables: ["authority_keys"],
      activity: BY_ITSELF,
      ...UNSEEN,
    },
    {
      when: "a key that is needed is missing",
      states: ["alert none → open"],
      tables: [],
      activity: BY_ITSELF,
      events: NONE,
      directory: NONE,
      document: NONE,
      certificate: NONE,
      alerts: ["authority_key"],
      mails: [],
    },
  ],

  open_status_lists: [
    { when: "the newest list is counted", states: [], tables: ["status_lists"], activity: BY_ITSELF, ...UNSEEN },
  ],
};
