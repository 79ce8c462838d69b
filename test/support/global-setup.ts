// Runs once before the workerd tests. Vite loads this file; Node loads what it starts, at once instead of module by module.
import { createRequire } from "node:module";

const required: typeof import("./surroundings.ts") = createRequire(import.meta.url)("./surroundings.ts");

export default required.startSurroundings;
