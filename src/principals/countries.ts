// The countries that the service operates in (PRN-2).
import { type FieldError, fieldError } from "../core/errors.ts";

export const countryFaults = (country: string, jurisdictions: ReadonlySet<string>): FieldError[] =>
  jurisdictions.has(country)
    ? []
    : [fieldError("country", "invalid_value", "The service does not operate in this jurisdiction.")];
