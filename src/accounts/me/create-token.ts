import { Hono } from 'hono';
import { invalidRequest, Problem } from '../../errors';
import { userAccess } from '../../http/access';
import { creatorOf, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { body, noQuery } from '../../http/input';
import { answer, created, operation } from '../../http/operation';
import {
  CreatedUserToken,
  makeUserToken,
  UserTokenCreation,
  type UserTokenInput,
  userTokenLocation,
} from '../../identity/tokens/user-token';
import { formatTime } from '../../lib/time';

/**
 * Creates a user token with the given scopes and expiry, by default those of the calling
 * credential. It belongs to the member who calls, or to the account if the calling token does.
 * @throws Problem `insufficient_scope` for a scope that the caller lacks; `invalid_request` for an
 *   expiry that is not in the future or is after the caller's own; `conflict` if the account has
 *   the maximum number of tokens
 */
export async function createUserToken(
  context: UserContext,
  input: UserTokenInput,
): Promise<CreatedUserToken> {
  const { account, member, scopes, shard, expiresAt } = context.principal;
  const missing = input.scopes?.filter((scope) => !scopes.includes(scope)) ?? [];
  if (missing.length > 0) {
    throw new Problem(
      'insufficient_scope',
      `The calling credential lacks these scopes: ${missing.join(', ')}.`,
      {
        errors: [
          { path: 'body.scopes', message: 'must be among the scopes of the calling credential' },
        ],
      },
    );
  }
  if (expiresAt !== null && (input.expires_at ?? 0) > expiresAt) {
    const message = `must not be after ${formatTime(expiresAt)}, when the calling credential expires`;
    throw invalidRequest([{ path: 'body.expires_at', message }]);
  }
  const { token, guard, store } = await makeUserToken(context, {
    shard,
    account: account.id,
    member: member?.id ?? null,
    createdBy: creatorOf(context.principal),
    input,
    defaults: { scopes, expiresAt },
  });
  await context.ledger.change({
    record: userActivity(context, 'user_token.created', token.id),
    guards: [guard],
    changes: (write) => [store(write)],
    answer: { value: token, subject: account.id },
  });
  return token;
}

export const createUserTokenRoute = new Hono().post(
  '/v1/me/tokens',
  operation({
    id: 'createUserToken',
    tag: 'Account',
    summary: 'Create a user token',
    description:
      'Its scopes and lifetime cannot exceed those of the calling credential. It belongs to the member who calls, or to ' +
      'the account if the calling token does.',
    success: created(CreatedUserToken, userTokenLocation),
    problems: ['conflict'],
  }),
  userAccess('account:write'),
  noQuery(),
  body(UserTokenCreation),
  async (c) => answer(c, await createUserToken(c.var.context, c.req.valid('json'))),
);
