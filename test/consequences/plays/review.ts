// Plays of documents, of the review, and of the erasure after a closing.

import { sweepDocuments } from "../../../src/accounts/documents.ts";
import { computeRetentionMs, eraseClosedAccounts } from "../../../src/accounts/erase.ts";
import { endAttestations } from "../../../src/cascades/expire.ts";
import {
  accountOf,
  accredited,
  ask,
  complete,
  decide,
  inReview,
  operate,
  type Person,
  submit,
} from "../../accounts/review-support.ts";
import { agentBody, env, type World } from "../../support/world.ts";
import { HOUR, must, type Play, type Plays } from "./stage.ts";

type Begin = (world: World) => Promise<Person>;
type Act = (world: World, person: Person) => Promise<unknown>;

/** A play of one account whose key was used before, so that the play does not write its first use. */
const of =
  (begin: Begin, act: Act, prepare: Act = async () => undefined): Play =>
  async ({ world }) => {
    const person = await begin(world);
    const { tenant_principal_id: principalId } = await accountOf(world, person);
    await prepare(world, person);
    return async () => {
      await act(world, person);
      return { account: [person.platformId], principal: [principalId] };
    };
  };

/** A play of one account whose company has an ACTIVE agent. */
const withAgent =
  (begin: Begin, act: Act, prepare: Act = async () => undefined): Play =>
  async ({ world }) => {
    const person = await begin(world);
    const { key } = person;
    const { tenant_principal_id: principalId } = await accountOf(world, person);
    const body = { ...agentBody("CONSUMER"), principal_id: principalId };
    const { did } = await must(201, world.call("POST", "/v1/agents", { key, body }));
    await must(200, world.call("POST", `/v1/agents/${did}/activate`, { key }));
    await prepare(world, person);
    return async () => {
      await act(world, person);
      return { account: [person.platformId], principal: [principalId], agent: [did] };
    };
  };

const submitting =
  (type: string): Act =>
  (world, person) =>
    submit(world, person, type);

const propose: Act = (world, person) =>
  must(200, ask(world, person, "PATCH", "/v1/platform", { body: { legal_name: "Renamed Robotics GmbH" } }));

const approve: Act = (world, person) => must(200, decide(world, person, { decision: "approve" }));
const reject: Act = (world, person) => must(200, decide(world, person, { decision: "reject", reason: "Not yet." }));
const renew: Act = (world, { platformId }) =>
  must(201, operate(world, "POST", `/v1/operator/platforms/${platformId}/attestation`, {}));

const endAttestation: Act = async (world, { platformId }) => {
  const text = "update principals set attestation_expires_at = ? where platform_id = ?";
  await env.DB.prepare(text).bind(world.now(), platformId).run();
  await world.run(endAttestations);
};

const read: Act = async (world, person) => {
  const { data } = await must(200, ask(world, person, "GET", "/v1/platform/documents"));
  const path = `/v1/operator/platforms/${person.platformId}/documents/${data[0].document_id}`;
  return must(200, operate(world, "GET", path));
};

const close: Act = async (world, { platformId }) => {
  const text = "update platforms set status = 'CLOSED', closed_at = ? where platform_id = ?";
  await env.DB.prepare(text)
    .bind(world.now() - computeRetentionMs(world.deps.env), platformId)
    .run();
};

const FILE = "certificate_of_incorporation";

export const REVIEW_PLAYS: Plays = {
  submitDocument: {
    "a required type": of(complete, submitting(FILE)),
    "a required type that replaces an earlier document": of(complete, submitting(FILE), submitting(FILE)),
    supporting: of(complete, submitting("supporting")),
  },
  submitVerification: {
    always: of(inReview, (world, person) => must(200, ask(world, person, "POST", "/v1/platform/verification")), reject),
  },
  readPlatformDocument: { always: of(inReview, read) },
  decideVerification: {
    approve: of(inReview, approve),
    "approve, and its company has agents": withAgent(inReview, approve),
    reject: of(inReview, reject),
    "approve a proposed name, and its company has agents": withAgent(
      accredited,
      (world, person) => must(200, decide(world, person, { subject: "profile", decision: "approve" })),
      propose,
    ),
    "reject a proposed name": of(
      accredited,
      (world, person) => must(200, decide(world, person, { subject: "profile", decision: "reject", reason: "No." })),
      propose,
    ),
  },
  renewTenantAttestation: {
    "before it ends": of(accredited, renew),
    "after it has ended, with a suspended agent": withAgent(accredited, renew, endAttestation),
  },
  sweep_documents: {
    "a file has no row": of(
      complete,
      (world) => world.run(sweepDocuments),
      async (world, { platformId }) => {
        await env.DOCUMENTS.put(`${platformId}/doc_stray`, "%PDF-");
        world.advance(2 * HOUR);
      },
    ),
  },
  erase_closed_accounts: {
    "the retention is over": of(inReview, (world) => world.run(eraseClosedAccounts), close),
  },
};
