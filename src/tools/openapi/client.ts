// Uses the types that are generated from the OpenAPI document. `check-openapi.ts` compiles both
// together.
import type { components, operations, paths } from './api';

type Schemas = components['schemas'];
type RequestBody<Operation extends { requestBody?: { content: { 'application/json': unknown } } }> =
  NonNullable<Operation['requestBody']>['content']['application/json'];

export const request: RequestBody<paths['/v1/permissions']['post']> = {
  action: 'email.send',
  resource: 'mailbox:support',
  scope: { max_recipients: 50, recipients: ['a@example.com'] },
};

export const policy: Schemas['PolicyCreation'] = {
  name: 'Small mailings',
  effect: 'approve',
  actions: ['email.*'],
  resources: ['mailbox:*'],
  conditions: { max_recipients: { max: 50 } },
};

export const misspelt: Schemas['AgentCreation'] = {
  name: 'Mail assistant',
  // @ts-expect-error a field that the service does not take
  discription: 'Answers the mailbox',
};

// @ts-expect-error a policy approves or denies
export const undecided: Schemas['PolicyUpdate'] = { effect: 'pending' };

export const query: operations['listAuditEntries']['parameters']['query'] = {
  order: 'asc',
  after_sequence: 4711,
};

export function showToken({ status, token }: Schemas['Permission']): string {
  if (token === null) return `${status}: no token`;
  return `${status}: ${token.value ?? token.id}, ${token.max_uses - token.uses} uses left`;
}

export function limitOf(used: Schemas['UsedToken']): number {
  const limit = used.scope.max_recipients;
  return typeof limit === 'number' ? limit : 0;
}

type Refusals = operations['useToken']['responses'];

export function explain(
  problem:
    | Refusals[403]['content']['application/problem+json']
    | Refusals[409]['content']['application/problem+json'],
): string {
  switch (problem.code) {
    case 'token_not_active':
      return problem.reason;
    case 'conflict':
    case 'account_stopped':
    case 'insufficient_scope':
    case 'agent_inactive':
    case 'account_inactive':
    case 'wrong_credential':
      return problem.detail;
    default:
      return problem satisfies never;
  }
}
