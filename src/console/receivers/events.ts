import { CHANNEL_EVENTS, type ChannelEvent, isOfAccount } from '../../receivers/channels/channel';
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../receivers/webhooks/webhook';
import type { EventMeanings } from './fields';

const MEANINGS = {
  'audit.created': 'An agent asked, somebody decided, or a token was used, expired or was revoked',
  'audit.export.completed': 'An export is ready to be downloaded',
  'audit.export.failed': 'An export failed',
  'report.completed': 'A compliance report is ready to be downloaded',
  'report.failed': 'A compliance report failed',
  'permission.requested': 'A request waits for people',
  'permission.escalated': 'More people became reviewers of a request',
  'permission.decided': 'A request was approved or denied',
  'permission.expired': 'A request expired, or was withdrawn, undecided',
  'permission.outcome_missing': 'A program did not report what happened after a use',
  'webhook.disabled': 'Countersign disabled a webhook, because its receiver kept failing',
  'account.stopped': 'Somebody stopped all agents',
  'account.resumed': 'Somebody let the agents go on',
} satisfies Partial<Record<WebhookEvent | ChannelEvent, string>>;

/** Nobody is notified of what a policy or a series decided, nor of what an agent withdrew. */
const MEANINGS_TO_PEOPLE: typeof MEANINGS = {
  ...MEANINGS,
  'permission.decided': 'Somebody approved or denied a request',
  'permission.expired': 'A request expired undecided',
};

function withMeanings<E extends keyof typeof MEANINGS>(
  events: readonly E[],
  meanings: typeof MEANINGS,
): EventMeanings<E> {
  return events.map((event) => [event, meanings[event]] as const);
}

/**
 * The events that a webhook can subscribe to, and what each one means; a test goes to each anyway.
 */
export const OF_WEBHOOKS = withMeanings(
  WEBHOOK_EVENTS.filter((event) => event !== 'webhook.test'),
  MEANINGS,
);

/** The events that a channel can send to people, and what each one means. */
export const OF_CHANNELS = withMeanings(CHANNEL_EVENTS, MEANINGS_TO_PEOPLE);

/** Those among them that a member can choose: who may decide gets the others in any case. */
export const CHOSEN_BY_MEMBERS = OF_CHANNELS.filter(([event]) => !isOfAccount(event));
