import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failures.ts';

/** How long the person has to confirm, in milliseconds. */
const LOGIN_TIMEOUT = 10 * 60_000;

/** With what the console sends the browser back. */
type ConsoleAnswer = { code: string } | { error: string };

interface CodeListener {
  redirectUri: string;
  /** Rejects with a Failure when nobody confirmed in time. */
  answer: Promise<ConsoleAnswer>;
  close(): void;
}

/**
 * Listens on a free port of 127.0.0.1 for the browser that comes back from the console. Only the
 * request with this `state` counts: other programs and web pages can send requests too.
 */
export async function listenForCode(state: string): Promise<CodeListener> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
  let timer: NodeJS.Timeout | undefined;
  const answer = new Promise<ConsoleAnswer>((resolve, reject) => {
    const late = new Failure('Nobody confirmed the sign-in within 10 minutes.', EXIT.expired);
    timer = setTimeout(() => reject(late), LOGIN_TIMEOUT);
    server.on('request', (request, response) => {
      const found = readAnswer(request, redirectUri, state);
      reply(response, found);
      if (found) resolve(found);
    });
  });
  // A failure before anybody waits for the answer is not unhandled.
  answer.catch(() => {});
  const close = () => {
    clearTimeout(timer);
    server.close();
    server.closeIdleConnections();
  };
  return { redirectUri, answer, close };
}

function readAnswer(
  { method, url = '', headers }: IncomingMessage,
  redirectUri: string,
  state: string,
) {
  const { origin, pathname } = new URL(redirectUri);
  // A page that lets its own name lead to 127.0.0.1 sends that name.
  if (method !== 'GET' || `http://${headers.host}` !== origin || !URL.canParse(url, origin))
    return null;
  const { pathname: path, searchParams: query } = new URL(url, origin);
  if (path !== pathname || !isEqual(query.get('state') ?? '', state)) return null;
  const code = query.get('code');
  const error = query.get('error');
  if (error) return { error };
  if (code) return { code };
  return null;
}

function isEqual(one: string, other: string): boolean {
  const a = Buffer.from(one);
  const b = Buffer.from(other);
  return a.length === b.length && timingSafeEqual(a, b);
}

function textFor(answer: ConsoleAnswer | null): string {
  if (!answer) return 'This address is for the browser that comes back from the console.';
  if ('error' in answer) return 'You denied the sign-in. You can close this page.';
  return 'Confirmed. Go back to the terminal; you can close this page.';
}

function reply(response: ServerResponse, answer: ConsoleAnswer | null): void {
  response.writeHead(answer ? 200 : 400, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  });
  response.end(
    `<!doctype html>\n<html lang="en"><title>Countersign</title><p>${textFor(answer)}</p></html>\n`,
  );
}
