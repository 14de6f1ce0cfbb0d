import { Hono } from 'hono';
import { fileDownload } from '../files/download';
import { activityList } from './activity';
import { auditDetail } from './detail';
import { exportCreation } from './exports/creation';
import { exportDetail } from './exports/detail';
import { exportList } from './exports/list';
import { auditList } from './list';
import { reportCreation } from './reports/creation';
import { reportDetail } from './reports/detail';
import { reportList } from './reports/list';
import { checkpointDetail } from './tree/checkpoint-detail';
import { consistencyProof } from './tree/consistency';
import { inclusionProof } from './tree/inclusion';
import { logRestoration } from './tree/restoration';

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
