// The countries that the service operates in (PRN-2).
import { type FieldError, toFieldError } from "../core/errors.ts";

export const findCountryFaults = (country: string, jurisdictions: ReadonlySet<string>): FieldError[] =>
  jurisdictions.has(country)
    ? []
    : [toFieldError("country", "invalid_value", "The service does not operate in this jurisdiction.")];
