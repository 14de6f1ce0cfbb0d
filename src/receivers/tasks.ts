import { deliveryQueues, everyMinute, type Task, type TaskContext } from '../task';
import {
  enqueueDueDeliveries,
  enqueuePendingEvents,
  enqueueUpcoming,
} from './dispatch/enqueue-due';
import { releaseHeld } from './fan-out/release-held';
import { remindReviewers } from './fan-out/remind';

/**
 * Background work on receivers: reminders and held messages that are due, and queue messages for
 * whatever is due, in case the first message was lost.
 */
export const receiverTasks: readonly Task[] = [
  everyMinute('remind_reviewers', remindReviewers),
  everyMinute('release_held_messages', (context) =>
    releaseHeld({ ...context, queues: deliveryQueues(context) }),
  ),
  {
    name: 'enqueue_upcoming_deliveries',
    schedule: 'every_minute',
    start: (context) => enqueueUpcoming(() => enqueueContext(context)),
  },
  everyMinute('enqueue_pending_events', (context) => enqueuePendingEvents(enqueueContext(context))),
  everyMinute('enqueue_due_deliveries', (context) => enqueueDueDeliveries(enqueueContext(context))),
];

function enqueueContext(context: TaskContext) {
  return { ...context, queues: deliveryQueues(context), now: context.runtime.now() };
}
