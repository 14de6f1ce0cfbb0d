import { Hono } from 'hono';
import { createAccountRoute } from './create';
import { createAccountTokenRoute } from './create-token';
import { deleteAccountRoute } from './delete';
import { getAccountRoute } from './get';
import { getOwnAccountRoute } from './get-own';
import { listAccountsRoute } from './list';
import { createUserTokenRoute } from './tokens/create';
import { deleteUserTokenRoute } from './tokens/delete';
import { listUserTokensRoute } from './tokens/list';
import { updateAccountRoute } from './update';

/** The operator's endpoints, `/v1/admin`, and the account's own, `/v1/me`. */
export const accountRoutes = new Hono()
  .route('/', createAccountRoute)
  .route('/', listAccountsRoute)
  .route('/', getAccountRoute)
  .route('/', updateAccountRoute)
  .route('/', deleteAccountRoute)
  .route('/', createAccountTokenRoute)
  .route('/', getOwnAccountRoute)
  .route('/', createUserTokenRoute)
  .route('/', listUserTokensRoute)
  .route('/', deleteUserTokenRoute);
