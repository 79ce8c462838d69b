// Announcements of the operator on the wire (ACC-15).
import * as z from "zod";
import { ANNOUNCEMENT_SUBJECT_MAX_CHARS, ANNOUNCEMENT_TEXT_MAX_CHARS } from "../core/limits.ts";
import { ANNOUNCEMENT_KINDS } from "../core/vocabulary.ts";
import { buildNameSchema, buildTextSchema } from "../http/schemas.ts";

export const announcementKind = z.enum(ANNOUNCEMENT_KINDS).register(z.globalRegistry, { id: "AnnouncementKind" });

export const announcementInput = z
  .strictObject({
    kind: announcementKind,
    subject: buildNameSchema(ANNOUNCEMENT_SUBJECT_MAX_CHARS),
    text: buildTextSchema(ANNOUNCEMENT_TEXT_MAX_CHARS),
  })
  .register(z.globalRegistry, { id: "AnnouncementInput" });
export type AnnouncementInput = z.infer<typeof announcementInput>;
