import { everyMinute, type Task, type TaskContext, webhookQueues } from '../../task';
import {
  enqueueDueDeliveries,
  enqueuePendingEvents,
  enqueueUpcoming,
} from './dispatch/enqueue-due';

/**
 * Background work on webhooks: queue messages for whatever is due, in case the first message was
 * lost.
 */
export const webhookTasks: readonly Task[] = [
  {
    name: 'enqueue_upcoming_deliveries',
    schedule: 'every_minute',
    start: (context) => enqueueUpcoming(() => enqueueContext(context)),
  },
  everyMinute('enqueue_pending_events', (context) => enqueuePendingEvents(enqueueContext(context))),
  everyMinute('enqueue_due_deliveries', (context) => enqueueDueDeliveries(enqueueContext(context))),
];

function enqueueContext(context: TaskContext) {
  return { ...context, queues: webhookQueues(context), now: context.runtime.now() };
}
