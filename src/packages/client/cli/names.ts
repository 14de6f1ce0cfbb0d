import { CountersignError } from '../errors.ts';
import type { Page } from '../page.ts';
import type { CliClient } from './client.ts';

interface Named {
  id: string;
  name: string | null;
}

type List = (client: CliClient) => PromiseLike<Page<Named>>;

/** The lists in which names are found, by the beginnings of their ids. */
const LISTS: Record<string, List> = {
  agent_: (client) => client.listAgents({ limit: 100 }),
  member_: (client) => client.listMembers({ limit: 100 }),
  policy_: (client) => client.listPolicies({ limit: 100 }),
};

/**
 * The names of agents, members and policies. Reads at most one page of each list: an id that is not
 * on it, or that the credential may not read, stands for itself.
 */
export class Names {
  readonly #client: CliClient;
  readonly #names = new Map<string, string>();

  constructor(client: CliClient) {
    this.#client = client;
  }

  /** Reads the names that are not known yet. */
  async load(ids: (string | null)[]): Promise<void> {
    const unknown = ids.filter((id) => id !== null).filter((id) => !this.#names.has(id));
    const kinds = Object.keys(LISTS).filter((kind) => unknown.some((id) => id.startsWith(kind)));
    const found = await Promise.all(kinds.map((kind) => readList(kind, this.#client)));
    // Asked for once: what was not found is not looked for again.
    for (const id of unknown) this.#names.set(id, id);
    for (const { id, name } of found.flat()) {
      if (name) this.#names.set(id, name);
    }
  }

  /** Returns the name of an id, or the id itself. */
  of(id: string | null): string | null {
    if (id === null) return null;
    return this.#names.get(id) ?? id;
  }

  /** Returns the name with its id behind it, or the id alone. */
  withId(id: string): string {
    const name = this.of(id);
    if (name === id) return id;
    return `${name} (${id})`;
  }
}

async function readList(kind: string, client: CliClient): Promise<Named[]> {
  try {
    const page = await LISTS[kind]?.(client);
    return page?.data ?? [];
  } catch (error) {
    // Nothing fails for want of a name.
    if (error instanceof CountersignError) return [];
    throw error;
  }
}
