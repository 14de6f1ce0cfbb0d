import { Hono } from 'hono';
import { createReportRoute } from './create';
import { getReportRoute } from './get';
import { listReportsRoute } from './list';

/** Compliance reports: `/v1/audit/reports`. */
export const reportRoutes = new Hono()
  .route('/', createReportRoute)
  .route('/', listReportsRoute)
  .route('/', getReportRoute);
