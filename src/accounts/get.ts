import { Hono } from 'hono';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { operatorAccess } from '../http/operator-access';
import { Account, preloadAccount, presentAccount, requireLocatedAccount } from './account';

export const getAccountRoute = new Hono().get(
  '/v1/admin/users/:id',
  operation({
    id: 'getAccount',
    tag: 'Operator',
    summary: 'Get an account',
    success: ok(Account),
    pathId: 'user',
  }),
  operatorAccess(preloadAccount),
  noQuery(),
  (c) => answer(c, presentAccount(requireLocatedAccount(c.var.loaded).row)),
);
