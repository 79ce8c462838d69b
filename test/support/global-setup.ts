// Runs once before the workerd tests. It uses Node's own loader, because Vite would transform a thousand modules one by one.
import { createRequire } from "node:module";

const required: typeof import("./surroundings.ts") = createRequire(import.meta.url)("./surroundings.ts");

export default required.startSurroundings;
