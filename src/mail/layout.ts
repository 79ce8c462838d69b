// A mail's content as text and as HTML with the same content (MAIL-1). The HTML fetches nothing (MAIL-2): its style is inline, and its links lead to
// the service. Values that people wrote appear in it as escaped text (MAIL-3).

/** Who sends: the operator, and the address of the service. */
export type Sender = { readonly operatorName: string; readonly issuer: string };

export type Content = {
  readonly subject: string;
  /** A paragraph may have several lines. */
  readonly paragraphs: readonly string[];
  /** `path`: relative to the address of the service. */
  readonly button?: { readonly label: string; readonly path: string };
  /** Why this address receives the mail. */
  readonly footer: string;
};

export type Mail = { readonly subject: string; readonly text: string; readonly html: string };

export function layOut({ subject, paragraphs, button, footer }: Content, sender: Sender): Mail {
  const title = toOneLine(subject);
  const link = button && { label: button.label, url: `${sender.issuer}${button.path}` };
  const blocks = paragraphs.map(toLines);
  const end = { footer: toOneLine(footer), docs: `${sender.issuer}/docs` };
  return { subject: title, text: toText(blocks, link, end), html: toHtml(title, blocks, link, end) };
}

/** A value with a line break must neither begin a new line of the text nor end a header of the mail. */
export const toOneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();

const toLines = (text: string): readonly string[] => text.split(/\r\n|[\n\r\p{Zl}\p{Zp}]/u).map(toOneLine);

type Blocks = readonly (readonly string[])[];
type Link = { readonly label: string; readonly url: string } | undefined;
type End = { readonly footer: string; readonly docs: string };

const toText = (blocks: Blocks, link: Link, { footer, docs }: End): string =>
  [
    ...blocks.map((lines) => lines.join("\n")),
    ...(link ? [`${link.label}:\n${link.url}`] : []),
    `-- \n${footer}\n${docs}`,
  ].join("\n\n");

const toHtml = (title: string, blocks: Blocks, link: Link, { footer, docs }: End): string =>
  `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title></head>
<body style="margin:0;padding:24px;background:#fff;color:#1f2328;font:16px/1.5 sans-serif">
<div style="max-width:36em;margin:0 auto">
<h1 style="font-size:20px;line-height:1.3;margin:0 0 16px">${escapeHtml(title)}</h1>
${blocks.map((lines) => `<p style="margin:0 0 16px">${lines.map(escapeHtml).join("<br>")}</p>`).join("\n")}
${link ? toButton(link) : ""}
<p style="margin:32px 0 0;color:#59636e;font-size:13px">${escapeHtml(footer)}<br>${toAnchor(docs, docs, "color:#59636e")}</p>
</div>
</body>
</html>
`;

const BUTTON =
  "display:inline-block;padding:10px 18px;border-radius:6px;background:#1f2328;color:#fff;text-decoration:none";

const toButton = ({ label, url }: NonNullable<Link>): string =>
  `<p style="margin:24px 0">${toAnchor(url, label, BUTTON)}</p>`;

const toAnchor = (url: string, label: string, style: string): string =>
  `<a href="${escapeHtml(url)}" style="${style}">${escapeHtml(label)}</a>`;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
