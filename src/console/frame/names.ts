import { loadMemberNames } from '../../accounts/members/list';
import { listAgents } from '../../agents/list';
import { listConnections } from '../../connections/list';
import { OPERATOR } from '../../http/activity';
import type { Scope, UserContext } from '../../http/context';
import { type DeciderKind, deciderKind } from '../../lib/decider';
import { withPrefix } from '../../lib/typeid';
import { listPolicies } from '../../policies/list';
import { listReceivers } from '../../receivers/receiver';

/** More than most accounts have: what is beyond is shown by its id. */
const MAX_NAMED = 500;

/**
 * The names of the account's people, agents, policies, webhooks, channels and connections, of the
 * account's own tokens and of the operator, by their ids.
 */
export interface Names extends ReadonlyMap<string, string> {}

/** The agents among the names, each with its id. */
export function agentsOf(names: Names): [id: string, name: string][] {
  return [...names].filter(([id]) => id.startsWith('agent_'));
}

/** The people, policies and tokens of the account among the names, who decide; each with its id. */
export function decidersOf(names: Names): [id: string, name: string][] {
  const kinds: (DeciderKind | null)[] = ['member', 'policy', 'account'];
  return [...names]
    .filter(([id]) => kinds.includes(deciderKind(id)))
    .map(([id, name]) => [id, deciderKind(id) === 'policy' ? `Policy “${name}”` : name]);
}

type Kind = 'people' | 'agents' | 'policies' | 'webhooks' | 'channels' | 'connections';

const SCOPES: Record<Kind, Scope> = {
  people: 'account:read',
  agents: 'agents:read',
  policies: 'policies:read',
  webhooks: 'webhooks:read',
  channels: 'channels:read',
  connections: 'connections:read',
};

/**
 * Loads the names that a page shows instead of ids, the newest 500 of each kind. A caller who lacks
 * the scope for a kind sees its ids.
 */
export async function loadNames(context: UserContext, kinds: readonly Kind[]): Promise<Names> {
  const { principal } = context;
  const page = { limit: MAX_NAMED };
  const listOf = async <T>(kind: Kind, list: () => Promise<{ data: T[] }>): Promise<T[]> => {
    if (!kinds.includes(kind) || !principal.scopes.includes(SCOPES[kind])) return [];
    return (await list()).data;
  };
  const [members, removed, agents, policies, webhooks, channels, connections] = await Promise.all([
    listOf('people', async () => ({ data: await loadMemberNames(context, page) })),
    listOf('people', async () => ({
      data: await loadMemberNames(context, { ...page, status: 'removed' }),
    })),
    listOf('agents', () => listAgents(context, page)),
    listOf('policies', () => listPolicies(context, page)),
    listOf('webhooks', () => listReceivers(context, 'webhook', page)),
    listOf('channels', () => listReceivers(context, 'channel', page)),
    listOf('connections', () => listConnections(context, page)),
  ]);
  const names = new Map<string, string>([
    [principal.account.id, 'a token of the account'],
    [OPERATOR, 'the operator'],
  ]);
  for (const { id, name, email } of [...members, ...removed]) names.set(id, name ?? email ?? id);
  for (const { id, name } of [...agents, ...policies, ...connections]) names.set(id, name);
  for (const { id, url } of webhooks) names.set(id, url);
  for (const { id, name } of channels) names.set(withPrefix('chan', id), name ?? '');
  return names;
}
