import { type Answer, type Refusal, UnexpectedAnswer } from '../api.ts';
import type { Request } from './types.ts';

/** A forbidden attempt of an agent, and the answer of the service. */
export interface Attempt {
  what: string;
  answer: Answer<Refusal>;
}

/** An agent uses a token for a resource for which it was not granted. */
export function misuseToken(request: Request): Promise<Attempt> {
  return attempt('uses a token for another resource', request, '/v1/tokens/use', {
    token: request.permission.token?.value,
    resource: `${request.permission.resource}-of-somebody-else`,
  });
}

/** An agent uses a revoked token. */
export function useRevokedToken(request: Request): Promise<Attempt> {
  return attempt('uses a revoked token', request, '/v1/tokens/use', { token: request.permission.token?.value });
}

/** An agent approves its own request. */
export function approveOwnRequest(request: Request): Promise<Attempt> {
  return attempt('approves its own request', request, `/v1/permissions/${request.permission.id}/approve`, {});
}

/** @throws UnexpectedAnswer if the service does not refuse the attempt */
async function attempt(what: string, { actor }: Request, path: string, body: object): Promise<Attempt> {
  const answer = await actor.api.ask<Refusal>('POST', path, body);
  if (answer.status < 400) throw new UnexpectedAnswer('POST', path, answer);
  return { what: `${actor.name} ${what}`, answer };
}
