import type { Api } from '../api.ts';
import type { Actor, Permission, Request } from './types.ts';

/** The results of using the tokens. */
export interface TokenUse {
  tokens: number;
  uses: number;
  usedUp: number;
  /** Requests whose tokens still have a use left: the last one of each agent. */
  spare: Request[];
}

/** Agents fetch their tokens and use them. */
export async function useTokens(actors: Actor[], requests: Request[]): Promise<TokenUse> {
  const total: TokenUse = { tokens: 0, uses: 0, usedUp: 0, spare: [] };
  await Promise.all(
    actors.map(async (actor) => {
      const approved = requests.filter((request) => request.actor === actor && request.permission.token);
      const spare = approved.findLast(({ duty }) => duty.uses > 1);
      for (const request of approved) {
        request.permission = await actor.api.call<Permission>('GET', `/v1/permissions/${request.permission.id}`);
        const times = request === spare ? 1 : request.duty.uses;
        let left = 0;
        for (let use = 0; use < times; use++) left = await useToken(request);
        total.tokens++;
        total.uses += times;
        if (left === 0) total.usedUp++;
        else total.spare.push(request);
      }
    }),
  );
  return total;
}

/** Uses a token once. Returns the remaining uses. */
async function useToken({ actor, permission }: Request): Promise<number> {
  const { action, resource, token } = permission;
  const body = { token: token?.value, action, resource };
  const used = await actor.api.call<{ remaining_uses: number }>('POST', '/v1/tokens/use', body);
  return used.remaining_uses;
}

/** The user revokes tokens. Returns how many are revoked then. */
export async function revokeTokens(user: Api, requests: Request[]): Promise<number> {
  let revoked = 0;
  for (const { permission } of requests) {
    await user.call('POST', '/v1/tokens/revoke', { token_id: permission.token?.id, reason: 'No longer needed' });
    const after = await user.call<Permission>('GET', `/v1/permissions/${permission.id}`);
    if (after.token?.status === 'revoked') revoked++;
  }
  return revoked;
}
