// Runs the mirror script of docs/directory.md against a local stack (DIR-5 to DIR-14): with an empty copy, again, after changes, and with a copy that
// contradicts the signed head.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { fireCron } from "../../scripts/local-worker.ts";
import type { ServiceDescription } from "../../scripts/stack.ts";

type Json = Record<string, unknown>;

const page = readFileSync(join(import.meta.dirname, "../../docs/directory.md"), "utf8");
const printed = /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
const MOST_LINES = 60;

export async function expectMirrored({ base_url, sandbox_key }: ServiceDescription, folder: string): Promise<void> {
  const script = join(folder, "mirror.mjs");
  const copy = join(folder, "directory.json");
  expect(printed.trim().split("\n").length).toBeLessThanOrEqual(MOST_LINES);
  writeFileSync(script, printed);
  async function ask(method: string, path: string, body?: Json): Promise<Json> {
    const reply = await fetch(`${base_url}${path}`, {
      method,
      headers: { "Service-Api-Key": sandbox_key, "Content-Type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return (await reply.json()) as Json;
  }
  async function consumer(): Promise<string> {
    const { principal_id } = await ask("POST", "/v1/principals", {
      legal_name: `Mirrored ${crypto.randomUUID()}`,
      country: "DE",
      entity_type: "company",
      external_ref: crypto.randomUUID(),
      verification_attestation: { placeholder: true },
    });
    const { did } = await ask("POST", "/v1/agents", {
      principal_id,
      economic_role: "CONSUMER",
      profile: { display_name: "Buyer", description: "Buys." },
      endpoint_url: "https://agent.example/v1",
      scope: { authorized_actions: ["purchase"], capabilities: ["translation"] },
    });
    await ask("POST", `/v1/agents/${did}/activate`, {});
    return String(did);
  }
  /** The number that the head covers; 0 before the first head is signed. */
  const signedUpTo = (): Promise<number> =>
    ask("GET", "/v1/directory/head").then(
      ({ seq }) => Number(seq),
      () => 0,
    );
  const mirror = () => spawnSync(process.execPath, [script, base_url, sandbox_key, copy], { encoding: "utf8" });
  async function expectCopy(): Promise<void> {
    const { status, stderr } = mirror();
    expect([status, stderr]).toEqual([0, ""]);
    const { data } = (await ask("GET", "/v1/directory/agents?status=all&limit=100")) as { data: Json[] };
    const { entries } = JSON.parse(readFileSync(copy, "utf8")) as { entries: Record<string, Json> };
    expect(Object.values(entries).sort(byDid)).toEqual(data.toSorted(byDid));
  }

  const dids = [await consumer(), await consumer()];
  await expectCopy();
  await expectCopy();
  await ask("PATCH", `/v1/agents/${dids[0]}/status`, { status: "SUSPENDED" });
  await ask("POST", `/v1/agents/${dids[1]}/revoke`, { reason: "Gone." });
  dids.push(await consumer());
  await expectCopy();
  // Fires the cron until the head covers the copy, because the runtime's queue runs the job.
  const { seq } = JSON.parse(readFileSync(copy, "utf8")) as { seq: number };
  do await fireCron(base_url);
  while ((await signedUpTo()) < seq);
  await expectCopy();
  const kept = JSON.parse(readFileSync(copy, "utf8")) as Json;
  writeFileSync(copy, JSON.stringify({ ...kept, hash: "f".repeat(64) }));
  const { status, stderr } = mirror();
  expect([status, /other records were signed/.test(stderr)]).toEqual([1, true]);
  writeFileSync(copy, JSON.stringify({ ...kept, seq: 2, place: "" }));
  // If a head was signed at record 2, the script reports its hash first.
  expect(mirror().stderr).toMatch(/record 3 is missing|other records were signed at 2/);
  // A place ahead of the feed, as after a restore of the database: the script starts over.
  writeFileSync(copy, JSON.stringify({ ...kept, entries: {}, place: `since=${seq + 1_000}` }));
  await expectCopy();
}

const byDid = (a: Json, b: Json): number => (String(a["did"]) < String(b["did"]) ? -1 : 1);
