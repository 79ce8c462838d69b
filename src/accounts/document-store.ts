// Store of documents: the row of each document, whose file is in R2.
import { and, eq, ne, type SQL, sql } from "drizzle-orm";
import type { AskedRows } from "../core/page.ts";
import { type Database, type Read, read, readOne, type Statement } from "../db/batch.ts";
import { eachOf } from "../db/lists.ts";
import { readNewest } from "../db/pages.ts";
import { type DocumentRow, documents } from "../db/tables/accounts.ts";

type Owner = string | SQL<string>;

export const findUploadedDocument = (db: Database, platformId: Owner, documentId: string): Read<DocumentRow | null> =>
  readOne(
    db
      .select()
      .from(documents)
      .where(and(eq(documents.documentId, documentId), eq(documents.platformId, platformId))),
  );

/** Newest first; ids are time-ordered, so the id is the whole keyset. */
export const listDocuments = (db: Database, platformId: Owner, page: AskedRows): Read<DocumentRow[]> =>
  readNewest(db, { table: documents, where: eq(documents.platformId, platformId), id: documents.documentId }, page);

export const insertDocument = (db: Database, row: DocumentRow): Statement => db.insert(documents).values(row);

/** Supersedes the document that is current when the batch runs. Two simultaneous uploads of one type are ordered, and the later one stays. */
export const supersedeDocument = (db: Database, { platformId, type }: Pick<DocumentRow, "platformId" | "type">) =>
  db
    .update(documents)
    .set({ status: "superseded" })
    .where(
      sql`document_id = (select documents ->> ${`$.${type}`} from platforms where platform_id = ${platformId})`,
    ) satisfies Statement;

/** The given ids that no document has. */
export const findStrayIds = (db: Database, ids: readonly string[]): Read<string[]> =>
  read(
    db
      .select({ id: sql<string>`value` })
      .from(eachOf(ids))
      .where(sql`not exists (select 1 from documents d where d.document_id = value)`),
    (rows) => rows.map(({ id }) => id),
  );

/** Erases the file names, which may be personal. */
export const eraseFileNames = (db: Database, platformId: string): Statement =>
  db
    .update(documents)
    .set({ fileName: "" })
    .where(and(eq(documents.platformId, platformId), ne(documents.fileName, "")));
