import { Hono } from 'hono';
import { fileDownload } from '../files/download';
import { exportCreation } from './exports/create';
import { exportDetail } from './exports/get';
import { exportList } from './exports/list';
import { auditDetail } from './get';
import { auditList } from './list';
import { activityList } from './list-activity';
import { reportCreation } from './reports/create';
import { reportDetail } from './reports/get';
import { reportList } from './reports/list';
import { logRestoration } from './tree/continue-log';
import { checkpointDetail } from './tree/get-checkpoint';
import { consistencyProof } from './tree/prove-consistency';
import { inclusionProof } from './tree/prove-inclusion';

/** The audit log, `/v1/audit`, files made of it, the account's activity, `/v1/activity`, and what the operator does for a log. */
export const auditRoutes = new Hono()
  .route('/', auditList)
  .route('/', exportCreation)
  .route('/', exportList)
  .route('/', exportDetail)
  .route('/', reportCreation)
  .route('/', reportList)
  .route('/', reportDetail)
  .route('/', checkpointDetail)
  .route('/', consistencyProof)
  .route('/', inclusionProof)
  .route('/', auditDetail)
  .route('/', activityList)
  .route('/', fileDownload)
  .route('/', logRestoration);
