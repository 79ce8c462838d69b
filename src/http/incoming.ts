// A request as the router passes it to the entrances, parsed as far as possible.
import type { AnyCall } from "../call.ts";
import type { Deps } from "../context.ts";
import type { Database, Read } from "../db/batch.ts";
import type { AppContext } from "./app-env.ts";
import type { Route } from "./route.ts";

export type Incoming = {
  readonly context: AppContext;
  readonly deps: Deps;
  /** The database that the call reads: the primary, or a replica if the route allows it. */
  readonly db: Database;
  readonly requestId: string;
  readonly background: (work: Promise<unknown>) => void;
  readonly url: URL;
  readonly rawBody: Uint8Array<ArrayBuffer>;
  /** The body as it was read, and after its schema accepted it. */
  readonly body: unknown;
  readonly validBody: unknown;
  /** Equal for two transmissions of one request: the body, for a form without its boundary and with digests for its files (IDM-4). */
  readonly identity: unknown;
  readonly route: Route;
  /** Null when there is none, the route takes none, or it is malformed (then the call is refused). */
  readonly idempotencyKey: string | null;
  /** The agent whose lock the call takes. */
  readonly lockedDid: string | null;
  /** The read of the route's object; null if the route has none, or the path is malformed. */
  readonly readObject: ((call: AnyCall) => { readonly object: Read<unknown> }) | null;
};
