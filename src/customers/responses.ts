// Responses about customers.
import * as z from "zod";
import { buildListSchema } from "../http/response-parts.ts";
import { customerView } from "./schema.ts";

export const customerList = buildListSchema(customerView).register(z.globalRegistry, { id: "CustomerList" });
