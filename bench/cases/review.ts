// Documents and the review: by a session of the account, and by the operator.
import { documentParts, formBytes, formHeaders, pdf } from "../../test/support/form.ts";
import type { Case } from "../case.ts";
import { asPerson } from "../persons.ts";
import { json, must, operate, type Play } from "../play.ts";
import type { Ask } from "../wire.ts";

const MIB = 1024 * 1024;
const DOCUMENTS = "/v1/platform/documents";

/** Uploads a document of a required type, because an account may have only 50 supporting ones. */
async function upload({ stage }: Play, size = MIB): Promise<Ask> {
  // Resets the count, because an account may submit only so many a day.
  const afresh = "update platforms set documents = json_remove(documents, '$.submitted') where platform_id = ?";
  await stage.sql([{ sql: afresh, params: [stage.platform.platformId] }]);
  const ask = await asPerson(stage, stage.platform, "POST", DOCUMENTS);
  const body = Buffer.from(formBytes(documentParts("director_identification", pdf(size))));
  return { ...ask, body, headers: { ...ask.headers, ...formHeaders(), "Content-Length": String(body.length) } };
}

async function uploadSmallDocument(play: Play): Promise<string> {
  return String(json(await must(play.stage, upload(play, 1_000), 201))["document_id"]);
}

/** Brings the second platform to a state of the review, with its documents. */
async function setReviewState({ stage }: Play, status: string): Promise<Play["stage"]> {
  const documents = {
    certificate_of_incorporation: "doc_1",
    proof_of_registered_address: "doc_2",
    director_identification: "doc_3",
    ownership_and_control_structure: "doc_4",
  };
  const sql = "update platforms set status = ?, documents = ? where platform_id = ?";
  await stage.sql([{ sql, params: [status, JSON.stringify(documents), stage.second.platformId] }]);
  return { ...stage, platform: stage.second };
}

const operating =
  (status: string, act: string, body: Record<string, unknown>) =>
  async (play: Play): Promise<Ask> => {
    const { platform } = await setReviewState(play, status);
    return operate(play.stage, "POST", `/v1/operator/platforms/${platform.platformId}/${act}`, body);
  };

const documentsOf = ({ stage }: Play): string => `/v1/operator/platforms/${stage.platform.platformId}/documents`;

export const REVIEW: readonly Case[] = [
  {
    route: "POST /v1/platform/documents",
    variant: "1 MiB",
    status: 201,
    timed: "effect",
    ask: (play) => upload(play),
  },
  {
    route: "GET /v1/platform/documents",
    status: 200,
    filling: true,
    ask: ({ stage }) => asPerson(stage, stage.platform, "GET", `${DOCUMENTS}?limit=20`),
  },
  {
    route: "GET /v1/platform/documents/{document_id}",
    status: 200,
    ask: async (play) =>
      asPerson(play.stage, play.stage.platform, "GET", `${DOCUMENTS}/${await uploadSmallDocument(play)}`),
  },
  {
    route: "POST /v1/platform/verification",
    status: 200,
    ask: async (play) => {
      const stage = await setReviewState(play, "KYB_PENDING");
      return asPerson(stage, stage.platform, "POST", "/v1/platform/verification");
    },
  },
  {
    route: "GET /v1/operator/platforms/{platform_id}",
    status: 200,
    ask: ({ stage }) => operate(stage, "GET", `/v1/operator/platforms/${stage.platform.platformId}`),
  },
  {
    route: "GET /v1/operator/platforms/{platform_id}/usage",
    status: 200,
    ask: ({ stage }) => operate(stage, "GET", `/v1/operator/platforms/${stage.platform.platformId}/usage`),
  },
  {
    route: "GET /v1/operator/platforms/{platform_id}/documents",
    status: 200,
    filling: true,
    ask: (play) => operate(play.stage, "GET", `${documentsOf(play)}?limit=20`),
  },
  {
    route: "GET /v1/operator/platforms/{platform_id}/documents/{document_id}",
    status: 200,
    ask: async (play) => operate(play.stage, "GET", `${documentsOf(play)}/${await uploadSmallDocument(play)}`),
  },
  {
    route: "POST /v1/operator/platforms/{platform_id}/decision",
    variant: "approve",
    status: 200,
    ask: operating("IN_REVIEW", "decision", { decision: "approve" }),
  },
  {
    route: "POST /v1/operator/platforms/{platform_id}/decision",
    variant: "reject",
    status: 200,
    ask: operating("IN_REVIEW", "decision", { decision: "reject", reason: "Not yet." }),
  },
  {
    route: "POST /v1/operator/platforms/{platform_id}/attestation",
    status: 201,
    ask: operating("ACCREDITED", "attestation", {}),
  },
];
