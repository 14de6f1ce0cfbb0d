// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by many calls, each of which knows what it gets
export type Json = any;

/** A service whose costs are measured. */
export interface GrowthService {
  /** `PUBLIC_URL`. */
  origin: string;
  operatorToken: string;
  /** Every route of the router: "GET /v1/agents". */
  routes: readonly string[];
  fetch(path: string, options: RequestInit): Promise<Response>;
  /**
   * Runs SQL statements on the database, each in a transaction of its own, and returns the rows of
   * the last one.
   */
  run(statements: readonly string[]): Promise<Json[]>;
  /** Runs the jobs that the requests so far have enqueued. */
  work(): Promise<void>;
}

/** A request, as a rule with the account's user token. */
export interface Call {
  path: string;
  /** The credential; null for none. */
  token?: string | null;
  cookie?: string;
  body?: object;
  form?: Record<string, string>;
  headers?: Record<string, string>;
  /** The expected status; by default any that is a success or leads to another page. */
  status?: number;
}

export interface Answer {
  body: Json;
  headers: Headers;
  read: number;
  written: number;
}

/**
 * Sends a request.
 * @throws Error for another status than the expected one, so that no refusal is measured by mistake
 */
export async function send(
  service: GrowthService,
  method: string,
  { path, token, cookie, body, form, headers, status }: Call,
): Promise<Answer> {
  const response = await service.fetch(path, {
    method,
    redirect: 'manual',
    headers: {
      ...(token && { Authorization: `Bearer ${token}` }),
      ...(cookie !== undefined && { Cookie: cookie, Accept: 'text/html' }),
      ...(body && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
    ...(form && { body: new URLSearchParams(form) }),
  });
  const text = await response.text();
  const isExpected = status === undefined ? response.status < 400 : response.status === status;
  if (!isExpected)
    throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
  const [, read = 0, written = 0] =
    /read=(\d+) written=(\d+)/.exec(response.headers.get('Server-Timing') ?? '') ?? [];
  const isJson = response.headers.get('Content-Type')?.includes('json');
  return {
    body: isJson ? JSON.parse(text) : text,
    headers: response.headers,
    read: Number(read),
    written: Number(written),
  };
}
