import { Hono } from 'hono';
import { approvePermissionRoute } from './approve';
import { denyPermissionRoute } from './deny';
import { getPermissionRoute } from './get';
import { listPermissionsRoute } from './list';
import { reportOutcomeRoute } from './outcomes/report';
import { requestPermissionRoute } from './requests/request';
import { getStatementRoute } from './reviews/statement';
import { endSeriesRoute } from './series/end';
import { getKeysRoute } from './tokens/get-keys';
import { getServerMetadataRoute } from './tokens/get-server-metadata';
import { introspectTokenRoute } from './tokens/introspect';
import { revokeTokenRoute } from './tokens/revoke';
import { useTokenRoute } from './tokens/use';
import { withdrawPermissionRoute } from './withdraw';

/** Permissions, `/v1/permissions`, and their tokens, `/v1/tokens`. */
export const permissionRoutes = new Hono()
  .route('/', requestPermissionRoute)
  .route('/', listPermissionsRoute)
  .route('/', getPermissionRoute)
  .route('/', approvePermissionRoute)
  .route('/', denyPermissionRoute)
  .route('/', getStatementRoute)
  .route('/', withdrawPermissionRoute)
  .route('/', endSeriesRoute)
  .route('/', reportOutcomeRoute)
  .route('/', useTokenRoute)
  .route('/', revokeTokenRoute)
  .route('/', introspectTokenRoute)
  .route('/', getKeysRoute)
  .route('/', getServerMetadataRoute);
