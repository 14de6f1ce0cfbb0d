import { env } from 'cloudflare:test';
import { createApp } from '../../src/app';
import { runCron, SCHEDULES } from '../../src/background/run-cron';
import { describeApi } from '../../src/docs/document';
import type { DeliveryMessage, Env, FileMessage, Runtime } from '../../src/env';
import type { JobSizes } from '../../src/files/job-context';
import { ApiDocument } from './api-document';
import { BackgroundWork } from './background-work';
import { checkedDatabases } from './checked-database';
import { Conformance } from './conformance';
import { Internet } from './internet';
import { deliver, deliverMessage, TestQueue } from './queue';

export const ORIGIN = 'https://countersign.test';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by many tests, each of which asserts what it sees
export type Json = any;

/** An answer of the service with its whole body. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON; undefined when there is none. */
  body: Json;
  /** The database cost of the answer: round trips, and rows read and written. */
  cost: { trips: number; read: number; written: number };
}

export interface Call {
  token?: string;
  body?: unknown;
  /** Sent unchanged instead of `body`. */
  raw?: BodyInit;
  headers?: Record<string, string>;
}

/**
 * The paths of the console's pages, of the MCP server, and of what is behind connections, which the
 * OpenAPI document does not describe.
 */
const IS_NO_API = /^\/(console|mcp|v1\/connections\/[^/]+\/proxy)/;

/** Shared by all worlds of a file. */
let conformance: Conformance | undefined;

/** The service with a clock that stands still until it is moved. */
export class World {
  now = Date.UTC(2026, 0, 31, 12, 0, 0, 0);
  /** The pauses of the service so far, in milliseconds. */
  pauses: number[] = [];
  /** Called at every pause, after the clock has moved. */
  whileAsleep: () => Promise<unknown> = async () => undefined;
  /** The servers of other people. */
  readonly internet = new Internet((milliseconds) => this.advance(milliseconds));
  readonly runtime: Runtime = {
    now: () => this.now,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    sleep: async (milliseconds) => {
      this.pauses.push(milliseconds);
      this.now += milliseconds;
      await this.whileAsleep();
    },
    fetch: (url, options) => this.internet.fetch(url, options),
    timeout: () => this.internet.timeout(),
  };
  readonly app = createApp(this.runtime);
  readonly queue = new TestQueue<FileMessage>(() => this.now);
  readonly deliveryQueue = new TestQueue<DeliveryMessage>(() => this.now);
  readonly slowDeliveryQueue = new TestQueue<DeliveryMessage>(() => this.now);
  env: Env;

  constructor(overrides: Partial<Env> = {}) {
    const { ASSETS, DB, FILES, ADMIN_TOKEN, ROOT_SECRET, PUBLIC_URL, EXPOSE_COST, RATE_LIMITS } =
      env;
    const settings = { ADMIN_TOKEN, ROOT_SECRET, PUBLIC_URL, EXPOSE_COST, RATE_LIMITS };
    const queues = {
      JOB_QUEUE: this.queue.binding,
      WEBHOOK_QUEUE: this.deliveryQueue.binding,
      SLOW_WEBHOOK_QUEUE: this.slowDeliveryQueue.binding,
    };
    const given = { ASSETS, DB, FILES, ...queues, ...settings, ...overrides };
    this.env = { ...given, ...checkedDatabases(given) };
  }

  /** Every route of the HTTP API, from the router's own list: "GET /v1/agents". */
  get routes(): string[] {
    const routes = this.app.routes.filter(
      ({ method, path }) => method !== 'ALL' && !IS_NO_API.test(path),
    );
    return [...new Set(routes.map(({ method, path }) => `${method} ${path}`))];
  }

  /**
   * Goes on in another isolate, which does not remember the callers of this one.
   * @param changes settings that are different there
   */
  restart(changes: Partial<Env> = {}): void {
    this.env = { ...this.env, ...changes };
  }

  /** Moves the clock. */
  advance(milliseconds: number): void {
    this.now += milliseconds;
  }

  /**
   * Sends a request, and waits for the work that continues after its answer.
   * @throws Error if the OpenAPI document does not describe the answer, or the request that was
   *   accepted
   */
  async call(
    method: string,
    path: string,
    { token, body, raw, headers }: Call = {},
  ): Promise<Answer> {
    const work = new BackgroundWork();
    const request = new Request(ORIGIN + path, {
      method,
      headers: {
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: raw ?? (body === undefined ? null : JSON.stringify(body)),
    });
    const response = await this.app.fetch(request, this.env, work.context);
    const text = await response.text();
    await work.finish();
    const answer = {
      status: response.status,
      headers: response.headers,
      text,
      body: response.headers.get('Content-Type')?.includes('json') ? JSON.parse(text) : undefined,
      cost: readCost(response.headers),
    };
    if (IS_NO_API.test(path)) return answer;
    conformance ??= new Conformance(new ApiDocument(describeApi(this.app.routes, ORIGIN)));
    const faults = conformance.findFaults({ method, url: new URL(request.url), body }, answer);
    if (faults.length > 0)
      throw new Error([`${method} ${path} answered ${answer.status}:`, ...faults].join('\n  '));
    return answer;
  }

  /** Like `call`, and throws unless the answer has the given status. */
  async must(status: number, method: string, path: string, call: Call = {}): Promise<Answer> {
    const answer = await this.call(method, path, call);
    if (answer.status !== status) {
      throw new Error(`${method} ${path} answered ${answer.status}, not ${status}: ${answer.text}`);
    }
    return answer;
  }

  /** Runs the minute's sweep. */
  async sweep(): Promise<void> {
    await runCron(SCHEDULES.every_minute, this.env, this.runtime);
  }

  /** Runs the hourly cron. */
  async clean(): Promise<void> {
    await runCron(SCHEDULES.every_hour, this.env, this.runtime);
  }

  /** Runs the jobs whose queue messages are due, until there are none. */
  async work(sizes?: JobSizes): Promise<void> {
    for (let bodies = this.queue.take(); bodies.length > 0; bodies = this.queue.take()) {
      for (const body of bodies) await deliver([body], this.env, this.runtime, sizes);
    }
  }

  /** Handles the messages of both delivery queues, until none is due. */
  async deliver(): Promise<void> {
    for (;;) {
      const messages = [...this.deliveryQueue.take(), ...this.slowDeliveryQueue.take()];
      if (messages.length === 0) return;
      for (const message of messages) await deliverMessage(message, this.env, this.runtime);
    }
  }

  /** Handles the oldest due message of the fast delivery queue only. */
  async deliverOnce(): Promise<void> {
    const [first] = this.deliveryQueue.take(1);
    if (first) await deliverMessage(first, this.env, this.runtime);
  }

  /** Creates an account with a user token of every scope. */
  async account(fields: Record<string, unknown> = {}): Promise<TestAccount> {
    const body = { email: 'owner@example.com', ...fields };
    const { body: account } = await this.must(201, 'POST', '/v1/admin/users', {
      token: this.env.ADMIN_TOKEN ?? '',
      body,
    });
    return new TestAccount(this, account.id, account.token.token, account.token.id);
  }
}

/** An account of a world, with a user token. */
export class TestAccount {
  constructor(
    readonly world: World,
    readonly id: string,
    readonly token: string,
    readonly tokenId: string,
  ) {}

  call(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.world.call(method, path, {
      token: this.token,
      ...(body !== undefined && { body }),
    });
  }

  must(status: number, method: string, path: string, body?: unknown): Promise<Answer> {
    return this.world.must(status, method, path, {
      token: this.token,
      ...(body !== undefined && { body }),
    });
  }

  /** Creates an agent of the account. */
  async agent(fields: Record<string, unknown> = {}): Promise<TestAgent> {
    const { body } = await this.must(201, 'POST', '/v1/agents', { name: 'Mailer', ...fields });
    return new TestAgent(this, body.id, body.api_key);
  }

  /** Creates a user token with only these scopes. */
  async limitedToken(...scopes: string[]): Promise<string> {
    return (await this.must(201, 'POST', '/v1/me/tokens', { scopes })).body.token;
  }

  /** Every entry of the log, oldest first. */
  async log(query = ''): Promise<Json[]> {
    const entries: Json[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Answer = await this.must(
        200,
        'GET',
        `/v1/audit?limit=1000&order=asc${query}${cursor && `&cursor=${cursor}`}`,
      );
      entries.push(...page.body.data);
      cursor = page.body.next_cursor;
    }
    return entries;
  }
}

/** An agent of a test account, with its key. */
export class TestAgent {
  constructor(
    readonly account: TestAccount,
    readonly id: string,
    readonly key: string,
  ) {}

  call(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.account.world.call(method, path, {
      token: this.key,
      ...(body !== undefined && { body }),
    });
  }

  must(status: number, method: string, path: string, body?: unknown): Promise<Answer> {
    return this.account.world.must(status, method, path, {
      token: this.key,
      ...(body !== undefined && { body }),
    });
  }

  /** Requests a permission. */
  async request(fields: Record<string, unknown> = {}): Promise<Json> {
    const body = { action: 'email.send', resource: 'mailbox:support', ...fields };
    return (await this.must(201, 'POST', '/v1/permissions', body)).body;
  }

  /**
   * Requests a permission and has it approved; returns it as the agent reads it, with the token.
   */
  async approved(
    fields: Record<string, unknown> = {},
    approval: Record<string, unknown> = {},
  ): Promise<Json> {
    const { id } = await this.request(fields);
    await this.account.must(200, 'POST', `/v1/permissions/${id}/approve`, approval);
    return (await this.must(200, 'GET', `/v1/permissions/${id}`)).body;
  }
}

function readCost(headers: Headers): Answer['cost'] {
  const [trips, read, written] = [...(headers.get('Server-Timing') ?? '').matchAll(/=(\d+)/g)].map(
    ([, n]) => Number(n),
  );
  return { trips: trips ?? 0, read: read ?? 0, written: written ?? 0 };
}

/** A permission without its input and preview, as decisions and lists show it. */
export function withoutContents({ input: _, preview: __, ...permission }: Json): Json {
  return permission;
}

/** A world with an account and an agent. */
export async function makeAgent(world = new World(), fields: Record<string, unknown> = {}) {
  const account = await world.account(fields);
  return { world, account, agent: await account.agent() };
}
