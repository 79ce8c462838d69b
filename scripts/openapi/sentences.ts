// Looks up the texts of fields.ts, operations.ts and titles.ts for a document, and lists the texts and responses that no document uses.
import { FIELDS, SCHEMAS } from "./fields.ts";
import { ANSWERS, OPERATIONS } from "./operations.ts";
import { RESPONSES } from "./responses.ts";
import { TITLES, type Title } from "./titles.ts";

export class Sentences {
  readonly #asked = new Set<string>();

  /**
   * Returns the description of a field or parameter: the one for its schema or operation, else the one for its name. All event schemas share the
   * entries of `Event` and `EventData`.
   */
  ofField(owner: string, name: string, kind?: "path" | "query"): { description?: string } {
    const [event] = /Event(Data)?$/.exec(owner) ?? [owner];
    const own = this.#say(FIELDS, `${owner}.${name}`) ?? this.#say(FIELDS, `${event}.${name}`);
    return own ?? (kind && this.#say(FIELDS, `${kind}.${name}`)) ?? this.#say(FIELDS, name) ?? {};
  }

  ofSchema(name: string): { description?: string } {
    return this.#say(SCHEMAS, name) ?? {};
  }

  /** @throws Error for an operation without a title */
  ofTitle(operationId: string): Title {
    const title = TITLES[operationId];
    if (!title) throw new Error(`${operationId} has no title: scripts/openapi/titles.ts`);
    this.#asked.add(operationId);
    return title;
  }

  ofOperation(operationId: string): string | undefined {
    return this.#say(OPERATIONS, operationId)?.description;
  }

  ofAnswer(operationId: string): string | undefined {
    return this.#say(ANSWERS, operationId)?.description;
  }

  /** Returns the names of texts and responses that no document uses. */
  unused(): string[] {
    const names = [FIELDS, SCHEMAS, OPERATIONS, ANSWERS, TITLES, RESPONSES].flatMap((sentences) =>
      Object.keys(sentences),
    );
    return names.filter((name) => !this.#asked.has(name));
  }

  #say(sentences: Readonly<Record<string, string>>, name: string): { description: string } | undefined {
    const description = sentences[name];
    if (description === undefined) return undefined;
    this.#asked.add(name);
    return { description };
  }
}
