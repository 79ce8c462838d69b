// The notices that wait for their mail, as the batches of their changes wrote them.
import { env, type Json, type World } from "./world.ts";

export type Waiting = {
  readonly kind: string;
  readonly recipient: string;
  readonly due_at: number;
  readonly data: Json;
};

/** Returns an account's notices in the order in which they were written. */
export async function noticesOf({ platformId }: Pick<World, "platformId">, prefix = "customer."): Promise<Waiting[]> {
  const text =
    "select kind, recipient, due_at, data from notices where platform_id = ? and kind like ? || '%' order by notice_id";
  const { results } = await env.DB.prepare(text).bind(platformId, prefix).all<Json>();
  return results.map(({ kind, recipient, due_at, data }) => ({ kind, recipient, due_at, data: JSON.parse(data) }));
}
