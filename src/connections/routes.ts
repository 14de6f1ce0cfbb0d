import { Hono } from 'hono';
import { createConnectionRoute } from './create';
import { deleteConnectionRoute } from './delete';
import { getConnectionRoute } from './get';
import { getReadsRoute } from './get-reads';
import { listConnectionsRoute } from './list';
import { proxyRoute } from './proxy/route';
import { testConnectionRoute } from './test';
import { updateConnectionRoute } from './update';

/** The routes of connections, `/v1/connections`. */
export const connectionRoutes = new Hono()
  .route('/', createConnectionRoute)
  .route('/', listConnectionsRoute)
  .route('/', getConnectionRoute)
  .route('/', updateConnectionRoute)
  .route('/', deleteConnectionRoute)
  .route('/', testConnectionRoute)
  .route('/', getReadsRoute)
  .route('/', proxyRoute);
