import { Hono } from 'hono';
import { auditDetail } from './detail';
import { auditList } from './list';

/** The Audit API, `/v1/audit`. */
export const auditRoutes = new Hono().route('/', auditList).route('/', auditDetail);
