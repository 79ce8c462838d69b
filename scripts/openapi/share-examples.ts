// Prints an example that occurs in several places of a document once, among its components, with references to it.
import type { Document, Json } from "./types.ts";

/** The length of JSON from which a reference is shorter than the example. */
const WORTH_SHARING = 200;
const REFERENCE = "#/components/examples/";

type Media = { example?: unknown; examples?: Json } & Json;
type Place = { readonly media: Media; readonly name: string };

/** Returns every media type of bodies and answers that has an example, with a name for the example. */
function placesOf({ paths }: Pick<Document, "paths">): Place[] {
  return Object.values(paths).flatMap((operations) =>
    Object.values(operations).flatMap((operation) => {
      const { operationId, requestBody, responses } = operation;
      const bodies = [requestBody as Json | undefined, ...(Object.values(responses) as Json[])];
      return bodies.flatMap((body) =>
        Object.values((body?.["content"] ?? {}) as Record<string, Media>)
          .filter((media) => "example" in media)
          .map((media) => ({ media, name: operationId })),
      );
    }),
  );
}

/** Replaces repeated examples by references; returns the shared examples, named by the first operation that shows each. */
export function shareExamples(document: Pick<Document, "paths">): Record<string, Json> {
  const shared: Record<string, Json> = {};
  for (const places of Map.groupBy(placesOf(document), ({ media }) => JSON.stringify(media.example)).entries()) {
    const [text, same] = places;
    const [first] = same;
    if (!first || same.length === 1 || text.length < WORTH_SHARING) continue;
    const name = first.name in shared ? `${first.name}-${Object.keys(shared).length}` : first.name;
    shared[name] = { value: first.media.example };
    for (const { media } of same) {
      delete media.example;
      media.examples = { shown: { $ref: `${REFERENCE}${name}` } };
    }
  }
  return shared;
}

/** Returns the example of a media type, inline or shared; undefined if there is none. */
export function exampleIn({ components }: Document, media: Json): unknown {
  if ("example" in media) return media["example"];
  const { $ref } = ((media["examples"] as Json | undefined)?.["shown"] ?? {}) as { $ref?: string };
  return $ref?.startsWith(REFERENCE) ? components["examples"]?.[$ref.slice(REFERENCE.length)]?.["value"] : undefined;
}
