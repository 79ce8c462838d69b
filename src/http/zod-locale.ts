// Replaces zod's sentences in the bundled Worker (wrangler.toml, alias): src/http/validation.ts writes its own (HTTP-12).
export const en = () => ({ localeError: ({ code }: { readonly code: string }) => `Invalid input: ${code}` });
