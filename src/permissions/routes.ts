import { Hono } from 'hono';
import { permissionApproval } from './approval';
import { authorizationServer } from './authorization-server';
import { permissionDenial } from './denial';
import { permissionDetail } from './detail';
import { jwks } from './jwks';
import { permissionList } from './list';
import { policyCreation } from './policies/creation';
import { policyDeletion } from './policies/deletion';
import { policyDetail } from './policies/detail';
import { policyList } from './policies/list';
import { policySimulation } from './policies/simulation';
import { policyUpdate } from './policies/update';
import { permissionRequest } from './request';
import { tokenIntrospection } from './token-introspection';
import { tokenRevocation } from './token-revocation';
import { tokenUse } from './token-use';

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
