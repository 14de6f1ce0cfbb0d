import { Hono } from 'hono';
import { createChannelRoute } from './create';
import { deleteChannelRoute } from './delete';
import { getChannelDeliveryRoute } from './deliveries/get';
import { listChannelDeliveriesRoute } from './deliveries/list';
import { redeliverByChannelRoute } from './deliveries/redeliver';
import { getChannelRoute } from './get';
import { listChannelsRoute } from './list';
import { listNotificationsRoute } from './notifications';
import { removePushDeviceRoute } from './push/remove';
import { testChannelRoute } from './send-test';
import { getNotificationSettingsRoute } from './settings/get';
import { updateNotificationSettingsRoute } from './settings/update';
import { receiveFromSlackRoute } from './slack/inbound';
import { updateChannelRoute } from './update';

/**
 * The routes of channels, `/v1/channels`, of their messages, and of what members chose about these.
 */
export const channelRoutes = new Hono()
  .route('/', createChannelRoute)
  .route('/', listChannelsRoute)
  .route('/', getChannelRoute)
  .route('/', updateChannelRoute)
  .route('/', deleteChannelRoute)
  .route('/', testChannelRoute)
  .route('/', listChannelDeliveriesRoute)
  .route('/', getChannelDeliveryRoute)
  .route('/', redeliverByChannelRoute)
  .route('/', listNotificationsRoute)
  .route('/', getNotificationSettingsRoute)
  .route('/', updateNotificationSettingsRoute)
  .route('/', removePushDeviceRoute)
  .route('/', receiveFromSlackRoute);
