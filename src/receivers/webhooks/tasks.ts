import { requireBinding, type Task, type TaskContext } from '../../task';
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
  {
    name: 'enqueue_pending_events',
    schedule: 'every_minute',
    start: (context) => () => enqueuePendingEvents(enqueueContext(context)),
  },
  {
    name: 'enqueue_due_deliveries',
    schedule: 'every_minute',
    start: (context) => () => enqueueDueDeliveries(enqueueContext(context)),
  },
];

function enqueueContext({ shard, database, ledger, env, runtime }: TaskContext) {
  const queues = {
    queue: requireBinding(env, 'WEBHOOK_QUEUE'),
    slowQueue: requireBinding(env, 'SLOW_WEBHOOK_QUEUE'),
  };
  return { shard, reader: database, ledger, queues, now: runtime.now() };
}
