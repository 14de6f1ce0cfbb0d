import { endWithSignal } from './abort.ts';
import { findAddressFault } from './address.ts';
import type { Call } from './call.ts';
import { checkOptions, type OptionList } from './check-options.ts';
import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import { type Duration, toMilliseconds } from './duration.ts';
import { ApiError } from './errors.ts';
import { type Guarded, type GuardedFunction, type GuardOptions, guard } from './guard/guard.ts';
import { Operations } from './operations.ts';
import { type Page, PagePromise } from './page.ts';
import { present } from './present.ts';
import { Transport } from './transport.ts';

export interface CountersignOptions {
  /** The service's origin; by default the environment variable `COUNTERSIGN_URL`. */
  baseUrl?: string;
  /**
   * An agent key, a user token or the operator token; by default the environment variable
   * `COUNTERSIGN_API_KEY`.
   */
  apiKey?: string;
  fetch?: typeof fetch;
  /** Retries after no answer, or after one with a status that may pass; 2 by default. */
  maxRetries?: number;
  /** How long an attempt may take: a text such as `30s`, or milliseconds. One minute by default. */
  timeout?: Duration;
  /** Replaces the system's clock, for tests. */
  clock?: Clock;
}

const OPTIONS: OptionList<CountersignOptions> = {
  baseUrl: true,
  apiKey: true,
  fetch: true,
  maxRetries: true,
  timeout: true,
  clock: true,
};

/** How long an attempt may take by default, in milliseconds. */
const DEFAULT_TIMEOUT = 60_000;

/**
 * A client of the service: a method for every operation of its API, and `guard`.
 *
 * @example
 * const countersign = new Countersign();
 * for await (const agent of countersign.listAgents()) console.log(agent.name);
 */
export class Countersign extends Operations {
  readonly #transport: Transport;

  /**
   * @throws TypeError when neither `baseUrl` nor `COUNTERSIGN_URL` is the address of a service, for
   *   a key that cannot be one, and for an option that does not exist
   */
  constructor(options: CountersignOptions = {}) {
    super();
    checkOptions(options, OPTIONS, 'Countersign');
    const baseUrl = options.baseUrl || readEnvironment('COUNTERSIGN_URL');
    if (!baseUrl)
      throw new TypeError(
        'Set baseUrl, or the environment variable COUNTERSIGN_URL, to the address of the service.',
      );
    const fault = findAddressFault(baseUrl);
    if (fault) throw new TypeError(`baseUrl ${fault}`);
    this.#transport = new Transport({
      baseUrl: new URL(baseUrl).href.replace(/\/+$/, ''),
      apiKey: checkKey(options.apiKey ?? readEnvironment('COUNTERSIGN_API_KEY')),
      // Called through a closure: a browser's and a Worker's fetch refuse another `this`.
      fetch: options.fetch ?? ((...request) => fetch(...request)),
      maxRetries: options.maxRetries ?? 2,
      timeout: toMilliseconds(options.timeout, 'timeout') ?? DEFAULT_TIMEOUT,
      clock: options.clock ?? systemClock,
    });
  }

  /** The address of the service, without a slash at its end. */
  get baseUrl(): string {
    return this.#transport.settings.baseUrl;
  }

  get clock(): Clock {
    return this.#transport.settings.clock;
  }

  /**
   * Returns a function that runs `fn` only after its call was approved, at most once for each
   * approval, and with exactly the input that was approved.
   *
   * A call asks for permission with the input, waits for the decision, takes the one use of the
   * token, and then runs `fn` with a copy of the input, the granted limits and the request. Every
   * failure before that throws, and `fn` does not run: a `GuardError` says that the call was not
   * approved, an `ApiError` that the service refused it, a `TypeError` that it cannot be asked for.
   * The reason of an aborted signal, and an error of a function in the options, are thrown as they
   * are.
   *
   * @example
   * const sendMail = countersign.guard(sendMailNow, {
   *   action: 'email.send',
   *   resource: ({ to }) => `mailbox:${to}`,
   * });
   */
  guard<Input, Output>(
    fn: GuardedFunction<Input, Output>,
    options: GuardOptions<Input>,
  ): Guarded<Input, Output> {
    return guard(this, fn, options);
  }

  protected json<T>(call: Call): Promise<T> {
    return this.#transport.send(call, (response) => expectSuccess(response).json() as Promise<T>);
  }

  protected empty(call: Call): Promise<void> {
    return this.#transport.send(call, async (response) => expectSuccess(response).body?.cancel());
  }

  protected response(call: Call): Promise<Response> {
    return this.#transport.send(call, async (response, signal) => endWithSignal(response, signal));
  }

  protected pages<T>(call: Call): PagePromise<T> {
    return new PagePromise((cursor) => {
      const query = { ...call.query, ...present({ cursor }) };
      return this.json<Page<T>>({ ...call, query });
    });
  }
}

/** @throws ApiError for a redirect, which is not followed: the call was not carried out */
function expectSuccess(response: Response): Response {
  if (!response.ok) throw new ApiError(response, undefined, null);
  return response;
}

/**
 * @throws TypeError without the key: the error of fetch for a header that cannot be sent quotes it
 */
function checkKey(key: string | undefined): string | undefined {
  const trimmed = key?.trim();
  if (trimmed && !/^[\x21-\x7e]+$/.test(trimmed))
    throw new TypeError('apiKey has characters that no key has, such as a space or a line break.');
  return trimmed;
}

function readEnvironment(name: string): string | undefined {
  return globalThis.process?.env?.[name] || undefined;
}
