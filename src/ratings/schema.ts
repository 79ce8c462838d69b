// Ratings and their method on the wire (TSK-16).
import * as z from "zod";
import { did } from "../http/schemas.ts";

export const ratedParams = z.object({ did: did });
