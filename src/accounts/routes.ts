import { Hono } from 'hono';
import { accountCreation } from './account-creation';
import { accountDeletion } from './account-deletion';
import { accountDetail } from './account-detail';
import { accountList } from './account-list';
import { accountTokenCreation } from './account-token-creation';
import { accountUpdate } from './account-update';
import { ownAccount } from './own-account';
import { userTokenCreation } from './user-token-creation';
import { userTokenDeletion } from './user-token-deletion';
import { userTokenList } from './user-token-list';

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
