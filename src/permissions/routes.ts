import { Hono } from 'hono';
import { permissionApproval } from './approve';
import { permissionDenial } from './deny';
import { permissionDetail } from './get';
import { permissionList } from './list';
import { policyCreation } from './policies/create';
import { policyDeletion } from './policies/delete';
import { policyDetail } from './policies/get';
import { policyList } from './policies/list';
import { policySimulation } from './policies/simulate';
import { policyUpdate } from './policies/update';
import { permissionRequest } from './request';
import { authorizationServer } from './tokens/authorization-server';
import { tokenIntrospection } from './tokens/introspect';
import { jwks } from './tokens/jwks';
import { tokenRevocation } from './tokens/revoke';
import { tokenUse } from './tokens/use';

/** Permissions, `/v1/permissions`, their tokens, `/v1/tokens`, and the policies that decide them, `/v1/policies`. */
export const permissionRoutes = new Hono()
  .route('/', permissionRequest)
  .route('/', permissionList)
  .route('/', permissionDetail)
  .route('/', permissionApproval)
  .route('/', permissionDenial)
  .route('/', tokenUse)
  .route('/', tokenRevocation)
  .route('/', policyCreation)
  .route('/', policySimulation)
  .route('/', policyList)
  .route('/', policyDetail)
  .route('/', policyUpdate)
  .route('/', policyDeletion)
  .route('/', tokenIntrospection)
  .route('/', jwks)
  .route('/', authorizationServer);
