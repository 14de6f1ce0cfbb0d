import type { Permission } from '../../api.ts';
import { canonicalJson, digestOf } from '../../canonical-json.ts';
import type { Countersign } from '../../countersign.ts';
import type { Act } from '../../guard/act.ts';
import { AlreadyUsed, PermissionExpired, PermissionLapsed } from '../../guard/errors.ts';

/** The part of the client that the names need. */
type NamesClient = Pick<Countersign, 'listPermissions'>;

/** The parts that the names of one program's requests have in common. */
interface NameOptions {
  /** Begins every name. */
  prefix: string;
  /**
   * Distinguishes its calls from those of other programs: the command line and folder of a server,
   * or a session. Only its digest is sent.
   */
  context: string[];
  /** Whether a denied request keeps answering in later processes too. */
  keepsDenials?: boolean;
}

/**
 * Gives the requests of calls their external ids, so that a call which is repeated finds its
 * request again, also in another process.
 *
 * The id is a digest of the context, the tool, the arguments and what is asked for them, and a
 * number that counts the requests for exactly this. The number goes up when a request is spent: its
 * approval was used or ran out, or nobody decided in time. So an approval runs one call, and the
 * next identical one makes a new request. A denied request keeps answering, so that people are not
 * asked again: within its process, or for as long as the context is the same.
 *
 * A process finds the current number with few reads, because all numbers below it are spent and all
 * above are free.
 */
export class RequestNames {
  readonly #client: NamesClient;
  readonly #options: NameOptions;
  readonly #numbers = new Map<string, number>();

  constructor(client: NamesClient, options: NameOptions) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Makes a call under its external id. If the request under it was spent before this call waited
   * for it, the call is made under the next id.
   * @param attempt says by `noteWait` when people have to decide
   */
  async call<T>(
    name: string,
    signal: AbortSignal,
    attempt: (externalId: string, noteWait: () => void) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const externalId = await this.#find(name, signal);
      let hasWaited = false;
      try {
        return await attempt(externalId, () => {
          hasWaited = true;
        });
      } catch (error) {
        const isOver = error instanceof PermissionExpired || error instanceof PermissionLapsed;
        if (isOver || error instanceof AlreadyUsed) this.#spend(name, externalId);
        // This call has not been answered by that request, so it makes one of its own.
        if (error instanceof AlreadyUsed || (isOver && !hasWaited)) continue;
        throw error;
      }
    }
  }

  /** Returns the name that all requests for the same call share. */
  async nameOf(tool: string, { request, inputDigest }: Act): Promise<string> {
    const { action, resource, scope } = request;
    const { prefix, context } = this.#options;
    const call = { context, tool, input: inputDigest, action, resource, scope };
    const digest = await digestOf(canonicalJson(call));
    return digest.replace('sha-256:', `${prefix}:`);
  }

  /** Returns the external id under which the call is asked for at present. */
  async #find(name: string, signal: AbortSignal): Promise<string> {
    let number = this.#numbers.get(name);
    if (number === undefined) {
      number = await this.#search(name, signal);
      this.#numbers.set(name, number);
    }
    return `${name}:${number}`;
  }

  /** Says that the request with this external id is spent. */
  #spend(name: string, externalId: string): void {
    const number = Number(externalId.slice(name.length + 1));
    // Another call of this process may have said so before.
    if (this.#numbers.get(name) === number) this.#numbers.set(name, number + 1);
  }

  async #search(name: string, signal: AbortSignal): Promise<number> {
    const isSpentAt = async (number: number) => {
      const query = { external_id: `${name}:${number}`, limit: 1 };
      const { data } = await this.#client.listPermissions(query, { signal });
      return data.some((permission) => this.#isSpent(permission));
    };
    if (!(await isSpentAt(0))) return 0;
    let spent = 0;
    let free = 1;
    while (await isSpentAt(free)) {
      spent = free;
      free *= 2;
    }
    while (free - spent > 1) {
      const middle = Math.floor((spent + free) / 2);
      if (await isSpentAt(middle)) spent = middle;
      else free = middle;
    }
    return free;
  }

  #isSpent({ status, token }: Permission): boolean {
    if (status === 'pending') return false;
    const isDenial = status === 'denied' || token?.status === 'revoked';
    if (isDenial) return !this.#options.keepsDenials;
    return token?.status !== 'active';
  }
}
