import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { FakeAccount } from './fake-account.ts';
import { type Answer, failure } from './fake-answer.ts';
import { FakeService } from './fake-service.ts';

export const TOKEN = 'token-of-the-test';

/** How a call fails: refused before it takes effect, or its answer is lost after it did. */
export type FailureKind = 'refused' | 'lost';

/** A call that reached the API. */
export interface Call {
  method: string;
  /**
   * The path with `:id` for each identifier, so that calls for several things of one kind are
   * equal.
   */
  kind: string;
  path: string;
  isWrite: boolean;
  /** Whether wrangler sent it, rather than the program that runs wrangler. */
  isFromWrangler: boolean;
}

/**
 * A server on loopback that answers wrangler and `npm run deploy` as Cloudflare's API does, for one
 * account, and serves the Worker that was deployed to it.
 */
export class FakeCloudflare {
  account = new FakeAccount();
  service = new FakeService(() => this.account);
  calls: Call[] = [];
  /** Decides whether a call fails. */
  fail: (call: Call) => FailureKind | null = () => null;
  private server: Server | null = null;
  origin = '';

  async start(): Promise<void> {
    this.server = createServer((request, response) => {
      this.answer(request, response).catch((error) => {
        response.writeHead(599).end(String(error));
      });
    });
    await new Promise<void>((resolve) => this.server?.listen(0, '127.0.0.1', resolve));
    const address = this.server.address();
    if (address && typeof address === 'object') this.origin = `http://127.0.0.1:${address.port}`;
  }

  stop(): void {
    this.server?.closeAllConnections();
    this.server?.close();
  }

  /** The calls that changed something, of one kind or of all. */
  writes(kind?: string): Call[] {
    return this.calls.filter((call) => call.isWrite && (kind === undefined || call.kind === kind));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = request;
    const body = await buffer(request);
    const [, host = '', rest = '/'] = /^\/served\/([^/]+)(\/.*)$/.exec(url) ?? [];
    if (host !== '') {
      const kind = `${method} service ${rest.split('?')[0]}`;
      const call = { method, kind, path: url, isWrite: method !== 'GET', isFromWrangler: false };
      return this.finish(response, call, () =>
        this.service.answer(method, host, rest, headers, body.toString()),
      );
    }
    const isFromWrangler = headers['user-agent']?.startsWith('wrangler/') ?? false;
    const call = { ...describeCall(method, url, body.toString()), isFromWrangler };
    await this.finish(response, call, async () => {
      if (headers.authorization !== `Bearer ${TOKEN}`)
        return failure(401, 10_000, 'Authentication error');
      return this.account.answer(method, url, headers, body);
    });
  }

  private async finish(
    response: ServerResponse,
    call: Call,
    act: () => Promise<Answer> | Answer,
  ): Promise<void> {
    this.calls.push(call);
    const how = this.fail(call);
    const { status, body } =
      how === 'refused' ? failure(500, 10_013, 'An unknown error has occurred') : await act();
    if (how === 'lost') return void response.destroy();
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  }
}

function describeCall(method: string, url: string, body: string): Omit<Call, 'isFromWrangler'> {
  const path = url.split('?')[0] ?? '';
  const kind = path
    .replace(/^\/accounts\/[^/]+/, '')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ':id')
    .replace(/(database|buckets)\/[^:/]+/, '$1/:name');
  const sql = kind.endsWith('/query') ? (JSON.parse(body) as { sql: string }).sql : null;
  const statement = sql === null ? '' : ` ${describeStatement(sql)}`;
  const isRead = method === 'GET' || statement === ' select' || kind.endsWith('/changeset');
  return { method, kind: `${method} ${kind}${statement}`, path: url, isWrite: !isRead };
}

function describeStatement(sql: string): string {
  if (/^\s*select/i.test(sql)) return 'select';
  return sql.includes('INSERT INTO') ? 'migration' : 'create';
}
