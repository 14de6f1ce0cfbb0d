import { everyMinute, type Task, webhookQueues } from '../../task';
import { releaseHeld } from './release-held';
import { remindReviewers } from './remind';

/** Background work on channels. */
export const channelTasks: readonly Task[] = [
  everyMinute('remind_reviewers', remindReviewers),
  everyMinute('release_held_messages', (context) =>
    releaseHeld({ ...context, queues: webhookQueues(context) }),
  ),
];
