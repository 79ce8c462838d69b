// The routes of the two documents: the public document, which the Worker serves, and the operators' document.
import { ROUTES } from "../../src/app.ts";
import type { Route } from "../../src/http/route.ts";
import { health } from "./parts.ts";

const isOperators = ({ surfaces }: Route): boolean => surfaces.every((surface: string) => surface === "operator");

export const PUBLIC: readonly Route[] = [...ROUTES.filter((route) => !isOperators(route)), health];
export const OPERATORS: readonly Route[] = ROUTES.filter(isOperators);
/** Stands for the service's own address in the served document. */
export const PLACEHOLDER = "https://issuer.example";
