import { Hono } from 'hono';
import { operatorAccess } from '../http/access';
import { type OperatorContext, SCOPES } from '../http/context';
import { body, noQuery } from '../http/input';
import { accountNumber, noteOfOperator } from '../http/note';
import { answer, created, operation } from '../http/operation';
import { locateAccount } from './account';
import {
  CreatedUserToken,
  issueUserToken,
  refuseFullAccount,
  tokenLocation,
  UserTokenCreation,
  type UserTokenInput,
} from './user-token';

/** Makes a user token for an account, with every scope where none are named. */
export async function createAccountToken(
  context: OperatorContext,
  id: string,
  input: UserTokenInput,
): Promise<CreatedUserToken> {
  const { shard, row } = await locateAccount(context, id);
  const { token, store } = await issueUserToken(context, shard.name, row.id, input, SCOPES);
  const note = noteOfOperator(context, 'user_token.created', token.id, accountNumber(row.id));
  await shard.ledger.change(note, (write) => [store(write)]).catch(refuseFullAccount);
  return token;
}

export const accountTokenCreation = new Hono().post(
  '/v1/admin/users/:id/tokens',
  operation({
    id: 'createAccountToken',
    tag: 'Operator',
    summary: 'Create a user token for an account',
    success: created(CreatedUserToken, tokenLocation),
    pathId: 'user',
    problems: ['conflict'],
  }),
  operatorAccess(),
  noQuery(),
  body(UserTokenCreation),
  async (c) => answer(c, await createAccountToken(c.var.operator, c.req.param('id'), c.req.valid('json'))),
);
