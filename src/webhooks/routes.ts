import { Hono } from 'hono';
import { webhookCreation } from './create';
import { webhookDeletion } from './delete';
import { deliveryDetail } from './deliveries/get';
import { deliveryList } from './deliveries/list';
import { redelivery } from './deliveries/redeliver';
import { webhookDetail } from './get';
import { webhookList } from './list';
import { secretRotation } from './rotate-secret';
import { webhookTrial } from './send-test';
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
