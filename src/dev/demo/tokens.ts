import type { Countersign } from '../../client/countersign.ts';
import type { Actor, PlannedRequest } from './types.ts';

/**
 * What {@link useTokens} did: how many tokens it used, how often, and how many of them have no use
 * left.
 */
interface TokenUses {
  tokens: number;
  uses: number;
  usedUp: number;
  /** The requests whose tokens have uses left: at most one of each agent. */
  spare: PlannedRequest[];
}

/**
 * Uses up the tokens of all approved requests, as their agents; but one token of each agent only
 * once, if it can.
 */
export async function useTokens(actors: Actor[], requests: PlannedRequest[]): Promise<TokenUses> {
  const total: TokenUses = { tokens: 0, uses: 0, usedUp: 0, spare: [] };
  await Promise.all(
    actors.map(async (actor) => {
      const approved = requests.filter(
        (request) => request.actor === actor && request.permission.token,
      );
      const spare = approved.findLast(({ template }) => template.uses > 1);
      for (const request of approved) {
        request.permission = await actor.api.getPermission(request.permission.id);
        const times = request === spare ? 1 : request.template.uses;
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

/** Uses a token once, and returns how many uses remain. */
async function useToken({ actor, permission }: PlannedRequest): Promise<number> {
  const { action, resource, token } = permission;
  const used = await actor.api.useToken({ token: token?.value ?? '', action, resource });
  return used.remaining_uses;
}

/** Revokes the tokens of requests, as the user, and returns how many are revoked then. */
export async function revokeTokens(user: Countersign, requests: PlannedRequest[]): Promise<number> {
  let revoked = 0;
  for (const { permission } of requests) {
    await user.revokeToken({ token_id: permission.token?.id ?? '', reason: 'No longer needed' });
    const after = await user.getPermission(permission.id);
    if (after.token?.status === 'revoked') revoked++;
  }
  return revoked;
}
