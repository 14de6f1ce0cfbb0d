import { customType } from 'drizzle-orm/sqlite-core';

export const EVENT_TYPES = ['request', 'approve', 'deny', 'use', 'expire', 'revoke'] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/**
 * The events as the column `event` of the audit log stores them, by their places in this list:
 * append, never reorder.
 *
 * A request and a token that expire are stored apart, so that an index has the expired requests as
 * one range, however many tokens expired between them. Everywhere else both are `expire`.
 */
export const STORED_EVENTS = [
  'request',
  'approve',
  'deny',
  'use',
  'request_expire',
  'revoke',
  'token_expire',
] as const;

export type StoredEvent = (typeof STORED_EVENTS)[number];

/** The event type of a stored event. */
function eventTypeOf(event: StoredEvent): EventType {
  if (event === 'request_expire' || event === 'token_expire') return 'expire';
  return event;
}

/** The stored events of an event type. */
export function storedEventsOf(type: EventType): readonly StoredEvent[] {
  return STORED_EVENTS.filter((event) => eventTypeOf(event) === type);
}

/** The code of an entry in the column `event`. */
export function storedEventCode({ event, details }: NewEntry): number {
  let stored: StoredEvent;
  if (event !== 'expire') stored = event;
  else if (details.expired === 'token') stored = 'token_expire';
  else stored = 'request_expire';
  return STORED_EVENTS.indexOf(stored);
}

interface NewEntry {
  event: EventType;
  details: { expired?: 'request' | 'token' | 'withdrawn' };
}

/**
 * The event type that a code in the column `event` stands for.
 * @throws Error for a number that is no code
 */
export function eventTypeOfCode(code: number): EventType {
  const event = STORED_EVENTS[code];
  if (event === undefined) throw new Error(`${code} is not the code of an event`);
  return eventTypeOf(event);
}

/** The column `event`, read as an event type. Conditions name codes: see {@link storedEventsOf}. */
export const eventColumn = customType<{ data: EventType; driverData: number }>({
  dataType: () => 'integer',
  fromDriver: eventTypeOfCode,
  toDriver: (type) => {
    throw new Error(`${type} may have several codes`);
  },
});
