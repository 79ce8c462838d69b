// The Worker on a separate chain, in the process of a test, which freezes its runtime, reads the state, and kills it: the state that was read is
// exactly the state at its death. The chain goes on meanwhile, as a real one does.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Hex } from "viem";
import { type Agent, type Json, keyHeaders, operatorHeaders, pickValue, send } from "../../scripts/client.ts";
import { openDoor } from "../../scripts/door.ts";
import { roleAccounts, startEphemeralChain } from "../../scripts/ephemeral.ts";
import { folders, prepareDatabase, startWorker } from "../../scripts/local-worker.ts";
import { type Group, startGuard } from "../../scripts/processes.ts";
import { loadOrCreateSecrets, type Secrets } from "../../scripts/secrets.ts";
import { importPrivateKeyPem } from "../../src/protocol/ecdsa.ts";
import { type HeldNode, startHeldNode } from "./held-node.ts";
import { untilStopped } from "./processes.ts";
import { databaseWith, runtimeBelow } from "./runtime-kill.ts";

export type KillableWorker = {
  readonly baseUrl: string;
  /** The proxy between the Worker and the chain. */
  readonly node: HeldNode;
  /** The chain itself. */
  readonly chain: { readonly network: string; readonly rpcUrl: string; readonly contract: Hex; readonly token: Hex };
  readonly database: (kind: "d1" | "do", table: string, waitMs?: number) => DatabaseSync;
  /** Resolves when the runtime has stopped: the signal is sent at once, and arrives a little later. */
  readonly freeze: () => Promise<void>;
  readonly thaw: () => void;
  readonly kill: () => Promise<void>;
  /**
   * Starts on the existing state. The queue of a local runtime dies with it, and a job whose parts are lost starts again after five minutes (JOB-5),
   * which pass at once here.
   */
  readonly start: () => Promise<void>;
  readonly close: () => Promise<void>;
  /** A call of the platform. Throws if it is answered with another status. */
  readonly manage: (path: string, body: Json, status: number) => Promise<Json>;
  /** A call of the operator. Throws if it is answered with another status. */
  readonly operate: (path: string, body: Json, status: number) => Promise<Json>;
  readonly agent: (role: "PROVIDER" | "CONSUMER", more?: Json) => Promise<Agent>;
};

const STALLED_MS = 300_000;

export async function startKillable(): Promise<KillableWorker> {
  const dir = mkdtempSync(join(tmpdir(), "killable-"));
  const { anvil, entry } = await startEphemeralChain({ network: "base-sepolia", chainId: 84_532, kind: "testnet" });
  const node = await startHeldNode(anvil.rpcUrl);
  const guard = startGuard();
  guard.add(anvil.pid);
  const secrets = withOwnKeys(await loadOrCreateSecrets(folders(dir).secrets));
  const space = { dir, guard, secrets, signal: new AbortController().signal, progress: () => undefined };
  await prepareDatabase(space);
  const door = await openDoor(0, "");
  const baseUrl = `http://127.0.0.1:${door.port}`;
  const networks = [{ ...entry, rpc_url: node.url }];
  let worker: Group;
  let runtime = 0;
  const start = async () => {
    using database = databaseWith(dir, "d1", "jobs");
    database.prepare("update jobs set progressed_at = progressed_at - ? where pending > 0").run(STALLED_MS);
    worker = await startWorker({ ...space, door, networks, echo: () => undefined });
    runtime = runtimeBelow(worker.pid);
  };
  const kill = async () => {
    process.kill(-worker.pid, "SIGKILL");
    await worker.stop();
  };
  const callWith = (headers: Record<string, string>) => async (path: string, body: Json, status: number) => {
    const reply = await send(baseUrl, { method: "POST", path, body }, headers);
    if (reply.status !== status) throw new Error(`${path} answered ${reply.status}: ${reply.text}`);
    return JSON.parse(reply.text) as Json;
  };
  const manage = callWith(keyHeaders(secrets.platform.sandbox_key));
  await start();
  return {
    baseUrl,
    node,
    chain: {
      network: entry.network,
      rpcUrl: anvil.rpcUrl,
      contract: entry.settlement_contract as Hex,
      token: entry.token as Hex,
    },
    database: (kind, table, waitMs) => databaseWith(dir, kind, table, waitMs),
    freeze: () => {
      process.kill(runtime, "SIGSTOP");
      return untilStopped(runtime);
    },
    thaw: () => process.kill(runtime, "SIGCONT"),
    kill,
    start,
    close: async () => {
      await kill().catch(() => undefined);
      await door.close();
      await anvil.stop();
      node.stop();
      guard.close();
      rmSync(dir, { recursive: true, force: true });
    },
    manage,
    operate: callWith(operatorHeaders(secrets.operator_key)),
    agent: (role, more = {}) => registerAgent(manage, role, more),
  };
}

/** The registrar and the arbiter sign with the accounts to which the local chain gave their roles, and which have gas. */
function withOwnKeys(secrets: Secrets): Secrets {
  const { registrar, arbiter } = roleAccounts();
  const keyOf = ({ address, privateKey }: typeof registrar) => ({ address, private_key: privateKey });
  return { ...secrets, chain: { ...secrets.chain, registrar: keyOf(registrar), arbiter: keyOf(arbiter) } };
}

let named = 0;

/** Registers an ACTIVE agent under a new principal, unless `more` names one. */
async function registerAgent(manage: KillableWorker["manage"], role: string, more: Json): Promise<Agent> {
  const name = `${role} ${++named}`;
  const owner = {
    legal_name: `${name} Ltd`,
    country: "DE",
    entity_type: "company",
    external_ref: name,
    verification_attestation: { placeholder: true },
  };
  const principal_id = more["principal_id"] ?? (await manage("/v1/principals", owner, 201))["principal_id"];
  const action = role === "PROVIDER" ? "sell" : "purchase";
  const body = {
    economic_role: role,
    profile: { display_name: name, description: "Trades." },
    endpoint_url: "https://agent.example/v1",
    scope: { authorized_actions: [action], capabilities: ["translation"] },
    ...more,
    principal_id,
  };
  const did = pickValue<string>(await manage("/v1/agents", body, 201), "did");
  const credentials = await manage(`/v1/agents/${did}/activate`, {}, 200);
  const key = await importPrivateKeyPem(pickValue(credentials, "private_key"));
  return { name, did, certificate: pickValue(credentials, "certificate"), key };
}

/** True while a process is in the middle of a batch on the database. Only for a frozen runtime, whose own later batches it would refuse. */
export function isWritten(database: DatabaseSync): boolean {
  try {
    database.exec("begin immediate");
  } catch (thrown) {
    if (thrown instanceof Error && thrown.message.includes("locked")) return true;
    throw thrown;
  }
  database.exec("rollback");
  return false;
}

/** Makes each change of this kind slow enough that a test can find its batch half done. */
export function slowDown(database: DatabaseSync, change: string, steps: number): void {
  const count = `with recursive counted (n) as (select 1 union all select n + 1 from counted where n < ${steps}) select n from counted`;
  database.exec(`create trigger slow_down after ${change} begin select count(*) from (${count}); end`);
}

/** Numbers from 0 to 1 that repeat in each run (mulberry32). */
export function seededNumbers(seed = 20_270_301): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
