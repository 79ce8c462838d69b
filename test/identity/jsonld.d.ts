// The browser build of the JSON-LD processor runs in workerd, but has no types.
declare module "jsonld/dist/jsonld.esm.min.js" {
  const jsonld: { expand: (document: unknown, options: object) => Promise<unknown> };
  export default jsonld;
}
