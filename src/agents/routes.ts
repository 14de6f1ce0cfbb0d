import { Hono } from 'hono';
import { createAgentRoute } from './create';
import { deleteAgentRoute } from './delete';
import { getAgentRoute } from './get';
import { getAgentStatisticsRoute } from './get-statistics';
import { listAgentsRoute } from './list';
import { rotateAgentKeyRoute } from './rotate-key';
import { updateAgentRoute } from './update';

/** The Agents API, `/v1/agents`. */
export const agentRoutes = new Hono()
  .route('/', createAgentRoute)
  .route('/', listAgentsRoute)
  .route('/', getAgentRoute)
  .route('/', updateAgentRoute)
  .route('/', deleteAgentRoute)
  .route('/', rotateAgentKeyRoute)
  .route('/', getAgentStatisticsRoute);
