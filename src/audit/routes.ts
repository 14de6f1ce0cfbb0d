import { Hono } from 'hono';
import { createExportRoute } from './exports/create';
import { getExportRoute } from './exports/get';
import { listExportsRoute } from './exports/list';
import { getAuditEntryRoute } from './get';
import { getAuditHistogramRoute } from './get-histogram';
import { listAuditEntriesRoute } from './list';
import { listActivityRoute } from './list-activity';
import { getCheckpointRoute } from './tree/get-checkpoint';
import { proveConsistencyRoute } from './tree/prove-consistency';
import { proveInclusionRoute } from './tree/prove-inclusion';
import { continueLogRoute } from './tree/restoration/continue-log';

/**
 * The audit log with its exports, `/v1/audit`, the account activity, `/v1/activity`, and the
 * operator's endpoint for a restored log.
 */
export const auditRoutes = new Hono()
  .route('/', listAuditEntriesRoute)
  .route('/', getAuditHistogramRoute)
  .route('/', createExportRoute)
  .route('/', listExportsRoute)
  .route('/', getExportRoute)
  .route('/', getCheckpointRoute)
  .route('/', proveConsistencyRoute)
  .route('/', proveInclusionRoute)
  .route('/', getAuditEntryRoute)
  .route('/', listActivityRoute)
  .route('/', continueLogRoute);
