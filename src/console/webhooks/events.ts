import type { WebhookEvent } from '../../receivers/webhooks/webhook';
import type { EventMeanings } from '../receivers/fields';

/**
 * The events that a webhook can be for, with what each one means. A test is sent to every webhook.
 */
export const EVENTS: EventMeanings<WebhookEvent> = [
  [
    'audit.created',
    'An agent asked, somebody decided, or a token was used, expired or was revoked',
  ],
  ['audit.export.completed', 'An export is ready to be downloaded'],
  ['audit.export.failed', 'An export failed'],
  ['report.completed', 'A compliance report is ready to be downloaded'],
  ['report.failed', 'A compliance report failed'],
  ['permission.requested', 'A request waits for people'],
  ['permission.escalated', 'More people became reviewers of a request'],
  ['permission.decided', 'A request was approved or denied'],
  ['permission.expired', 'A request expired, or was withdrawn, undecided'],
  ['permission.outcome_missing', 'A program did not report what happened after a use'],
  ['account.stopped', 'Somebody stopped all agents'],
  ['account.resumed', 'Somebody let the agents go on'],
];
