// The two documents: what platforms, agents and anybody may call, which the Worker serves, and what operators may.
import { ROUTES } from "../../src/app.ts";
import type { Route } from "../../src/http/route.ts";
import { health } from "./parts.ts";

const isOperators = ({ surfaces }: Route): boolean => surfaces.every((surface: string) => surface === "operator");

export const PUBLIC: readonly Route[] = [...ROUTES.filter((route) => !isOperators(route)), health];
export const OPERATORS: readonly Route[] = ROUTES.filter(isOperators);
/** What stands in the served document where the service's own address goes. */
export const PLACEHOLDER = "https://issuer.example";
