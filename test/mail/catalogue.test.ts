// The catalogue of mails (MAIL-1 to MAIL-5): every kind in both forms, with text that people wrote.
import { describe, expect, it } from "vitest";
import { CATALOGUE } from "../../src/mail/catalogue.ts";
import type { MailData, MailKind } from "../../src/mail/kinds.ts";
import type { Mail } from "../../src/mail/layout.ts";
import { composeMail, sendMail } from "../../src/mail/mail.ts";
import { watchMails } from "../support/mails.ts";
import { env } from "../support/world.ts";

const [PROVIDER, CONSUMER] = ["did:aeap:provider", "did:aeap:consumer"];
const ISSUER = "https://service.test";
const SENDER = { operatorName: "Trust & Co", issuer: ISSUER };
const NAME = `<script src="https://evil.test/x.js">alert('1')</script> & Sons`;
const AT = Date.UTC(2026, 10, 22, 9, 30, 15);
const TOKEN = "tok+en/with&signs=";

const about = { account: NAME };
const changed = { ...about, at: AT };
const link = { token: TOKEN, validHours: 24 };
const news = { subject: "Fees change", text: `First <b>part</b>,\nsecond line.\n\nLast part: "it's over".` };
const reason = "The certificate is older than three months.\nSend a new one.";
const keys = { ...changed, environment: "production", keyPrefix: "service_live_aB3x" } as const;
const endpoint = { ...about, environment: "sandbox", webhookId: "whe_1", host: "hooks.customer.test" } as const;
const wallet = {
  ...{ ...changed, environment: "production" as const, did: PROVIDER, network: "base", effectiveAt: null, asked: true },
  ...{ wallet: `0x${"b".repeat(40)}`, previous: `0x${"a".repeat(40)}` },
} as const;
const dispute = {
  ...{ ...changed, environment: "production" as const, disputeId: "dsp_1", currency: "USDC" },
  ...{ providerDid: PROVIDER, consumerDid: CONSUMER },
} as const;
const principal = { principalId: "prn_1", principalName: "Ada <b>Ltd</b>", expiresAt: AT } as const;

/** Every kind, in every variant of its text. */
const SAMPLES: { readonly [K in MailKind]: readonly MailData[K][] } = {
  verify_email: [link],
  verify_new_email: [{ ...link, validHours: 1 }],
  verify_contact: [link],
  reset_password: [link],
  "customer.key_issued": [keys],
  "customer.key_rotated": [
    { ...keys, previousEndsAt: null },
    { ...keys, previousEndsAt: AT + 3_600_000 },
  ],
  "customer.verification_decided": [
    { ...about, decision: "approve", accreditationTier: "TIER_2", reason: null },
    { ...about, decision: "approve", accreditationTier: "TIER_3", reason },
    { ...about, decision: "reject", reason },
  ],
  "customer.profile_decided": [
    { ...about, decision: "approve", reason: null },
    { ...about, decision: "approve", reason },
    { ...about, decision: "reject", reason },
  ],
  "customer.password_changed": [changed],
  "customer.password_reset": [changed],
  "customer.totp_enabled": [{ ...changed, byOperator: false }],
  "customer.totp_disabled": [
    { ...changed, byOperator: false },
    { ...changed, byOperator: true },
  ],
  "customer.session_opened": [{ ...changed, device: "Firefox on Linux", network: "203.0.113.0/24" }],
  "customer.log_ins_limited": [changed],
  "customer.email_changed": [{ ...changed, oldEmail: "old@customer.test", newEmail: "new@customer.test" }],
  "customer.contact_changed": [{ ...changed, oldContact: "old@customer.test", newContact: "new@customer.test" }],
  "customer.account_suspended": [{ ...about, reason }],
  "customer.account_reinstated": [{ ...about, reason }],
  "customer.account_closed": [{ ...changed, retentionYears: 5 }],
  "customer.attestation_expiring": [
    { ...about, ends: [{ ...principal, days: 30 }] },
    { ...about, ends: [{ ...principal, days: 7 }] },
    { ...about, ends: [{ ...principal, days: 1 }] },
    {
      ...about,
      ends: [
        { ...principal, days: 7 },
        { ...principal, principalId: "prn_2", principalName: "Eve GmbH", days: 1 },
      ],
    },
  ],
  "customer.webhook_disabled": (["gone", "failing", "owner", "deleted"] as const).map((cause) => {
    return { ...endpoint, at: AT, cause };
  }),
  "customer.digest": [
    { ...about, held: [{ subject: "Your <b>password</b> was changed", at: AT }], more: 0 },
    {
      ...about,
      held: [
        { subject: "The sandbox key was rotated", at: AT },
        { subject: "The production key was rotated", at: AT },
      ],
      more: 12,
    },
  ],
  "customer.webhook_created": [{ ...endpoint, at: AT }],
  "customer.webhook_url_changed": [{ ...endpoint, at: AT, previousHost: "old.customer.test" }],
  "customer.wallet_changed": [wallet, { ...wallet, effectiveAt: AT + 3_600_000 }, { ...wallet, asked: false }],
  "customer.dispute_filed": [{ ...dispute, reason: "not_delivered", amount: "8.00", answersUntil: AT }],
  "customer.dispute_decided": [{ ...dispute, resolution: "partially_upheld", refund: "4.50" }],
  "customer.announcement": [news],
  "customer.maintenance": [news],
  "customer.deprecation": [news],
  "customer.security": [news],
  "operator.alerts": [{ kind: "low_gas", alerts: [{ raisedAt: AT, subject: "registrar", message: "Low.\n<1 wei>" }] }],
};
const KINDS = Object.keys(CATALOGUE) as MailKind[];
const mailsOf = <K extends MailKind>(kind: K): Mail[] => SAMPLES[kind].map((data) => composeMail(kind, data, SENDER));
const ALL = KINDS.flatMap((kind) => mailsOf(kind).map((mail, at) => ({ name: `${kind} ${at + 1}`, kind, mail })));

// ---- The HTML as a mail program reads it ----------------------------------------------------------------------------------

type Element = { readonly name: string; readonly attributes: Readonly<Record<string, string>> };
type Page = { readonly elements: Element[]; readonly text: string; readonly links: string[] };

const decoded = (text: string): string =>
  text
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, "&");

/** Reads the page with a real parser. Each paragraph and each line of it becomes a line of `text`. */
async function read({ html }: Mail): Promise<Page> {
  const elements: Element[] = [];
  let text = "";
  const body = new HTMLRewriter()
    .on("*", {
      element: (element) => {
        elements.push({ name: element.tagName, attributes: Object.fromEntries([...element.attributes]) });
        text += "\n";
      },
    })
    .on("body *", {
      text: (chunk) => {
        text += chunk.text;
      },
    })
    .transform(new Response(html));
  await body.text();
  const links = elements.flatMap(({ attributes }) => (attributes["href"] ? [decoded(attributes["href"])] : []));
  return { elements, text: decoded(text), links };
}
const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

describe.each(ALL)("$name", ({ mail }) => {
  it("says the same as text and as HTML", async () => {
    const page = await read(mail);
    const [title, ...inHtml] = linesOf(page.text);
    const inText = linesOf(mail.text).filter((line) => line !== "--");
    expect(title).toBe(mail.subject);
    // The HTML links the words of its button to the address; the text has the address after them and a colon.
    const plain = inText.filter((line) => !line.startsWith(`${ISSUER}/v1/`)).map((line) => line.replace(/:$/, ""));
    expect(inHtml.map((line) => line.replace(/:$/, ""))).toEqual(plain);
    expect(inText.filter((line) => line.startsWith(ISSUER))).toEqual(page.links);
  });

  it("fetches nothing, and links only to the service", async () => {
    const { elements, links } = await read(mail);
    const names = new Set(elements.map(({ name }) => name));
    for (const name of names)
      expect(["html", "head", "meta", "title", "body", "div", "h1", "p", "br", "a"]).toContain(name);
    const attributes = elements.flatMap((element) => Object.entries(element.attributes));
    for (const [name, value] of attributes) {
      expect(["lang", "charset", "name", "content", "style", "href"]).toContain(name);
      if (name === "style") expect(value).not.toMatch(/url|import|expression|@|\\/i);
    }
    expect(links.length).toBeGreaterThan(0);
    for (const url of links) expect(new URL(url).origin).toBe(ISSUER);
  });

  it("has a subject and a reason of one line", () => {
    expect(mail.subject).toMatch(/^\S[^\p{Cc}\p{Zl}\p{Zp}]*$/u);
    expect(mail.text.split("\n-- \n")).toHaveLength(2);
  });
});

describe("text that people wrote", () => {
  it("is text in the HTML, and makes no element", async () => {
    const named = ALL.filter(({ mail }) => mail.text.includes(NAME));
    expect(named.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(KINDS.filter((kind) => SAMPLES[kind].some((data) => "account" in data))),
    );
    for (const { mail } of named) {
      expect(mail.html).not.toContain("<script");
      expect((await read(mail)).text).toContain(NAME);
    }
  });

  it.each(["\r\nBcc: all@evil.test", "\nBcc: all@evil.test", "\rBcc: all@evil.test", "\u2028x", "\u0000x", "\u0085x"])(
    "ends neither a header nor a line: %j",
    (end) => {
      const { subject } = composeMail("customer.security", { subject: `News${end}`, text: "Text." }, SENDER);
      expect(subject).toBe(`News ${end.trim().replace("\u0000", "").replace("\u0085", "")}`);
      const ended = { ...principal, principalName: `Ada${end}`, days: 7 } as const;
      const attested = { account: `Ada${end}`, ends: [ended] } as const;
      const mail = composeMail("customer.attestation_expiring", attested, SENDER);
      expect(mail.subject).toMatch(/^The attestation of Ada \S.* ends within 7 days$/);
      expect(linesOf(mail.text)).toHaveLength(4);
    },
  );

  it("keeps its paragraphs and lines in an announcement and in a reason", () => {
    const { text, html } = composeMail(
      "customer.announcement",
      { ...news, text: "One,\r\ntwo.\r\n\r\nThree." },
      SENDER,
    );
    expect(text).toMatch(/^One,\ntwo\.\n\nThree\.\n\n-- \n/);
    expect(html).toContain("One,<br>two.</p>");
    expect(mailsOf("customer.account_suspended")[0]?.text).toContain(`Reason: ${reason}`);
  });

  it("is in no mail to an address that is not verified", () => {
    for (const kind of ["verify_email", "verify_new_email", "reset_password"] as const) {
      for (const data of SAMPLES[kind]) expect(Object.keys(data).sort()).toEqual(["token", "validHours"]);
    }
  });
});

describe("a link", () => {
  it.each([
    ["verify_email", "/v1/platform/verify-email"],
    ["verify_new_email", "/v1/platform/verify-email"],
    ["reset_password", "/v1/platform/password/reset"],
  ] as const)("of %s holds the token, which is nowhere else", async (kind, path) => {
    const mail = composeMail(kind, link, SENDER);
    const [button] = (await read(mail)).links;
    const url = new URL(button ?? "");
    expect([url.pathname, url.searchParams.get("token")]).toEqual([path, TOKEN]);
    const written = encodeURIComponent(TOKEN);
    for (const form of [mail.text, mail.html]) {
      expect(form.split(written)).toHaveLength(2);
      expect(form).not.toContain(TOKEN);
    }
  });

  it("says how long it works", () => {
    expect(composeMail("reset_password", { ...link, validHours: 1 }, SENDER).text).toContain("within 1 hour.");
    expect(composeMail("verify_email", link, SENDER).text).toContain("within 24 hours.");
  });
});

describe("a mail", () => {
  const textOf = (kind: MailKind) => mailsOf(kind).map(({ text }) => text);
  it.each([
    ["customer.key_issued", ["production", "service_live_aB3x", "2026-11-22 09:30:15 UTC"]],
    ["customer.email_changed", ["old@customer.test", "new@customer.test"]],
    ["customer.account_closed", ["after 5 years", "revoked"]],
    ["customer.account_suspended", ["Trust & Co", "three months"]],
  ] as const)("of %s states its facts", (kind, facts) => {
    for (const fact of facts) expect(textOf(kind)[0]).toContain(fact);
  });

  it("about a rotation states when the previous key ends", () => {
    const [atOnce, withGrace] = textOf("customer.key_rotated");
    expect(atOnce).toContain("The previous key has ended.");
    expect(withGrace).toContain("The previous key works until 2026-11-22 10:30:15 UTC.");
  });

  it("about a decision states the tier, or the reason", () => {
    const [approved, withNote, refused] = textOf("customer.verification_decided");
    expect(approved).toContain("TIER_2");
    expect(approved).not.toContain("Reason");
    for (const text of [withNote, refused]) expect(text).toContain(`Reason: ${reason}`);
    expect(refused).not.toContain("promote");
  });

  it("about an endpoint names it by its id and host", () => {
    expect(textOf("customer.webhook_created")[0]).toMatch(
      /sandbox endpoint whe_1 at hooks\.customer\.test was created/,
    );
    const [moved] = textOf("customer.webhook_url_changed");
    expect(moved).toContain("whe_1 was changed at 2026-11-22 09:30:15 UTC.");
    expect(moved).toContain("It was at old.customer.test and is now at hooks.customer.test.");
  });

  it("about a wallet states which one is paid, which one was before, and since or from when", () => {
    const [now, later, strange] = textOf("customer.wallet_changed");
    for (const text of [now, later, strange])
      for (const fact of [PROVIDER, "base", wallet.wallet, wallet.previous]) expect(text).toContain(fact);
    expect(now).toContain("since 2026-11-22 09:30:15 UTC.");
    expect(later).toContain("from 2026-11-22 10:30:15 UTC on.");
    expect(strange).toContain("The service was not asked for this change.");
    const subjects = mailsOf("customer.wallet_changed").map(({ subject }) => subject);
    expect(new Set(subjects).size).toBe(3);
  });

  it("about a dispute states the parties, the amount and where it is answered", () => {
    const [filed] = textOf("customer.dispute_filed");
    for (const fact of [
      PROVIDER,
      CONSUMER,
      "8.00 USDC",
      "not delivered",
      "2026-11-22 09:30:15 UTC",
      "/v1/disputes/dsp_1",
    ])
      expect(filed).toContain(fact);
    const [decided] = textOf("customer.dispute_decided");
    for (const fact of [PROVIDER, CONSUMER, "partially upheld", "awarded 4.50 USDC", "/v1/disputes/dsp_1"])
      expect(decided).toContain(fact);
  });

  it("about an attestation or an endpoint states how long and why", () => {
    const subjects = mailsOf("customer.attestation_expiring").map(({ subject }) => subject.replace(/^.* ends/, ""));
    expect(subjects).toEqual([
      ...[" within 30 days", " within 7 days", " within 1 day"],
      "The attestations of 2 principals end within 7 days",
    ]);
    const [named, , , both] = textOf("customer.attestation_expiring");
    expect(named).toContain(`of ${principal.principalName} (${principal.principalId}) ends at`);
    expect(both).toContain(`of ${principal.principalName} (${principal.principalId}) ends at`);
    expect(both).toContain("of Eve GmbH (prn_2) ends at");
    const [, digest] = textOf("customer.digest");
    expect(digest).toContain("The production key was rotated");
    expect(digest).toContain("And 12 more.");
    const [gone, failing, disabled, deleted] = textOf("customer.webhook_disabled");
    expect(gone).toContain("answered 410 Gone");
    expect(failing).toContain("failed for five days");
    expect(disabled).toContain("was disabled at 2026-11-22 09:30:15 UTC, with a key or a session of");
    expect(deleted).toContain("was deleted at 2026-11-22 09:30:15 UTC, with a key or a session of");
    for (const text of [disabled, deleted]) expect(text).toContain("If none of you did this,");
  });
});

describe("sending", () => {
  it("passes both forms through the mail binding, in the operator's name", async () => {
    const { sent, MAIL } = watchMails(env.MAIL);
    const mail = composeMail("verify_email", link, SENDER);
    const name = "Trust & Co\r\nBcc: all@evil.test";
    await sendMail(MAIL, { name, email: "service@service.test" }, "ada@customer.test", mail);
    const from = { name: "Trust & Co Bcc: all@evil.test", email: "service@service.test" };
    expect(sent).toEqual([{ from, to: "ada@customer.test", ...mail }]);
  });

  it("fails if the binding fails", async () => {
    const send = async () => {
      throw new Error("mail cannot be sent");
    };
    const mail = composeMail("verify_email", link, SENDER);
    const sending = sendMail({ send } as never, { name: "x", email: "x@x.test" }, "ada@customer.test", mail);
    await expect(sending).rejects.toThrow("mail cannot be sent");
  });
});
