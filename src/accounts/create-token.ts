import { eq } from 'drizzle-orm';
import { Hono } from 'hono';
import { accounts } from '../db/schema';
import { OPERATOR, operatorActivity, targetExists } from '../http/activity';
import type { OperatorContext } from '../http/context';
import { body, noQuery } from '../http/input';
import { answer, created, operation } from '../http/operation';
import { operatorAccess } from '../http/operator-access';
import {
  CreatedUserToken,
  makeUserToken,
  UserTokenCreation,
  type UserTokenInput,
  userTokenLocation,
} from '../identity/tokens/user-token';
import { type LocatedAccount, preloadAccount, requireLocatedAccount } from './account';

/**
 * Creates a user token for an account, by default with every scope and without an expiry.
 * @throws Problem `invalid_request` for an expiry that is not in the future; `conflict` if the
 *   account has the maximum number of tokens
 */
export async function createAccountToken(
  context: OperatorContext,
  { account: { shard, row }, ...input }: { account: LocatedAccount } & UserTokenInput,
): Promise<CreatedUserToken> {
  const { token, guard, store } = await makeUserToken(context, {
    shard: shard.name,
    account: row.id,
    member: null,
    createdBy: OPERATOR,
    input,
  });
  await shard.ledger.change({
    record: operatorActivity(context, 'user_token.created', token.id, row.number),
    guards: [targetExists('account', accounts, eq(accounts.number, row.number)), guard],
    changes: (write) => [store(write)],
    answer: { value: token, subject: row.id },
  });
  return token;
}

export const createAccountTokenRoute = new Hono().post(
  '/v1/admin/users/:id/tokens',
  operation({
    id: 'createAccountToken',
    tag: 'Operator',
    summary: 'Create a user token for an account',
    success: created(CreatedUserToken, userTokenLocation),
    pathId: 'user',
    problems: ['conflict'],
  }),
  operatorAccess(preloadAccount),
  noQuery(),
  body(UserTokenCreation),
  async (c) => {
    const input = { account: requireLocatedAccount(c.var.loaded), ...c.req.valid('json') };
    return answer(c, await createAccountToken(c.var.operator, input));
  },
);
