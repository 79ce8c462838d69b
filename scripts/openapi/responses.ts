// The response schema of each operation, by operationId. They are kept out of the Worker, which does not validate its responses.
import * as z from "zod";
import {
  accountUsage,
  announcementView,
  askedView,
  closingView,
  documentList,
  documentView,
  keyList,
  passwordView,
  platformAccount,
  platformList,
  platformView,
  promotionView,
  reviewedAccount,
  rotationView,
  sessionConfirmationView as sessionConfirmation,
  sessionList,
  sessionView,
  totpConfirmationView,
  totpRemovalView,
  totpSetUpView,
  verifiedView,
} from "../../src/accounts/responses.ts";
import { agentList, credentialsView, movedAgentView, rotatedCredentialsView } from "../../src/agents/responses.ts";
import { agentView } from "../../src/agents/schema.ts";
import {
  attestedPrincipalView,
  reactivatedCustomerView,
  reactivatedPrincipalView,
} from "../../src/cascades/responses.ts";
import { MEDIA_TYPES } from "../../src/core/vocabulary.ts";
import { customerList } from "../../src/customers/responses.ts";
import { customerView } from "../../src/customers/schema.ts";
import { changeList, directoryEntry, directoryHead, entryList } from "../../src/directory/responses.ts";
import { disputeCase, disputeFile, disputeList, evidenceView, payoutView } from "../../src/disputes/responses.ts";
import { disputeView } from "../../src/disputes/schema.ts";
import { facilitationStatusView, facilitationView } from "../../src/facilitation/responses.ts";
import type { Route } from "../../src/http/route.ts";
import { CONTENTS, LD_TYPE, RESULTS } from "../../src/identity/resolver-routes.ts";
import {
  aidCheck,
  aidView,
  authorityView,
  certificateCheck,
  certificateView,
  challengeView,
  contentView,
  contextView,
  dereferencingView,
  didDocumentView,
  discoveryView,
  jwksView,
  linkedView,
  proofCheck,
  resolutionView,
  statusView,
} from "../../src/identity/responses.ts";
import { DOCUMENT_TYPE, JWKS_TYPE } from "../../src/identity/routes.ts";
import { jobList } from "../../src/jobs/responses.ts";
import {
  activityList,
  activityVerification,
  alertList,
  alertView,
  eventList,
  eventView,
  headList,
  operatorEntryList,
} from "../../src/journal/responses.ts";
import { marketList, marketsView, ownMarketList } from "../../src/markets/responses.ts";
import { networkList } from "../../src/networks/responses.ts";
import { addressView, evaluationView, intentList, intentView } from "../../src/payments/responses.ts";
import { attestationList, principalList, revocationView } from "../../src/principals/responses.ts";
import { principalView } from "../../src/principals/schema.ts";
import { ratingMethodView, ratingView } from "../../src/ratings/responses.ts";
import { overviewView, taskList, transactionList } from "../../src/reports/responses.ts";
import { clockView } from "../../src/sandbox/responses.ts";
import { taskConfirmationView, taskView } from "../../src/tasks/responses.ts";
import { differenceList, escrowReport, releaseView } from "../../src/vaults/responses.ts";
import { verifierList, verifierView } from "../../src/verifiers/responses.ts";
import { deliveryList, deliveryView, replayView, webhookList, webhookView } from "../../src/webhooks/responses.ts";
import { newWebhookView } from "../../src/webhooks/schema.ts";

/** `types`: the media types, unless there is only JSON. `forms`: schemas by media type, which replace `schema` for that type. */
export type ShownResponse = {
  readonly schema: z.ZodType;
  readonly types?: readonly string[];
  readonly forms?: Readonly<Record<string, z.ZodType>>;
};

const page = z.string().register(z.globalRegistry, { id: "Page" });

export const RESPONSES: Readonly<Record<string, ShownResponse>> = {
  submitDocument: { schema: documentView },
  listDocuments: { schema: documentList },
  getDocument: { schema: documentView },
  listPlatformDocuments: { schema: documentList },
  readPlatformDocument: { schema: documentView, types: MEDIA_TYPES },
  promotePlatform: { schema: promotionView },
  listKeys: { schema: keyList },
  rotateKey: { schema: rotationView },
  announceToAll: { schema: announcementView },
  openVerificationPage: { schema: page, types: ["text/html"] },
  openResetPage: { schema: page, types: ["text/html"] },
  changePassword: { schema: passwordView },
  forgotPassword: { schema: askedView },
  resetPassword: { schema: passwordView },
  changeEmail: { schema: askedView },
  submitVerification: { schema: platformView },
  getPlatformAccount: { schema: reviewedAccount },
  decideVerification: { schema: reviewedAccount },
  renewTenantAttestation: { schema: principalView },
  getPlatform: { schema: platformView },
  patchPlatform: { schema: platformView },
  listPlatforms: { schema: platformList },
  logIn: { schema: sessionView },
  listSessions: { schema: sessionList },
  confirmSession: { schema: sessionConfirmation },
  registerPlatform: { schema: platformAccount },
  verifyEmail: { schema: verifiedView },
  resendVerification: { schema: askedView },
  closePlatform: { schema: closingView },
  suspendPlatform: { schema: platformAccount },
  reinstatePlatform: { schema: platformAccount },
  setUpTotp: { schema: totpSetUpView },
  confirmTotp: { schema: totpConfirmationView },
  removePlatformTotp: { schema: totpRemovalView },
  getPlatformUsage: { schema: accountUsage },
  registerAgent: { schema: aidView },
  listAgents: { schema: agentList },
  getAgent: { schema: agentView },
  patchAgent: { schema: agentView },
  activateAgent: { schema: credentialsView },
  reissueAgentCertificate: { schema: certificateView },
  rotateAgentKey: {
    schema: rotatedCredentialsView,
  },
  transferAgent: { schema: movedAgentView },
  revokeAgent: { schema: agentView },
  patchAgentScope: { schema: agentView },
  patchAgentStatus: { schema: movedAgentView },
  createCustomer: { schema: customerView },
  listCustomers: { schema: customerList },
  getCustomer: { schema: customerView },
  patchCustomer: { schema: customerView },
  listDirectory: { schema: entryList },
  getDirectoryEntry: { schema: directoryEntry },
  listDirectoryChanges: { schema: changeList },
  getDirectoryHead: { schema: directoryHead },
  listAllDisputes: { schema: disputeList },
  getDisputeCase: { schema: disputeCase },
  resolveDispute: { schema: disputeFile },
  repeatPayout: { schema: payoutView },
  acceptOffer: { schema: disputeView },
  concedeDispute: { schema: disputeView },
  withdrawDispute: { schema: disputeView },
  escalateDispute: { schema: disputeView },
  fileDispute: { schema: disputeView },
  getDispute: { schema: disputeFile },
  respondToDispute: { schema: disputeView },
  addDisputeEvidence: { schema: evidenceView },
  facilitate: { schema: facilitationView },
  getFacilitationStanding: { schema: facilitationStatusView },
  cancelPaymentIntent: { schema: intentView },
  getAuthority: { schema: authorityView },
  getCaJwks: { schema: jwksView, types: [JWKS_TYPE] },
  getCaJwksJson: { schema: jwksView, types: [JWKS_TYPE] },
  getChallenge: { schema: challengeView },
  verifyCertificate: { schema: certificateCheck },
  verifyProof: { schema: proofCheck },
  verifyAid: { schema: aidCheck },
  getDiscovery: { schema: discoveryView },
  getStatusList: { schema: z.string(), types: ["application/statuslist+jwt"] },
  resolveDid: {
    schema: resolutionView,
    types: [...RESULTS, ...CONTENTS],
    forms: {
      "application/did-resolution": resolutionView,
      "application/did-url-dereferencing": dereferencingView,
      [LD_TYPE]: linkedView,
      ...Object.fromEntries(CONTENTS.map((type) => [type, contentView])),
    },
  },
  getAgentDidDocument: { schema: didDocumentView, types: [DOCUMENT_TYPE] },
  getAgentDidWebDocument: { schema: didDocumentView, types: [DOCUMENT_TYPE] },
  getAgentAid: { schema: aidView, types: ["application/json", "application/jwt"] },
  getAgentStatus: { schema: statusView },
  getAgentCertificate: { schema: certificateView },
  getContext: { schema: contextView, types: [LD_TYPE] },
  listJobs: { schema: jobList },
  listActivity: {
    schema: activityList,
    types: ["application/json", "text/csv"],
  },
  listActivityHeads: { schema: headList },
  verifyActivity: { schema: activityVerification },
  listAlerts: { schema: alertList },
  acknowledgeAlert: { schema: alertView },
  listEvents: { schema: eventList },
  getEvent: { schema: eventView },
  listOperatorActivity: { schema: operatorEntryList },
  listMarkets: { schema: marketList },
  authorizeMarkets: { schema: marketsView },
  listAuthorizedMarkets: { schema: ownMarketList },
  listNetworks: { schema: networkList },
  createPaymentIntent: { schema: intentView },
  listPaymentIntents: { schema: intentList },
  getPaymentIntent: { schema: intentView },
  evaluateSpendPolicy: { schema: evaluationView },
  getPaymentAddress: { schema: addressView },
  registerPrincipal: { schema: principalView },
  listPrincipals: { schema: principalList },
  getPrincipal: { schema: principalView },
  promoteAgent: { schema: movedAgentView },
  getAgentRating: { schema: ratingView },
  getRatingMethod: { schema: ratingMethodView },
  listTasks: { schema: taskList, types: ["application/json", "text/csv"] },
  listDisputes: { schema: disputeList, types: ["application/json", "text/csv"] },
  listTransactions: {
    schema: transactionList,
    types: ["application/json", "text/csv"],
  },
  getAgentOverview: { schema: overviewView },
  listAgentTasks: { schema: taskList },
  listAgentTransactions: { schema: transactionList },
  listAgentEvents: { schema: eventList },
  getSandboxClock: { schema: clockView },
  advanceSandboxClock: { schema: clockView },
  suspendPrincipal: { schema: principalView },
  closePrincipal: { schema: principalView },
  suspendCustomer: { schema: customerView },
  patchPrincipal: { schema: principalView },
  revokeAttestation: { schema: revocationView },
  recordAttestation: { schema: attestedPrincipalView },
  listAttestations: { schema: attestationList },
  reactivatePrincipal: { schema: reactivatedPrincipalView },
  reactivateCustomer: { schema: reactivatedCustomerView },
  getTask: { schema: taskView },
  confirmTask: { schema: taskConfirmationView },
  getAgentEscrow: { schema: escrowReport },
  syncAgentEscrow: { schema: escrowReport },
  releaseAgentEscrow: { schema: releaseView },
  listDifferences: { schema: differenceList },
  registerVerifier: { schema: verifierView },
  listVerifiers: { schema: verifierList },
  getVerifier: { schema: verifierView },
  patchVerifier: { schema: verifierView },
  createWebhook: { schema: newWebhookView },
  listWebhooks: { schema: webhookList },
  getWebhook: { schema: webhookView },
  patchWebhook: { schema: webhookView },
  rotateWebhookSecret: { schema: newWebhookView },
  testWebhook: { schema: deliveryView },
  listDeliveries: { schema: deliveryList },
  redeliver: { schema: deliveryView },
  replayEvents: { schema: replayView },
  getHealth: { schema: z.object({ status: z.literal("ok") }).register(z.globalRegistry, { id: "Health" }) },
};

/** Returns the success response of an operation. Throws if it is missing from the table. */
export function findResponse({ operationId, status }: Pick<Route, "operationId" | "status">): ShownResponse {
  if (status === 204) return { schema: z.null() };
  const response = RESPONSES[operationId];
  if (!response) throw new Error(`no response of ${operationId} is known: see scripts/openapi/responses.ts`);
  return response;
}
