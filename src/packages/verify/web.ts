import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { CannotCheck, LogRefused } from './core/findings.ts';
import { isJsonObject, type Json, type JsonObject, parseJson } from './core/json.ts';

const JSON_TIMEOUT_MS = 60_000;

/**
 * Fetches JSON.
 * @throws LogRefused if the answer is the problem `log_refused` (RFC 9457)
 * @throws CannotCheck if there is no answer, or it is another error or not JSON
 */
export async function fetchJson(url: string, init: RequestInit = {}): Promise<Json> {
  const response = await request(url, { signal: AbortSignal.timeout(JSON_TIMEOUT_MS), ...init });
  const text = await response.text().catch((error) => {
    throw new CannotCheck(`${url} broke off: ${causeOf(error)}`);
  });
  const body = parseOrError(text);
  if (response.status === 409 && isJsonObject(body) && body.code === 'log_refused') {
    throw new LogRefused(`${url} was answered 409 log_refused`);
  }
  if (!response.ok)
    throw new CannotCheck(`${url} was answered ${response.status}: ${text.slice(0, 500)}`);
  if (body instanceof SyntaxError)
    throw new CannotCheck(`${url} was not answered with JSON: ${body.message}`);
  return body;
}

function parseOrError(text: string): Json | SyntaxError {
  try {
    return parseJson(text);
  } catch (error) {
    return error as SyntaxError;
  }
}

/**
 * Downloads a file.
 * @throws CannotCheck if that fails
 */
export async function downloadFile(url: string, file: string): Promise<void> {
  const response = await request(url);
  if (!response.ok || !response.body)
    throw new CannotCheck(`${url} was answered ${response.status}`);
  await pipeline(response.body, createWriteStream(file)).catch((error) => {
    throw new CannotCheck(`${url} broke off: ${causeOf(error)}`);
  });
}

/** A client of the service's API with a user token. Its methods throw as {@link fetchJson} does. */
export class ServiceClient {
  readonly origin: string;
  private readonly token: string;

  /** @param url the URL of the service; its path is ignored */
  constructor(url: string, token: string) {
    this.origin = new URL(url).origin;
    this.token = token;
  }

  get(path: string): Promise<JsonObject> {
    return this.ask(path, {});
  }

  post(path: string, body: JsonObject): Promise<JsonObject> {
    return this.ask(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json' },
    });
  }

  private async ask(path: string, { headers, ...init }: RequestInit): Promise<JsonObject> {
    const authorized = { ...headers, Authorization: `Bearer ${this.token}` };
    return (await fetchJson(this.origin + path, { ...init, headers: authorized })) as JsonObject;
  }
}

/**
 * Sends a request. Repeats it after `Retry-After` while the service answers 429, unless that is
 * over a minute.
 */
async function request(url: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const response = await fetch(url, init).catch((error) => {
      throw new CannotCheck(`${url} does not answer: ${causeOf(error)}`);
    });
    const wait = Number(response.headers.get('Retry-After'));
    if (response.status !== 429 || !(wait > 0 && wait <= 60)) return response;
    await response.body?.cancel();
    await sleep(1_000 * wait);
  }
}

function causeOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message || String(error.cause) : error.message;
}
