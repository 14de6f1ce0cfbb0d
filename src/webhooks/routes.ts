import { Hono } from 'hono';
import { webhookCreation } from './creation';
import { webhookDeletion } from './deletion';
import { deliveryDetail } from './deliveries/detail';
import { deliveryList } from './deliveries/list';
import { redelivery } from './deliveries/redelivery';
import { webhookDetail } from './detail';
import { webhookList } from './list';
import { secretRotation } from './secret-rotation';
import { webhookTrial } from './trial';
import { webhookUpdate } from './update';

/** Webhooks, `/v1/webhooks`, and what was sent to them. */
export const webhookRoutes = new Hono()
  .route('/', webhookCreation)
  .route('/', webhookList)
  .route('/', webhookDetail)
  .route('/', webhookUpdate)
  .route('/', webhookDeletion)
  .route('/', secretRotation)
  .route('/', webhookTrial)
  .route('/', deliveryList)
  .route('/', deliveryDetail)
  .route('/', redelivery);
