import { expect, it } from 'vitest';
import { composeDigest } from '../../../src/receivers/channels/email/compose-digest';
import type { PermissionMessage } from '../../../src/receivers/channels/message';
import { readLinks } from '../../support/html';
import { message, minutesLater, NOW, TO } from './samples';

const INBOX = 'https://countersign.test/console';

/** A message about a request that is known by its number. */
function numbered(
  number: number,
  changes: Parameters<typeof message>[0] = {},
  others: Partial<PermissionMessage> = {},
) {
  const changed = { id: `perm_${number}` as never, title: `Request ${number}`, ...changes };
  return message(changed, {
    url: `https://countersign.test/console/permissions/perm_${number}`,
    ...others,
  });
}

/** The numbers of the requests that a digest lists, in their order. */
function listed(messages: PermissionMessage[]): number[] {
  const { text } = composeDigest(messages, TO, INBOX, NOW);
  return [...text.matchAll(/Agent says: Request (\d+)/g)].map(([, number]) => Number(number));
}

const ENDED = { status: 'denied', decided_at: minutesLater(-3) } as const;

it('requests that wait come first by expiry, then those that ended, the newest first', () => {
  const messages = [
    numbered(1, { ...ENDED, decided_at: minutesLater(-9) }),
    numbered(2, { expires_at: minutesLater(300) }),
    numbered(3, { ...ENDED, decided_at: minutesLater(-2) }),
    numbered(4, { expires_at: minutesLater(5) }),
    numbered(5, { status: 'expired', expires_at: minutesLater(-5) }),
    numbered(6, { status: 'expired', updated_at: minutesLater(1), expires_at: minutesLater(60) }),
    numbered(7, { expires_at: minutesLater(-1) }),
    numbered(8, { expires_at: minutesLater(30) }),
  ];
  expect(listed(messages)).toEqual([4, 8, 2, 6, 7, 3, 5, 1]);
  expect(listed(messages.toReversed())).toEqual([4, 8, 2, 6, 7, 3, 5, 1]);
});

it('says how many requests wait, and of each until when or how it ended', () => {
  const messages = [
    numbered(1),
    numbered(2, ENDED, { decidedBy: 'Grace Hopper' }),
    numbered(3, { expires_at: minutesLater(-1) }),
  ];
  const { subject, text } = composeDigest(messages, TO, INBOX, NOW);
  expect(subject).toBe('1 request waits for a decision, 2 ended');
  expect(text).toMatch(
    /^1 request waits for a decision\n\nWaiting, the most urgent first\n\n\* email\S+ on mailbox/,
  );
  expect(text).toContain('  Decide by 2026-01-31 13:55 UTC, in about 2 hours\n');
  expect(text).toContain('  Denied by Grace Hopper\n');
  expect(text).toContain('  Expired\n');
  expect(text).not.toContain('more request');
});

it('has a request once, as it ended if any message says so', () => {
  const [asked, denied] = [numbered(1), numbered(1, ENDED)];
  for (const messages of [
    [asked, asked, denied],
    [denied, asked],
  ]) {
    const { subject } = composeDigest(messages, TO, INBOX, NOW);
    expect(subject).toBe('0 requests wait for a decision, 1 ended');
    expect(listed(messages)).toEqual([1]);
  }
});

it('lists 20 of 400 requests, and says how many more there are', () => {
  const messages = Array.from({ length: 400 }, (_, index) =>
    numbered(index, index < 100 ? { expires_at: minutesLater(500 - index) } : ENDED),
  );
  expect(listed(messages)).toEqual(Array.from({ length: 20 }, (_, index) => 99 - index));
  const { subject, text, html } = composeDigest(messages, TO, INBOX, NOW);
  expect(subject).toBe('100 requests wait for a decision, 300 ended');
  expect(text).toContain('There are 380 more requests, 80 of which wait. The inbox has them all.');
  expect(readLinks(html).slice(-2)).toEqual([INBOX, INBOX]);
  expect(readLinks(html)).toHaveLength(22);
});

it('fills the list with requests that ended when fewer than 20 wait', () => {
  const messages = Array.from({ length: 21 }, (_, index) =>
    numbered(index, index < 2 ? {} : ENDED),
  );
  expect(listed(messages)).toHaveLength(20);
  const { text } = composeDigest(messages, TO, INBOX, NOW);
  expect(text).toContain('There is 1 more request. The inbox has them all.');
});

it('says of a request that its outcome is unknown, whatever else is said of it', () => {
  const done = { status: 'approved', decided_at: minutesLater(-30) } as const;
  const messages = [
    numbered(1, done, { event: 'permission.decided', decidedBy: 'Grace' }),
    numbered(1, done, { event: 'permission.outcome_missing', decidedBy: 'Grace' }),
  ];
  for (const each of [messages, messages.toReversed()]) {
    const { text } = composeDigest(each, TO, INBOX, NOW);
    expect(text).toContain('  Outcome unknown\n');
    expect(text).not.toContain('Approved by');
  }
});
