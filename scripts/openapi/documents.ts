// The two documents: the public one, which the Worker serves, and the operators'.
import { ROUTES } from "../../src/app.ts";
import type { Route } from "../../src/http/route.ts";
import { health } from "./parts.ts";

const isOperators = ({ surfaces }: Route): boolean => surfaces.every((surface: string) => surface === "operator");

export const PUBLIC: readonly Route[] = [...ROUTES.filter((route) => !isOperators(route)), health];
export const OPERATORS: readonly Route[] = ROUTES.filter(isOperators);
/** The placeholder of the service's own address in the served document. */
export const PLACEHOLDER = "https://issuer.example";
