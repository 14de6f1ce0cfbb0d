import { Hono } from 'hono';
import { downloadFileRoute } from './download';

/** The downloads of exports and reports: `/v1/downloads`. */
export const fileRoutes = new Hono().route('/', downloadFileRoute);
