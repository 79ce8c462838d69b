// The browser's build of the JSON-LD processor runs in workerd; it brings no types of its own.
declare module "jsonld/dist/jsonld.esm.min.js" {
  const jsonld: { expand: (document: unknown, options: object) => Promise<unknown> };
  export default jsonld;
}
