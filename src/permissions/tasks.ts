import { everyMinute, type Task } from '../task';
import { expireOverdue } from './expire';
import { markUnknown } from './outcomes/mark-unknown';
import { escalateReviews } from './reviews/escalate';
import { recordEndedSeries } from './series/record-ends';

/** Background work on permissions. */
export const permissionTasks: readonly Task[] = [
  everyMinute('expire_permissions', expireOverdue),
  everyMinute('escalate_reviews', escalateReviews),
  everyMinute('record_ended_series', recordEndedSeries),
  everyMinute('mark_outcomes_unknown', markUnknown),
];
