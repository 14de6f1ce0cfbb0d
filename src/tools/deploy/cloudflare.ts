import { reasonOf, UserError } from '../user-error.ts';

/** Milliseconds after which a request is given up. */
const REQUEST_TIMEOUT = 60_000;

/**
 * The codes with which Cloudflare's API says that something does not exist, besides the status 404.
 */
const ABSENT = [10_007, 10_090];

/** The envelope of an answer of Cloudflare's API. */
interface Envelope<T> {
  success: boolean;
  result: T;
  errors?: { code: number; message: string }[];
  result_info?: { total_pages?: number };
}

/** A request that Cloudflare's API refused. */
export class CloudflareError extends UserError {
  readonly status: number;
  readonly codes: number[];

  constructor(request: string, status: number, errors: { code: number; message: string }[]) {
    const reasons = errors.map(({ code, message }) => `${message} (code ${code})`);
    super(`Cloudflare answered ${request} with ${status}: ${reasons.join('; ') || 'no reason'}`);
    this.status = status;
    this.codes = errors.map(({ code }) => code);
  }

  /** Whether the login is invalid or lacks a right. */
  get isRefusedLogin(): boolean {
    return this.status === 401 || this.status === 403 || this.codes.includes(10_000);
  }
}

/**
 * A client of Cloudflare's API. wrangler makes things; this reads what there is, because wrangler
 * prints it for people.
 */
export class Cloudflare {
  private readonly headers: Record<string, string>;
  private readonly signal: AbortSignal;

  /** @param headers identify the login */
  constructor(headers: Record<string, string>, signal: AbortSignal) {
    this.headers = headers;
    this.signal = signal;
  }

  /**
   * Reads something; null if it does not exist.
   * @throws UserError if Cloudflare refuses or does not answer
   */
  async find<T>(path: string, headers: Record<string, string> = {}): Promise<T | null> {
    try {
      return (await this.send<T>('GET', path, undefined, headers)).result;
    } catch (error) {
      if (!(error instanceof CloudflareError)) throw error;
      if (error.status === 404 || error.codes.some((code) => ABSENT.includes(code))) return null;
      throw error;
    }
  }

  /** Reads all pages of a list. */
  async list<T>(path: string): Promise<T[]> {
    const items: T[] = [];
    for (let page = 1; ; page++) {
      const { result, result_info } = await this.send<T[]>(
        'GET',
        `${path}${path.includes('?') ? '&' : '?'}page=${page}`,
      );
      items.push(...result);
      if (page >= (result_info?.total_pages ?? 1)) return items;
    }
  }

  /** Sends a request with a body. */
  async change<T>(method: 'POST' | 'PUT', path: string, body: unknown): Promise<T> {
    return (await this.send<T>(method, path, body)).result;
  }

  private async send<T>(
    method: string,
    path: string,
    body?: unknown,
    headers = {},
  ): Promise<Envelope<T>> {
    const [response, text] = await fetchText(apiOrigin() + path, {
      method,
      headers: {
        ...this.headers,
        ...headers,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.any([this.signal, AbortSignal.timeout(REQUEST_TIMEOUT)]),
    }).catch((error) => {
      this.signal.throwIfAborted();
      throw new UserError(`Cloudflare's API did not answer: ${reasonOf(error)}`);
    });
    const answer = parseEnvelope<T>(text);
    if (response.ok && answer?.success) return answer;
    throw new CloudflareError(
      `${method} ${path.split('?')[0]}`,
      response.status,
      answer?.errors ?? [],
    );
  }
}

/** Sends a request and reads the whole answer. */
async function fetchText(url: string, request: RequestInit): Promise<[Response, string]> {
  const response = await fetch(url, request);
  return [response, await response.text()];
}

/** Reads an answer; null if it is not JSON, such as the page of a proxy. */
function parseEnvelope<T>(text: string): Envelope<T> | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The address of Cloudflare's API, as wrangler finds it. */
function apiOrigin(): string {
  return process.env.CLOUDFLARE_API_BASE_URL ?? 'https://api.cloudflare.com/client/v4';
}
