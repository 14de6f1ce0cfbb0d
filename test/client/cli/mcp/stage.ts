import { Gate } from '../../../../src/packages/client/cli/mcp/gate';
import { parseRules } from '../../../../src/packages/client/cli/mcp/rules-file';
import type { Clock } from '../../../../src/packages/client/clock';
import { Countersign } from '../../../../src/packages/client/index';
import { type Json, makeAgent, ORIGIN, type World } from '../../../support/world';

/** A clock of which every sleep goes on when the test says so. */
export class ManualClock implements Clock {
  #time = 0;
  #sleepers: { at: number; wake: () => void }[] = [];

  now(): number {
    return this.#time;
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      this.#sleepers.push({ at: this.#time + milliseconds, wake: resolve });
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }

  advance(milliseconds: number): void {
    this.#time += milliseconds;
    const due = this.#sleepers.filter(({ at }) => at <= this.#time);
    this.#sleepers = this.#sleepers.filter(({ at }) => at > this.#time);
    for (const { wake } of due) wake();
  }
}

type Fetch = (url: URL, request: RequestInit) => Promise<Response>;

/** One process of `mcp wrap`: what a client sends, and what each side gets. */
export class Session {
  readonly clock = new ManualClock();
  readonly gate: Gate;
  /** The lines that reached the server, and the messages that reached the client. */
  readonly toServer: string[] = [];
  readonly toClient: Json[] = [];
  readonly notices: string[] = [];
  /** The requests to the service, for example `POST /v1/permissions`. */
  readonly requests: string[] = [];
  /** Replaces the network. */
  fetch: Fetch;
  #waiters: (() => void)[] = [];

  constructor(world: World, apiKey: string, rules: object, server = ['/home', 'server']) {
    this.fetch = (url, request) => answerOf(world, url, request);
    const clock = {
      now: () => world.now,
      sleep: async (milliseconds: number) => world.advance(milliseconds),
    };
    const fetch = async (url: unknown, request: RequestInit = {}) => {
      this.requests.push(`${request.method} ${(url as URL).pathname.replace(/perm_\w+/, ':id')}`);
      return this.fetch(url as URL, request);
    };
    this.gate = new Gate({
      client: new Countersign({
        baseUrl: ORIGIN,
        apiKey,
        clock,
        fetch: fetch as typeof globalThis.fetch,
        maxRetries: 0,
      }),
      rules: parseRules(JSON.stringify(rules)),
      server,
      toServer: (line) => this.#note(this.toServer, line),
      toClient: (line) => this.#note(this.toClient, JSON.parse(line)),
      notice: (line) => this.notices.push(line),
      clock: this.clock,
    });
  }

  #note<T>(list: T[], entry: T): void {
    list.push(entry);
    for (const wake of this.#waiters.splice(0)) wake();
  }

  /** Sends a line as the client. */
  send(message: string | object): void {
    const line = typeof message === 'string' ? message : JSON.stringify(message);
    this.gate.fromClient(new TextEncoder().encode(line));
  }

  /** Sends lines, and expects that none reaches the server. Returns the messages to the client. */
  refused(message: string | object): Json[] {
    const before = this.toServer.length;
    this.send(message);
    if (this.toServer.length !== before)
      throw new Error(`reached the server: ${this.toServer.at(-1)}`);
    return this.toClient.splice(0);
  }

  /**
   * Calls a tool, and returns the text of the gate's answer, or the arguments that reached the
   * server.
   */
  async call(name: string, args: unknown = {}, more: object = {}): Promise<Json> {
    const id = `call-${crypto.randomUUID()}`;
    this.send({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: args, ...more },
    });
    for (;;) {
      const answer = this.toClient.find((message) => message.id === id);
      if (answer) return answer.result ? answer.result.content[0].text : answer.error;
      const line = this.toServer.find((sent) => JSON.parse(sent).id === id);
      if (line) return JSON.parse(line).params.arguments;
      await this.change();
    }
  }

  /** Resolves at the next message to either side. */
  change(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
    });
  }
}

/** A world with an agent, and sessions of `mcp wrap` with its key. */
export async function stage(rules: object = {}) {
  const { world, account, agent } = await makeAgent();
  const start = (other: object = rules, server?: string[]) =>
    new Session(world, agent.key, other, server);
  const waiting = async (): Promise<Json> =>
    (await account.must(200, 'GET', '/v1/permissions?status=pending')).body.data[0];
  const decide = async (decision: 'approve' | 'deny', body: object = {}) => {
    const { id } = await waiting();
    await account.must(200, 'POST', `/v1/permissions/${id}/${decision}`, body);
  };
  const requests = async (): Promise<Json[]> =>
    (await account.must(200, 'GET', '/v1/permissions')).body.data;
  return { world, account, agent, start, waiting, decide, requests };
}

/** Sends a client's request to the world, which also checks it against the OpenAPI document. */
async function answerOf(world: World, url: URL, request: RequestInit): Promise<Response> {
  const { 'content-type': _, ...headers } = Object.fromEntries(new Headers(request.headers));
  const answer = await world.call(request.method ?? 'GET', url.pathname + url.search, {
    headers,
    ...(request.body ? { raw: request.body, body: JSON.parse(String(request.body)) } : {}),
  });
  return new Response(answer.text, answer);
}
