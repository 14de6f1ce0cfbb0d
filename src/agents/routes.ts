import { Hono } from 'hono';
import { agentCreation } from './creation';
import { agentDeletion } from './deletion';
import { agentDetail } from './detail';
import { agentList } from './list';
import { keyRotation } from './rotation';
import { agentStatisticsDetail } from './statistics';
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
