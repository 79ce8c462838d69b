// Responses about customers.
import * as z from "zod";
import { listOf } from "../http/response-parts.ts";
import { customerView } from "./schema.ts";

export const customerList = listOf(customerView).register(z.globalRegistry, { id: "CustomerList" });
