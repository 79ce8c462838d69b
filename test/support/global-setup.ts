// Runs once in Node before the workerd tests: two real chains with the contracts on them, and the secrets of a service.
import { randomBytes, randomUUID } from "node:crypto";
import { readD1Migrations } from "@cloudflare/vitest-plugin";
import type { TestProject } from "vitest/node";
import { deployContracts, devAccounts, startAnvil } from "../../scripts/chain.ts";
import { hashKey } from "../../src/auth/management-key.ts";
import type { Network } from "../../src/chain/gateway.ts";
import { startAccessTeams } from "./access-teams.ts";

const CHAINS = [
  { network: "base-sepolia", chainId: 84532, kind: "testnet" },
  { network: "base", chainId: 8453, kind: "mainnet" },
] as const;

export const ISSUER = "http://service.test";

export default async function setup(project: TestProject) {
  const [admin, registrar, arbiter, feeRecipient] = devAccounts();
  if (!admin || !registrar || !arbiter || !feeRecipient) throw new Error("anvil has no accounts");
  const running = await Promise.all(
    CHAINS.map(async ({ network, chainId, kind }) => {
      const anvil = await startAnvil({ chainId, port: 0 });
      const deployment = await deployContracts(anvil.rpcUrl, {
        adminKey: admin.privateKey,
        registrarAddress: registrar.address,
        arbiterAddress: arbiter.address,
        feeRecipient: feeRecipient.address,
      });
      const entry: Network = {
        network,
        chain_id: chainId,
        kind,
        rpc_url: anvil.rpcUrl,
        settlement_contract: deployment.settlementContract,
        token: deployment.token,
        currency: "USDC",
        decimals: 6,
        required_confirmations: 1,
      };
      return { anvil, entry };
    }),
  );
  const operatorKey = randomBytes(24).toString("base64url");
  project.provide("workerBindings", {
    ISSUER,
    NETWORKS: JSON.stringify(running.map(({ entry }) => entry)),
    CA_KEYS: JSON.stringify([{ jwk: await privateJwk(), use: "signing" }]),
    SERVICE_DID: `did:aeap:${randomUUID()}`,
    NONCE_KEY: randomBytes(32).toString("base64url"),
    OPERATOR_KEY_HASHES: await hashKey(operatorKey),
    CHAIN_REGISTRAR_KEY: registrar.privateKey,
  });
  project.provide("operatorKey", operatorKey);
  const teams = await startAccessTeams();
  project.provide("accessTeams", teams.origin);
  project.provide(
    "accounts",
    devAccounts().map(({ address }) => address),
  );
  project.provide("migrations", await readD1Migrations("./migrations"));
  return async () => {
    await Promise.all([teams.stop(), ...running.map(({ anvil }) => anvil.stop())]);
  };
}

async function privateJwk(): Promise<JsonWebKey> {
  const pair = (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
    "sign",
    "verify",
  ])) as CryptoKeyPair;
  const { kty, crv, x, y, d } = (await crypto.subtle.exportKey("jwk", pair.privateKey)) as JsonWebKey;
  return { kty, crv, x, y, d } as JsonWebKey;
}

declare module "vitest" {
  export interface ProvidedContext {
    workerBindings: Record<string, string>;
    operatorKey: string;
    accessTeams: string;
    accounts: string[];
    migrations: { name: string; queries: string[] }[];
  }
}
