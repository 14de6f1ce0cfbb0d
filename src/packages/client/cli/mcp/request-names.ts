import type { Permission } from '../../api.ts';
import { canonicalJson, digestOf } from '../../canonical-json.ts';
import type { Countersign } from '../../countersign.ts';
import type { Act } from '../../guard/act.ts';

/** The part of the client that the names need. */
type NamesClient = Pick<Countersign, 'listPermissions'>;

/**
 * Gives the requests of calls their external ids, so that a call which is repeated finds its
 * request again, also in another process.
 *
 * The id is a digest of the server, the tool, the arguments and what is asked for them, and a
 * number that counts the requests for exactly this. The number goes up when a request is spent: its
 * approval was used or ran out, or nobody decided in time. So an approval runs one call, and the
 * next identical one makes a new request. A denied request is spent only in later processes: within
 * one it keeps answering, so that people are not asked again.
 *
 * A process finds the current number with few reads, because all numbers below it are spent and all
 * above are free.
 */
export class RequestNames {
  readonly #client: NamesClient;
  readonly #server: string[];
  readonly #numbers = new Map<string, number>();

  /**
   * @param server what tells the server from others: its command line and folder. Only its digest
   *   is sent.
   */
  constructor(client: NamesClient, server: string[]) {
    this.#client = client;
    this.#server = server;
  }

  /** Returns the name that all requests for the same call share. */
  async nameOf(tool: string, { request, inputDigest }: Act): Promise<string> {
    const { action, resource, scope } = request;
    const call = { server: this.#server, tool, input: inputDigest, action, resource, scope };
    const digest = await digestOf(canonicalJson(call));
    return digest.replace('sha-256:', 'mcp:');
  }

  /** Returns the external id under which the call is asked for at present. */
  async find(name: string, signal: AbortSignal): Promise<string> {
    let number = this.#numbers.get(name);
    if (number === undefined) {
      number = await this.#search(name, signal);
      this.#numbers.set(name, number);
    }
    return `${name}:${number}`;
  }

  /** Says that the request with this external id is spent. */
  spend(name: string, externalId: string): void {
    const number = Number(externalId.slice(name.length + 1));
    // Another call of this process may have said so before.
    if (this.#numbers.get(name) === number) this.#numbers.set(name, number + 1);
  }

  async #search(name: string, signal: AbortSignal): Promise<number> {
    const isSpentAt = async (number: number) => {
      const query = { external_id: `${name}:${number}`, limit: 1 };
      const { data } = await this.#client.listPermissions(query, { signal });
      return data.some(isSpent);
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
}

function isSpent({ status, token }: Permission): boolean {
  if (status === 'approved') return token?.status !== 'active';
  return status !== 'pending';
}
