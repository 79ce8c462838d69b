// Reads and changes the state of the object that owns the registrar's nonces on a network.
import { runInDurableObject } from "cloudflare:test";
import { env } from "./world.ts";

const objectOf = (network: string, signer = "registrar") =>
  env.CHAIN_SIGNER.get(env.CHAIN_SIGNER.idFromName(`${signer}:${network}`));

const inside = <T>(network: string, look: (sql: SqlStorage) => T, signer?: string): Promise<T> =>
  runInDurableObject(objectOf(network, signer), (_instance, state) => look(state.storage.sql));

/** Configures the object with another key of the registrar. */
export const replaceKey = (network: string, key: string): Promise<unknown> =>
  runInDurableObject(objectOf(network), (instance) =>
    Object.assign(instance, { env: { ...Reflect.get(instance, "env"), CHAIN_REGISTRAR_KEY: key } }),
  );

/** Makes the object run `act` instead of each pause. */
export const insteadOfPauses = (network: string, act: () => Promise<unknown>): Promise<unknown> =>
  runInDurableObject(objectOf(network), (instance) => Object.assign(instance, { pause: act }));

/** Makes the kept transactions older, as if they had been sent and mined earlier. */
export const ageSent = (network: string, ms: number, signer?: string): Promise<unknown> =>
  inside(
    network,
    (sql) =>
      sql.exec(
        `update sent set first_sent_at = first_sent_at - ${ms}, last_sent_at = last_sent_at - ${ms},
           mined_at = mined_at - ${ms}`,
      ),
    signer,
  );

/** Makes the doubt about a count older. */
export const ageDoubt = (network: string, ms: number): Promise<unknown> =>
  inside(network, (sql) => sql.exec(`update counts set doubted_since = doubted_since - ${ms}`));

/** The hashes of the kept transactions, by nonce. */
export const keptHashes = (network: string, signer?: string): Promise<string[]> =>
  inside(
    network,
    (sql) =>
      sql
        .exec("select hash from sent order by nonce")
        .toArray()
        .map(({ hash }) => String(hash)),
    signer,
  );
