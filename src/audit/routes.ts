import { Hono } from 'hono';
import { activityList } from './activity';
import { auditDetail } from './detail';
import { auditList } from './list';

/** The audit log, `/v1/audit`, and the account's activity, `/v1/activity`. */
export const auditRoutes = new Hono().route('/', auditList).route('/', auditDetail).route('/', activityList);
