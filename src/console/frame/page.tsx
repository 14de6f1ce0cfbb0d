import type { Child } from 'hono/jsx';
import type { AppEnv, Scope, UserPrincipal } from '../../http/context';
import { isRecentSignIn } from '../../identity/sessions/recent-sign-in';
import { toBase64Url } from '../../lib/bytes';
import { dayFormat } from '../../lib/day-format';
import { localeOf, type NumberFormat, numberFormat, percentFormat } from '../../lib/number-format';
import { withScriptsMark } from '../../lib/scripts';
import { assetPath } from '../assets';
import { toOneLine } from '../parts/inline';
import type { SignedIn } from '../session/access';
import { ONCE_FIELD } from '../session/once';
import { FlashStrip } from './flash';
import { GuideLink } from './guide-link';
import type { Names } from './names';
import { Navigation, sectionAbove } from './navigation';
import { PageProvider, usePage } from './page-context';
import { StopBanner, StopLink } from './stop-banner';

interface PageContent {
  /** The title of the document, and the heading of the page unless `heading` says otherwise. */
  title: string;
  heading?: Child;
  children: Child;
  /** Whether the page is one narrow column, such as a form to sign in. */
  isNarrow?: boolean;
  /** The status of the response; by default 200. */
  status?: number | undefined;
  /** The flash message, where the page says more in it than other pages. */
  flash?: Child;
  /** The names that `Named` shows instead of ids. */
  names?: Names | undefined;
  /**
   * A source of the Content-Security-Policy to which forms of the page may lead, beside the
   * console.
   */
  formTarget?: string | undefined;
  /**
   * Whether the page may register the service worker that shows notifications, and be installed as
   * an app.
   */
  registersWorker?: boolean;
}

/** The parts of a request that a page needs. */
export interface PageRequest {
  req: { path: string; header: (name: string) => string | undefined };
  var: Pick<AppEnv['Variables'], 'runtime'> & { signedIn?: SignedIn };
}

/** The reader's language, as far as it is known. */
function languageOf(c: PageRequest): string {
  return localeOf(c.req.header('Accept-Language'));
}

/** How the reader's language writes numbers. */
export function numbersOf(c: PageRequest): NumberFormat {
  return numberFormat(languageOf(c));
}

/** Answers with a page of the console. */
export function sendPage(
  c: PageRequest,
  { formTarget, registersWorker = false, status, names, ...shown }: PageContent,
): Response {
  const page = (
    <Page
      signedIn={c.var.signedIn}
      path={c.req.path}
      registersWorker={registersWorker}
      {...shown}
    />
  );
  const allowed = { formTarget, registersWorker };
  return sendHtml(c, page, { start: '<!doctype html>', status, names, ...allowed });
}

/** Answers with a part of a page, which replaces or extends the part that the reader sees. */
export function sendPart(c: PageRequest, part: Child, names?: Names): Response {
  return sendHtml(c, part, { start: '', names });
}

function sendHtml(
  c: PageRequest,
  content: Child,
  {
    start,
    status = 200,
    names = new Map(),
    ...allowed
  }: Pick<PageContent, 'status' | 'names'> & Allowed & { start: string },
) {
  const { runtime, signedIn } = c.var;
  const nonce = toBase64Url(runtime.random(16));
  const once = toBase64Url(runtime.random(16));
  const { csrf = '', sender = '' } = signedIn ?? {};
  const isRecent = signedIn !== undefined && isRecentSignIn(signedIn);
  const isStopped = signedIn?.context.principal.account.isStopped ?? false;
  const may = (scope: Scope) => signedIn?.context.principal.scopes.includes(scope) ?? false;
  const html = (
    <PageProvider
      value={{
        nonce,
        csrf,
        sender,
        once,
        names,
        formatNumber: numbersOf(c),
        formatPercent: percentFormat(languageOf(c)),
        formatDay: dayFormat(languageOf(c)),
        now: runtime.now(),
        isRecentSignIn: isRecent,
        isStopped,
        may,
      }}
    >
      {content}
    </PageProvider>
  ).toString();
  return new Response(start + html, {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
      // A page that opened this one must not steer it while somebody clicks in it.
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Content-Security-Policy': contentSecurityPolicy(nonce, allowed),
      // Not no-referrer: with it, browsers send the forms of these pages with the origin null.
      'Referrer-Policy': 'same-origin',
    },
  });
}

/** The rights that only some pages have. */
type Allowed = Pick<PageContent, 'formTarget' | 'registersWorker'>;

/** The nonce also marks the attributes that htmx may follow, so that it ignores injected ones. */
function contentSecurityPolicy(
  nonce: string,
  { formTarget, registersWorker = false }: Allowed,
): string {
  const directives = [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    ["form-action 'self'", formTarget].join(' ').trim(),
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    registersWorker ? 'trusted-types htmx service-worker' : 'trusted-types htmx',
  ];
  if (registersWorker) directives.push("manifest-src 'self'");
  return directives.join('; ');
}

/**
 * The fields that every form needs: the CSRF token of the session, and a mark of the person who
 * fills it in.
 * @param sender the mark of the form that is shown again; by default that of the person who is
 *   signed in
 * @param csrf the token of the form that is shown again; by default that of the session
 */
export function CsrfField({ sender, csrf }: { sender?: string; csrf?: string | undefined }) {
  const marks = usePage();
  return (
    <>
      <input type="hidden" name="csrf" value={csrf ?? marks.csrf} />
      <input type="hidden" name="sender" value={sender ?? marks.sender} />
    </>
  );
}

/**
 * The field of a form that creates something: sent twice, the form creates it once, and shows the
 * same page again.
 */
export function OnceField() {
  return <input type="hidden" name={ONCE_FIELD} value={usePage().once} />;
}

/** How the caller is signed in, in words: with which role, and whether by a user token. */
function standingOf({ member, token }: UserPrincipal): string {
  if (!member) return 'token of the account';
  return token === null ? member.role : `${member.role}, by user token`;
}

/** Who is signed in, and the way out: at the top, on a phone in the menu. */
function Who({ signedIn: { names, context } }: { signedIn: SignedIn }) {
  return (
    <div class="who">
      <a href="/console/me">
        <bdi>{names.caller}</bdi>
        <small>
          {standingOf(context.principal)} · <bdi>{names.account}</bdi>
        </small>
      </a>
      <form method="post" action="/console/sign-out">
        <CsrfField />
        <button type="submit" class="quiet small">
          Sign out
        </button>
      </form>
    </div>
  );
}

function Page({
  title,
  heading = title,
  flash,
  children,
  isNarrow,
  signedIn,
  path,
  registersWorker = false,
}: PageContent & { signedIn?: SignedIn | undefined; path: string }) {
  const { nonce } = usePage();
  const above = signedIn && sectionAbove(path);
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta
          name="description"
          content="Countersign: the console for the people who decide what AI agents may do."
        />
        <meta
          name="htmx-config"
          content='{"extensions":"hx-csp","includeIndicatorCSS":false,"history":false,"noSwap":[204,304,"4xx","5xx"]}'
        />
        {signedIn && <meta name="csrf-token" content={signedIn.csrf} />}
        {signedIn?.pushKey && <meta name="push-key" content={signedIn.pushKey} />}
        <title>{`${withScriptsMark(toOneLine(title))} · Countersign`}</title>
        <link rel="icon" href="/console/assets/favicon.svg" />
        <link rel="apple-touch-icon" href={assetPath('icon-180.png')} />
        {registersWorker && <link rel="manifest" href="/console/assets/console.webmanifest" />}
        <link rel="stylesheet" href={assetPath('console.css')} />
        {signedIn && <script nonce={nonce} src={assetPath('htmx.js')} defer></script>}
        <script nonce={nonce} src={assetPath('console.js')} defer></script>
      </head>
      <body class={signedIn ? 'app' : 'plain'}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <header class="top">
          <a class="brand" href="/console" rel={signedIn ? undefined : 'noreferrer'}>
            Countersign
          </a>
          {signedIn && (
            <>
              <StopLink signedIn={signedIn} />
              <button type="button" class="quiet small menu" popovertarget="menu">
                Menu
              </button>
              <Who signedIn={signedIn} />
              <StopBanner signedIn={signedIn} />
            </>
          )}
        </header>
        {signedIn && (
          <Navigation
            path={path}
            scopes={signedIn.context.principal.scopes}
            waiting={signedIn.waiting}
          >
            <Who signedIn={signedIn} />
          </Navigation>
        )}
        <main id="main" class={isNarrow ? 'narrow' : undefined} tabindex={-1}>
          <div class="heading">
            {above && (
              <a href={above.path} data-key="up">
                {above.name}
              </a>
            )}
            <h1>{heading}</h1>
            <GuideLink path={path} />
          </div>
          {flash ?? <FlashStrip flash={signedIn?.flash ?? null} />}
          {children}
          <p id="message" role="alert"></p>
        </main>
        <p id="connection" role="status"></p>
      </body>
    </html>
  );
}
