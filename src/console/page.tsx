import type { Context as HonoContext } from 'hono';
import type { Child } from 'hono/jsx';
import type { AppEnv } from '../http/context';
import { answerError } from '../http/problem';

const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  // Not no-referrer: with it, browsers send the forms of these pages with the origin null.
  'Referrer-Policy': 'same-origin',
};

interface PageContent {
  title: string;
  /** The CSRF token of the session; none on pages for people who are not signed in. */
  csrf?: string;
  children: Child;
}

/** Answers with a page of the console. */
export function sendPage(content: PageContent, status = 200): Response {
  const html = `<!doctype html>${(<Page {...content} />).toString()}`;
  return new Response(html, { status, headers: { ...HEADERS, 'Content-Type': 'text/html; charset=utf-8' } });
}

function Page({ title, csrf, children }: PageContent) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        {csrf && <meta name="csrf-token" content={csrf} />}
        <title>{title} · Countersign</title>
        <link rel="icon" href="/console/assets/favicon.svg" />
        <link rel="stylesheet" href="/console/assets/console.css" />
        <script src="/console/assets/webauthn.js" defer></script>
        <script src="/console/assets/console.js" defer></script>
      </head>
      <body>
        <header>
          <a href="/console">Countersign</a>
          {csrf && (
            <form method="post" action="/console/sign-out">
              <input type="hidden" name="csrf" value={csrf} />
              <button type="submit" class="quiet">
                Sign out
              </button>
            </form>
          )}
        </header>
        <main>
          <h1>{title}</h1>
          {children}
          <p id="message" role="alert"></p>
          <noscript>
            <p>Passkeys need JavaScript. Allow it for this site.</p>
          </noscript>
        </main>
      </body>
    </html>
  );
}

/** A time for people: to the minute, in UTC. */
export function Time({ at }: { at: string }) {
  return <time datetime={at}>{`${at.slice(0, 10)} ${at.slice(11, 16)} UTC`}</time>;
}

/**
 * Answers an error. A person who loaded a page or sent a form gets a page, a script gets the problem document.
 */
export async function answerConsoleError(error: Error, c: HonoContext<AppEnv>): Promise<Response> {
  const answer = await answerError(error, c);
  if (!c.req.header('Accept')?.includes('text/html')) return answer;
  const { title, detail } = (await answer.json()) as { title: string; detail: string };
  const children = (
    <>
      <p>{detail}</p>
      <p>
        <a href="/console">Back to the console</a>
      </p>
    </>
  );
  return sendPage({ title, children }, answer.status);
}
