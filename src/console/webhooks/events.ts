import type { WebhookEvent } from '../../db/schema';

/** The events that a webhook can be for, with what each one means. A test is sent to every webhook. */
export const EVENTS: readonly (readonly [event: WebhookEvent, meaning: string])[] = [
  ['audit.created', 'An agent asked, somebody decided, or a token was used, expired or was revoked'],
  ['audit.export.completed', 'An export is ready to be downloaded'],
  ['audit.export.failed', 'An export failed'],
  ['report.completed', 'A compliance report is ready to be downloaded'],
  ['report.failed', 'A compliance report failed'],
];

/** The events of a webhook in words. */
export function eventsText(events: readonly WebhookEvent[]): string {
  return EVENTS.every(([event]) => events.includes(event)) ? 'All events' : events.join(', ');
}
