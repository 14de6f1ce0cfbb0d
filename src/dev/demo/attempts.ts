import { type Answer, type Refusal, UnexpectedAnswer } from '../api.ts';
import type { Request } from './types.ts';

/** Something that an agent must not get away with, and what the service says to it. */
export interface Attempt {
  what: string;
  answer: Answer<Refusal>;
}

/** An agent uses a token for something else than it was granted for. */
export function misuseToken(request: Request): Promise<Attempt> {
  return attempt('uses a token for another resource', request, '/v1/tokens/use', {
    token: request.permission.token?.value,
    resource: `${request.permission.resource}-of-somebody-else`,
  });
}

/** An agent goes on using a token that was revoked. */
export function useRevokedToken(request: Request): Promise<Attempt> {
  return attempt('uses a revoked token', request, '/v1/tokens/use', { token: request.permission.token?.value });
}

/** An agent approves what it asked for itself. */
export function approveOwnRequest(request: Request): Promise<Attempt> {
  return attempt('approves its own request', request, `/v1/permissions/${request.permission.id}/approve`, {});
}

/** @throws UnexpectedAnswer when the agent gets away with it */
async function attempt(what: string, { actor }: Request, path: string, body: object): Promise<Attempt> {
  const answer = await actor.api.ask<Refusal>('POST', path, body);
  if (answer.status < 400) throw new UnexpectedAnswer('POST', path, answer);
  return { what: `${actor.name} ${what}`, answer };
}
