import { Hono } from 'hono';
import { agentCreation } from './create';
import { agentDeletion } from './delete';
import { agentDetail } from './get';
import { agentStatisticsDetail } from './get-statistics';
import { agentList } from './list';
import { keyRotation } from './rotate-key';
import { agentUpdate } from './update';

/** The Agents API, `/v1/agents`. */
export const agentRoutes = new Hono()
  .route('/', agentCreation)
  .route('/', agentList)
  .route('/', agentDetail)
  .route('/', agentUpdate)
  .route('/', agentDeletion)
  .route('/', keyRotation)
  .route('/', agentStatisticsDetail);
