import { Hono } from 'hono';
import { createWebhookRoute } from './create';
import { deleteWebhookRoute } from './delete';
import { getDeliveryRoute } from './deliveries/get';
import { listDeliveriesRoute } from './deliveries/list';
import { redeliverRoute } from './deliveries/redeliver';
import { getWebhookRoute } from './get';
import { listWebhooksRoute } from './list';
import { rotateSecretRoute } from './rotate-secret';
import { testWebhookRoute } from './send-test';
import { updateWebhookRoute } from './update';

/** The routes of webhooks and their deliveries, `/v1/webhooks`. */
export const webhookRoutes = new Hono()
  .route('/', createWebhookRoute)
  .route('/', listWebhooksRoute)
  .route('/', getWebhookRoute)
  .route('/', updateWebhookRoute)
  .route('/', deleteWebhookRoute)
  .route('/', rotateSecretRoute)
  .route('/', testWebhookRoute)
  .route('/', listDeliveriesRoute)
  .route('/', getDeliveryRoute)
  .route('/', redeliverRoute);
