// Examples that stand in several places of a document are printed once, among its components, and referred to.
import type { Document, Json } from "./types.ts";

/** A reference is about so long. */
const WORTH_SHARING = 200;
const REFERENCE = "#/components/examples/";

type Media = { example?: unknown; examples?: Json } & Json;
type Place = { readonly media: Media; readonly name: string };

/** Every media type of an operation's body and answers that has an example, with a name for it. */
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

/** Replaces what is repeated by references; returns the examples that they lead to, by the first operation that shows each. */
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

/** The example of a media type, wherever it stands; undefined where there is none. */
export function exampleIn({ components }: Document, media: Json): unknown {
  if ("example" in media) return media["example"];
  const { $ref } = ((media["examples"] as Json | undefined)?.["shown"] ?? {}) as { $ref?: string };
  return $ref?.startsWith(REFERENCE) ? components["examples"]?.[$ref.slice(REFERENCE.length)]?.["value"] : undefined;
}
