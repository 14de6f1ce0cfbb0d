import type { Scope } from '../../http/context';

/** What each scope lets a token do. */
export const SCOPE_WORDS: Record<Scope, string> = {
  'agents:read': 'Read agents',
  'agents:write': 'Register, change and delete agents',
  'permissions:read': 'Read requests',
  'permissions:decide': 'Approve and deny requests',
  'policies:read': 'Read policies',
  'policies:write': 'Change policies',
  'audit:read': 'Read the audit log',
  'audit:export': 'Export the log and order reports',
  'tokens:use': 'Use the tokens of agents',
  'webhooks:read': 'Read webhooks',
  'webhooks:write': 'Change webhooks',
  'account:read': 'Read the account and its members',
  'account:write': 'Change members and user tokens',
  'channels:read': 'Read channels',
  'channels:write': 'Change channels',
};
