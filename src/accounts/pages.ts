// The pages that mailed links open (ACC-14): a button, or a form, whose script sends the link's token. Opening a page uses up no link, because mail
// scanners open every link. A page does not contain its address: only the script reads the token.

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The page's address contains the token, so it must reach no other site and no cache. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": POLICY,
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
};

/** Served as files (src/http/page-files.ts). */
const FILES = { script: "/pages/link.js", style: "/pages/link.css" };

type Page = { readonly title: string; readonly explained: string; readonly form: string; readonly done: string };

const renderPage = ({ title, explained, form, done }: Page): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="stylesheet" href="${FILES.style}">
</head>
<body>
<main>
<h1>${title}</h1>
<form method="post">
<p>${explained}</p>
${form}
</form>
<p role="status"></p>
<section hidden tabindex="-1">
${done}
</section>
<noscript><p>This page needs JavaScript.</p></noscript>
</main>
<script src="${FILES.script}"></script>
</body>
</html>
`;

export const VERIFY_PAGE = renderPage({
  title: "Verify your email address",
  explained: "Enter the account's password to verify that this address is yours. The link works once.",
  form: `<p><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required></p>
<button type="submit">Verify the address</button>
<p>You did not ask for this? <button type="button" data-refuse>This was not me</button></p>`,
  done: `<p>The address <strong data-answer="email"></strong> is verified.</p>
<div hidden data-with="api_key">
<h2>Your sandbox key</h2>
<p><code data-answer="api_key.raw_key"></code></p>
<p><strong data-answer="api_key.warning"></strong></p>
</div>`,
});

export const CONTACT_PAGE = renderPage({
  title: "Confirm that you are an admin contact",
  explained:
    "An account names this address as its admin contact. Confirm to get the account's notices. The link works once.",
  form: `<button type="submit">Get the notices</button>
<p>You do not know the account? <button type="button" data-refuse>This was not me</button></p>`,
  done: `<p>Notices go to <strong data-answer="email"></strong> from now on.</p>`,
});

export const RESET_PAGE = renderPage({
  title: "Choose a new password",
  explained: "The password needs 12 to 128 characters. All sessions will end. The link works once.",
  form: `<p><label for="new_password">New password</label>
<input id="new_password" name="new_password" type="password" autocomplete="new-password" required></p>
<button type="submit">Change the password</button>`,
  done: "<p>The password is changed. Log in with the new one.</p>",
});
