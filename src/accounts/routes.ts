import { Hono } from 'hono';
import { accountCreation } from './create';
import { accountTokenCreation } from './create-token';
import { accountDeletion } from './delete';
import { accountDetail } from './get';
import { ownAccount } from './get-own';
import { accountList } from './list';
import { userTokenCreation } from './tokens/create';
import { userTokenDeletion } from './tokens/delete';
import { userTokenList } from './tokens/list';
import { accountUpdate } from './update';

/** The operator's endpoints, `/v1/admin`, and the account's own, `/v1/me`. */
export const accountRoutes = new Hono()
  .route('/', accountCreation)
  .route('/', accountList)
  .route('/', accountDetail)
  .route('/', accountUpdate)
  .route('/', accountDeletion)
  .route('/', accountTokenCreation)
  .route('/', ownAccount)
  .route('/', userTokenCreation)
  .route('/', userTokenList)
  .route('/', userTokenDeletion);
