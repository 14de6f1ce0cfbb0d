import { Hono } from 'hono';
import { operatorAccess } from '../http/access';
import { type OperatorContext, SCOPES } from '../http/context';
import { body, noQuery } from '../http/input';
import { accountNumber, noteOfOperator } from '../http/note';
import { locateAccount } from './account';
import { issueUserToken, refuseFullAccount, type UserToken, type UserTokenInput, userTokenFields } from './user-token';

/** Makes a user token for an account, with every scope where none are named. */
export async function createAccountToken(
  context: OperatorContext,
  id: string,
  input: UserTokenInput,
): Promise<UserToken> {
  const { shard, row } = await locateAccount(context, id);
  const { token, store } = await issueUserToken(context, shard.name, row.id, input, SCOPES);
  const note = noteOfOperator(context, 'user_token.created', token.id, accountNumber(row.id));
  await shard.ledger.change(note, (write) => [store(write)]).catch(refuseFullAccount);
  return token;
}

export const accountTokenCreation = new Hono().post(
  '/v1/admin/users/:id/tokens',
  operatorAccess(),
  noQuery(),
  body(userTokenFields),
  async (c) => {
    const token = await createAccountToken(c.var.operator, c.req.param('id'), c.req.valid('json'));
    return c.json(token, 201, { Location: `/v1/me/tokens/${token.id}` });
  },
);
