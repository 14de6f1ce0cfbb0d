import { Hono } from 'hono';
import { downloadFileRoute } from '../files/download';
import { createExportRoute } from './exports/create';
import { getExportRoute } from './exports/get';
import { listExportsRoute } from './exports/list';
import { auditDetail } from './get';
import { auditList } from './list';
import { activityList } from './list-activity';
import { createReportRoute } from './reports/create';
import { getReportRoute } from './reports/get';
import { listReportsRoute } from './reports/list';
import { continueLogRoute } from './tree/continue-log';
import { getCheckpointRoute } from './tree/get-checkpoint';
import { proveConsistencyRoute } from './tree/prove-consistency';
import { proveInclusionRoute } from './tree/prove-inclusion';

/** The audit log, `/v1/audit`, files made of it, the account's activity, `/v1/activity`, and what the operator does for a log. */
export const auditRoutes = new Hono()
  .route('/', auditList)
  .route('/', createExportRoute)
  .route('/', listExportsRoute)
  .route('/', getExportRoute)
  .route('/', createReportRoute)
  .route('/', listReportsRoute)
  .route('/', getReportRoute)
  .route('/', getCheckpointRoute)
  .route('/', proveConsistencyRoute)
  .route('/', proveInclusionRoute)
  .route('/', auditDetail)
  .route('/', activityList)
  .route('/', downloadFileRoute)
  .route('/', continueLogRoute);
