import { listMembers } from '../../accounts/members/list';
import { listAgents } from '../../agents/list';
import type { Scope, UserContext } from '../../http/context';
import { listPolicies } from '../../permissions/policies/list';

/** More than most accounts have: what is beyond is shown by its id. */
const MAX_NAMED = 500;

/** The names of the account's people, agents, policies and of the account's own tokens, by their ids. */
export interface Names extends ReadonlyMap<string, string> {}

/** The agents among the names, each with its id. */
export function agentsOf(names: Names): [id: string, name: string][] {
  return [...names].filter(([id]) => id.startsWith('agent_'));
}

type Kind = 'people' | 'agents' | 'policies';

const SCOPES: Record<Kind, Scope> = { people: 'account:read', agents: 'agents:read', policies: 'policies:read' };

/**
 * Loads the names that a page shows instead of ids, the newest 500 of each kind. A caller who lacks the scope for a kind
 * sees its ids.
 */
export async function loadNames(context: UserContext, kinds: readonly Kind[]): Promise<Names> {
  const { principal } = context;
  const isShown = (kind: Kind) => kinds.includes(kind) && principal.scopes.includes(SCOPES[kind]);
  const page = { limit: MAX_NAMED };
  const [members, removed, agents, policies] = await Promise.all([
    isShown('people') ? listMembers(context, page) : null,
    isShown('people') ? listMembers(context, { ...page, status: 'removed' }) : null,
    isShown('agents') ? listAgents(context, page) : null,
    isShown('policies') ? listPolicies(context, page) : null,
  ]);
  const people = [...(members?.data ?? []), ...(removed?.data ?? [])];
  const named = [...(agents?.data ?? []), ...(policies?.data ?? [])];
  return new Map([
    [principal.account.id, 'a token of the account'],
    ...people.map(({ id, name, email }): [string, string] => [id, name ?? email ?? id]),
    ...named.map(({ id, name }): [string, string] => [id, name]),
  ]);
}
