import { type ChannelEvent, isOfAccount } from '../../receivers/channels/channel';
import type { EventMeanings } from '../receivers/fields';

/** The events that a channel can send to people, and what each one means. */
export const EVENTS: EventMeanings<ChannelEvent> = [
  ['permission.requested', 'A request waits for people'],
  ['permission.escalated', 'More people became reviewers of a request'],
  ['permission.decided', 'Somebody approved or denied a request'],
  ['permission.expired', 'A request expired undecided'],
  ['permission.outcome_missing', 'A program did not report what happened after a use'],
  ['webhook.disabled', 'Countersign disabled a webhook, because its receiver kept failing'],
  ['account.stopped', 'Somebody stopped all agents'],
  ['account.resumed', 'Somebody let the agents go on'],
];

/** Those among them that a member can choose: who may decide gets the others in any case. */
export const CHOSEN_EVENTS = EVENTS.filter(([event]) => !isOfAccount(event));
