// Replaces zod's JSON Schema writer in the bundled Worker (wrangler.toml, alias): the OpenAPI document is printed at build time, so the writer is
// not needed at run time, and calling it throws.

function throwLeftOut(): never {
  throw new Error("zod's JSON Schema is left out of the Worker: see wrangler.toml");
}

export const createToJSONSchemaMethod = () => throwLeftOut;
export const createStandardJSONSchemaMethod = () => throwLeftOut;
export {
  throwLeftOut as aggregateChecks,
  throwLeftOut as toJSONSchema,
  throwLeftOut as anyProcessor,
  throwLeftOut as arrayProcessor,
  throwLeftOut as bigintProcessor,
  throwLeftOut as booleanProcessor,
  throwLeftOut as catchProcessor,
  throwLeftOut as customProcessor,
  throwLeftOut as dateProcessor,
  throwLeftOut as defaultProcessor,
  throwLeftOut as enumProcessor,
  throwLeftOut as fileProcessor,
  throwLeftOut as functionProcessor,
  throwLeftOut as intersectionProcessor,
  throwLeftOut as lazyProcessor,
  throwLeftOut as literalProcessor,
  throwLeftOut as mapProcessor,
  throwLeftOut as nanProcessor,
  throwLeftOut as neverProcessor,
  throwLeftOut as nonoptionalProcessor,
  throwLeftOut as nullProcessor,
  throwLeftOut as nullableProcessor,
  throwLeftOut as numberProcessor,
  throwLeftOut as objectProcessor,
  throwLeftOut as optionalProcessor,
  throwLeftOut as pipeProcessor,
  throwLeftOut as prefaultProcessor,
  throwLeftOut as promiseProcessor,
  throwLeftOut as readonlyProcessor,
  throwLeftOut as recordProcessor,
  throwLeftOut as setProcessor,
  throwLeftOut as stringProcessor,
  throwLeftOut as successProcessor,
  throwLeftOut as symbolProcessor,
  throwLeftOut as templateLiteralProcessor,
  throwLeftOut as transformProcessor,
  throwLeftOut as tupleProcessor,
  throwLeftOut as undefinedProcessor,
  throwLeftOut as unionProcessor,
  throwLeftOut as unknownProcessor,
  throwLeftOut as voidProcessor,
};
