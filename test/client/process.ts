import type { Clock } from '../../src/packages/client/clock.ts';
import {
  Countersign,
  type CountersignOptions,
  GuardError,
  type Limits,
} from '../../src/packages/client/index.ts';
import type { World } from '../support/world';

export interface Payment {
  amount: number;
  to: string;
}

/** What goes wrong with the n-th request of a process, counted from 0. */
export interface Fault {
  request: number;
  /** Before it reaches the service, or after the service carried it out. */
  when: 'before' | 'after';
  /** Whether the request fails, it and all after it fail, or the process dies there. */
  how: 'fails' | 'all fail' | 'dies';
}

/** What an adapter or the plain guard makes of the act. */
export interface Guarding {
  client: Countersign;
  /** The act. It records that it ran. */
  act: (input: Payment, granted: Limits) => Promise<string>;
  mode: 'wait' | 'suspend';
  fits?: (input: Payment, granted: Limits) => boolean;
}

/** What is asked for a payment, by every subject of the conformance suite. */
export const PAYMENT = {
  action: 'payment.send',
  resource: ({ to }: Payment) => `account:${to}`,
  scope: { amount: 500 },
};

/**
 * Guards the act, once for each process. The guarded call resolves when the act ran, and rejects
 * with the `GuardError` when it did not.
 */
export type Subject = (guarding: Guarding) => (input: Payment, callId: string) => Promise<unknown>;

/** How a call ended: `done`, `killed`, or the code of its error. */
export type Outcome = string;

/** Runs of the act: the input and the limits of each. */
export type Runs = { input: Payment; granted: Limits }[];

/** A clock that is the world's, and moves it when a client waits. */
export function worldClock(world: World): Clock {
  return {
    now: () => world.now,
    sleep: async (milliseconds, signal) => {
      signal?.throwIfAborted();
      world.advance(milliseconds);
    },
  };
}

/** A client of the service in the world, with an agent's key or a user token. */
export function makeClient(
  world: World,
  apiKey: string,
  options: CountersignOptions = {},
): Countersign {
  return new Countersign({
    baseUrl: 'https://countersign.test',
    apiKey,
    clock: worldClock(world),
    fetch: (url, request) => answerOf(world, url as URL, request ?? {}),
    ...options,
  });
}

/** Sends a client's request to the world, which also checks it against the OpenAPI document. */
export async function answerOf(world: World, url: URL, request: RequestInit): Promise<Response> {
  const { 'content-type': _, ...sent } = Object.fromEntries(new Headers(request.headers));
  const { status, headers, text } = await world.call(
    request.method ?? 'GET',
    url.pathname + url.search,
    {
      headers: sent,
      ...(request.body ? { raw: request.body, body: JSON.parse(String(request.body)) } : {}),
    },
  );
  return new Response(status === 204 || status === 304 ? null : text, { status, headers });
}

/** One process of an agent: it can lose requests and die. */
export class Process {
  /** The requests so far, for example `POST /v1/permissions`. */
  readonly requests: string[] = [];
  readonly client: Countersign;
  readonly #die: () => void;
  readonly #death: Promise<Outcome>;
  readonly #world: World;
  readonly #fault: Fault | undefined;

  constructor(
    world: World,
    key: string,
    { fault, maxRetries = 0 }: { fault?: Fault; maxRetries?: number } = {},
  ) {
    let die = () => {};
    this.#death = new Promise((resolve) => {
      die = () => resolve('killed');
    });
    this.#die = die;
    this.#world = world;
    this.#fault = fault;
    this.client = makeClient(world, key, {
      maxRetries,
      fetch: (url, request) => this.#fetch(url as URL, request ?? {}),
    });
  }

  async #fetch(url: URL, request: RequestInit): Promise<Response> {
    const place = this.#fault ? this.requests.length - this.#fault.request : -1;
    const fault =
      place === 0 || (place > 0 && this.#fault?.how === 'all fail') ? this.#fault : undefined;
    this.requests.push(`${request.method} ${url.pathname.replace(/perm_\w+/, ':id')}`);
    if (fault?.when === 'before') return this.#fail(fault);
    const answer = await answerOf(this.#world, url, request);
    return fault ? this.#fail(fault) : answer;
  }

  #fail({ how }: Fault): Promise<Response> {
    if (how !== 'dies') throw new TypeError('fetch failed');
    return this.die();
  }

  /** Ends the process: nothing of it goes on. */
  die(): Promise<never> {
    this.#die();
    return new Promise(() => {});
  }

  /** Makes a guarded call in this process. */
  async call(
    subject: Subject,
    guarding: Omit<Guarding, 'client'>,
    input: Payment,
    callId: string,
  ): Promise<Outcome> {
    const guarded = subject({ ...guarding, client: this.client });
    const outcome = guarded(input, callId).then(
      () => 'done',
      (error: unknown) => {
        if (error instanceof GuardError) return error.code;
        throw error;
      },
    );
    return Promise.race([outcome, this.#death]);
  }
}
