import { listMembers } from '../../accounts/members/list';
import { listAgents } from '../../agents/list';
import { OPERATOR } from '../../http/activity';
import type { Scope, UserContext } from '../../http/context';
import { withPrefix } from '../../lib/typeid';
import { listPolicies } from '../../permissions/policies/list';
import { listReceivers } from '../../webhooks/receivers';

/** More than most accounts have: what is beyond is shown by its id. */
const MAX_NAMED = 500;

/**
 * The names of the account's people, agents, policies, webhooks and channels, of the account's own
 * tokens and of the operator, by their ids.
 */
export interface Names extends ReadonlyMap<string, string> {}

/** The agents among the names, each with its id. */
export function agentsOf(names: Names): [id: string, name: string][] {
  return [...names].filter(([id]) => id.startsWith('agent_'));
}

type Kind = 'people' | 'agents' | 'policies' | 'webhooks' | 'channels';

const SCOPES: Record<Kind, Scope> = {
  people: 'account:read',
  agents: 'agents:read',
  policies: 'policies:read',
  webhooks: 'webhooks:read',
  channels: 'channels:read',
};

/**
 * Loads the names that a page shows instead of ids, the newest 500 of each kind. A caller who lacks
 * the scope for a kind sees its ids.
 */
export async function loadNames(context: UserContext, kinds: readonly Kind[]): Promise<Names> {
  const { principal } = context;
  const isShown = (kind: Kind) => kinds.includes(kind) && principal.scopes.includes(SCOPES[kind]);
  const page = { limit: MAX_NAMED };
  const [members, removed, agents, policies, webhooks, channels] = await Promise.all([
    isShown('people') ? listMembers(context, page) : null,
    isShown('people') ? listMembers(context, { ...page, status: 'removed' }) : null,
    isShown('agents') ? listAgents(context, page) : null,
    isShown('policies') ? listPolicies(context, page) : null,
    isShown('webhooks') ? listReceivers(context, 'webhook', page) : null,
    isShown('channels') ? listReceivers(context, 'channel', page) : null,
  ]);
  const people = [...(members?.data ?? []), ...(removed?.data ?? [])];
  const named = [...(agents?.data ?? []), ...(policies?.data ?? [])];
  return new Map([
    [principal.account.id, 'a token of the account'],
    [OPERATOR, 'the operator'],
    ...people.map(({ id, name, email }): [string, string] => [id, name ?? email ?? id]),
    ...named.map(({ id, name }): [string, string] => [id, name]),
    ...(webhooks?.data ?? []).map(({ id, url }): [string, string] => [id, url]),
    ...(channels?.data ?? []).map((row): [string, string] => [
      withPrefix('chan', row.id),
      row.name ?? '',
    ]),
  ]);
}
