import { Hono } from 'hono';
import { noQuery } from '../http/input';
import { operatorAccess } from '../http/operator-access';
import { accountOfPath, locatedAccount, presentAccount } from './account';

export const accountDetail = new Hono().get('/v1/admin/users/:id', operatorAccess(accountOfPath), noQuery(), (c) =>
  c.json(presentAccount(locatedAccount(c.var.loaded).row)),
);
