import { Hono } from 'hono';
import { approvePermissionRoute } from './approve';
import { denyPermissionRoute } from './deny';
import { getPermissionRoute } from './get';
import { listPermissionsRoute } from './list';
import { createPolicyRoute } from './policies/create';
import { deletePolicyRoute } from './policies/delete';
import { getPolicyRoute } from './policies/get';
import { listPoliciesRoute } from './policies/list';
import { replayPolicyRoute } from './policies/replay';
import { simulatePoliciesRoute } from './policies/simulate';
import { updatePolicyRoute } from './policies/update';
import { requestPermissionRoute } from './request';
import { getStatementRoute } from './reviews/statement';
import { getKeysRoute } from './tokens/get-keys';
import { getServerMetadataRoute } from './tokens/get-server-metadata';
import { introspectTokenRoute } from './tokens/introspect';
import { revokeTokenRoute } from './tokens/revoke';
import { useTokenRoute } from './tokens/use';
import { withdrawPermissionRoute } from './withdraw';

/**
 * Permissions, `/v1/permissions`, their tokens, `/v1/tokens`, and the policies that decide them,
 * `/v1/policies`.
 */
export const permissionRoutes = new Hono()
  .route('/', requestPermissionRoute)
  .route('/', listPermissionsRoute)
  .route('/', getPermissionRoute)
  .route('/', approvePermissionRoute)
  .route('/', denyPermissionRoute)
  .route('/', getStatementRoute)
  .route('/', withdrawPermissionRoute)
  .route('/', useTokenRoute)
  .route('/', revokeTokenRoute)
  .route('/', createPolicyRoute)
  .route('/', simulatePoliciesRoute)
  .route('/', replayPolicyRoute)
  .route('/', listPoliciesRoute)
  .route('/', getPolicyRoute)
  .route('/', updatePolicyRoute)
  .route('/', deletePolicyRoute)
  .route('/', introspectTokenRoute)
  .route('/', getKeysRoute)
  .route('/', getServerMetadataRoute);
