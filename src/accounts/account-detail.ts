import { Hono } from 'hono';
import { operatorAccess } from '../http/access';
import type { OperatorContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { Account, locateAccount, presentAccount } from './account';

/** Finds an account for the operator, on whichever shard it lives. */
export async function getAccount(context: OperatorContext, id: string): Promise<Account> {
  const { row } = await locateAccount(context, id);
  return presentAccount(row);
}

export const accountDetail = new Hono().get(
  '/v1/admin/users/:id',
  operation({
    id: 'getAccount',
    tag: 'Operator',
    summary: 'Get an account',
    success: ok(Account),
    pathId: 'user',
  }),
  operatorAccess(),
  noQuery(),
  async (c) => answer(c, await getAccount(c.var.operator, c.req.param('id'))),
);
