import { Hono } from 'hono';
import { permissionApproval } from './approval';
import { permissionDenial } from './denial';
import { permissionDetail } from './detail';
import { jwks } from './jwks';
import { permissionList } from './list';
import { permissionRequest } from './request';
import { tokenRevocation } from './token-revocation';
import { tokenUse } from './token-use';

/** Permissions, `/v1/permissions`, and their tokens, `/v1/tokens`. */
export const permissionRoutes = new Hono()
  .route('/', permissionRequest)
  .route('/', permissionList)
  .route('/', permissionDetail)
  .route('/', permissionApproval)
  .route('/', permissionDenial)
  .route('/', tokenUse)
  .route('/', tokenRevocation)
  .route('/', jwks);
