// The sentences of fields.ts as a document asks for them, and which nobody asked for.
import { FIELDS, SCHEMAS } from "./fields.ts";

export class Sentences {
  readonly #asked = new Set<string>();

  /** What a field means in its schema, or what its name means everywhere. */
  ofField(owner: string, name: string): { description?: string } {
    return this.#say(FIELDS, `${owner}.${name}`) ?? this.#say(FIELDS, name) ?? {};
  }

  ofSchema(name: string): { description?: string } {
    return this.#say(SCHEMAS, name) ?? {};
  }

  /** Those that no document says: of what is gone, or of what another sentence says. */
  unused(): string[] {
    const names = [...Object.keys(FIELDS), ...Object.keys(SCHEMAS)];
    return names.filter((name) => !this.#asked.has(name));
  }

  #say(sentences: Readonly<Record<string, string>>, name: string): { description: string } | undefined {
    const description = sentences[name];
    if (description === undefined) return undefined;
    this.#asked.add(name);
    return { description };
  }
}
