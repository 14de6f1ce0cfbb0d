import { expect, it } from 'vitest';
import { composePermissionMail } from '../../../src/receivers/channels/email/compose';
import {
  composeTestMail,
  composeWebhookDisabledMail,
} from '../../../src/receivers/channels/email/service-mails';
import { readLinks, readText } from '../../support/html';
import { CARD, message, messageWith, minutesLater, NOW, parseHtml, REVIEW, TO } from './samples';

/** A text without the word joiners that prevent links. */
function withoutJoiners(text: string): string {
  return text.replaceAll('\u2060', '');
}

it('the mail about a new request says who asks for what and why, the limits, and until when', async () => {
  const mail = composePermissionMail(message(), TO, NOW);
  expect(mail.to).toEqual(TO);
  expect(mail.subject).toBe(
    'Decision needed: “1,840.5 (budget.max_amount) and 1 mo…” on “mailbox:support”, asked by “Support assistant”',
  );
  expect(withoutJoiners(mail.text)).toBe(`An agent asks for your decision

Agent: Support assistant
Action: email.send
Resource: mailbox:support
Decide by: 2026-01-31 13:55 UTC, in about 2 hours

Limits that the agent named:
If you approve, the agent may do no more than this.
  \`max_recipients\`: 50
  \`domains\`: blue, green
  \`budget.max_amount\`: 1,840.5

Agent says:
> Reply to ticket 4711

Why, in the agent’s own words:
> The customer asked again.
> The address was checked.

Review the request:
${CARD}

The link asks you to sign in; without that it shows nothing. A reply to this mail decides nothing.
`);
  expect(readLinks(mail.html)).toEqual([CARD, CARD]);
});

it('the mail about a missing outcome says that nobody knows what happened', () => {
  const approved = { status: 'approved', decided_at: minutesLater(-20) } as const;
  const missing = { event: 'permission.outcome_missing', decidedBy: 'Grace' } as const;
  const mail = composePermissionMail(message(approved, missing), TO, NOW);
  expect(mail.subject).toMatch(/^Outcome unknown: “1,840\.5 \(budget/);
  expect(mail.text).toContain(
    'Outcome unknown\n\nThe program used its approval and did not report within 10 minutes',
  );
  expect(mail.text).toContain('Decided by: Grace');
  expect(mail.text).not.toContain('The agent may do it');
});

it('both parts say the same', () => {
  const decided = {
    status: 'approved',
    granted_scope: { max_recipients: 10 },
    decided_at: minutesLater(-1),
  } as const;
  const mails = [
    composePermissionMail(message(decided, { event: 'permission.outcome_missing' }), TO, NOW),
    composePermissionMail(message(), TO, NOW),
    composePermissionMail(message({ review: REVIEW }), TO, NOW),
    composePermissionMail(
      message({ ...decided, decision_reason: 'Ten' }, { decidedBy: 'Grace' }),
      TO,
      NOW,
    ),
    composeTestMail(TO, { channelName: 'Mails', url: CARD }),
  ];
  for (const { text, html } of mails) {
    const words = (part: string) =>
      part
        .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
        .trim()
        .split(' ');
    const shown = words(readText(html));
    expect(shown.slice(0, 1)).toEqual(['Countersign']);
    expect(shown.slice(1).toSorted()).toEqual(words(text).toSorted());
  }
});

it('no mail has the input, or more of the preview than its title', () => {
  const { subject, text, html } = composePermissionMail(message(), TO, NOW);
  expect(subject + text + html).not.toMatch(/of the input|of the preview/);
});

it('a reminder says so, and when the request has no title, reason or limits, the mail has no gaps', () => {
  const bare = { title: null, reason: null, scope: {}, expires_at: minutesLater(9.4) };
  const { subject, text } = composePermissionMail(message(bare, { isReminder: true }), TO, NOW);
  expect(subject).toMatch(/^Reminder: decision needed: “email\.send”/);
  expect(text).toMatch(/^Reminder: an agent waits for your decision\n/);
  expect(text).toContain('in about 9 minutes');
  expect(text).toContain(
    'The agent names no limits: an approval allows this action on this resource in any form.',
  );
  expect(text).not.toMatch(/Agent says|Why|undefined|null|\n\n\n/);
});

it('an escalated request shows the limits that the votes have left, and how many approvals it needs', () => {
  const escalated = message({ review: REVIEW }, { event: 'permission.escalated' });
  const { subject, text } = composePermissionMail(escalated, TO, NOW);
  expect(subject).toMatch(/^Escalated, decision needed: /);
  expect(text).toMatch(/^A request was escalated to you\n/);
  expect(text).toContain('Review: needs 2 approvals');
  expect(text).toContain('  `max_recipients`: 10 (requested: 50)\n  `domains`: blue, green\n');
});

it('an approval says who approved, when and why, and the granted limits beside the requested ones', () => {
  const approved = message(
    {
      status: 'approved',
      granted_scope: { max_recipients: 10, added: true },
      decided_at: minutesLater(20),
      decision_reason: 'Ten are enough',
    },
    { event: 'permission.decided', decidedBy: 'Grace Hopper' },
  );
  const { subject, text } = composePermissionMail(approved, TO, NOW);
  expect(subject).toMatch(/^Approved: “10 \(max_recipients\)” on “mailbox:support”/);
  const plain = withoutJoiners(text);
  expect(plain).toContain('Decided by: Grace Hopper\nDecided: 2026-01-31 12:20 UTC\n');
  expect(plain).toContain('Reason of the decision:\n> Ten are enough\n');
  expect(plain).toContain(
    'Limits granted:\nThe agent may do no more than this.\n  `max_recipients`: 10 (requested: 50)\n',
  );
  expect(plain).toContain('  `domains`: – (requested: blue, green)\n');
  expect(plain).toContain('  `added`: true (requested: –)\n');
  expect(plain).not.toContain('Decide by');
});

it('limits look neither like each other nor like facts of the service', () => {
  const long = 'k'.repeat(80);
  const scope = {
    ...{
      Agent: 1,
      'Decide by': 2,
      'payment › max': 5,
      payment: { max: 500_000 },
      [`${long}a`]: 6,
      [`${long}b`]: 7,
    },
  };
  const { text, html } = composePermissionMail(message({ scope }), TO, NOW);
  const cut = `\`${'k'.repeat(60)}…`;
  expect(withoutJoiners(text)).toContain(
    `  \`Agent\`: 1\n  \`"Decide by"\`: 2\n  \`"payment › max"\`: 5\n  \`payment.max\`: 500,000\n` +
      `  ${cut} (limit 5)\`: 6\n  ${cut} (limit 6)\`: 7\n`,
  );
  expect(html).toMatch(/<code [^>]*>Agent<\/code>/);
});

it('words that mix scripts are marked', () => {
  const { text, html } = composePermissionMail(messageWith('p\u0430ypal'), TO, NOW);
  const marked = 'p\u0430ypal (mixed scripts: Latin, Cyrillic)';
  for (const line of [`Agent: ${marked}`, `Resource: ${marked}`, `> ${marked}`]) {
    expect(text).toContain(line);
  }
  expect(readText(html)).toContain(marked);
});

it('a denial grants nothing', () => {
  const denied = message(
    { status: 'denied', decided_at: minutesLater(20) },
    { event: 'permission.decided', decidedBy: 'the policy “No mails”' },
  );
  const { subject, text } = composePermissionMail(denied, TO, NOW);
  expect(subject).toMatch(/^Denied: /);
  expect(text).toContain('The agent may not do it.');
  expect(text).toContain('Decided by: the policy “No mails”');
  expect(text).toContain('The agent asked for this. Nothing was granted.');
});

it('a request that nobody decided is not one that the agent took back', () => {
  const expired = message({ status: 'expired' }, { event: 'permission.expired' });
  const mail = composePermissionMail(expired, TO, NOW);
  expect(mail.subject).toMatch(/^Expired: /);
  expect(mail.text).toContain('Nobody decided by 2026-01-31 13:55 UTC. The agent may not do it.');
  const withdrawn = message(
    { status: 'expired', updated_at: minutesLater(3) },
    { event: 'permission.expired' },
  );
  const other = composePermissionMail(withdrawn, TO, NOW);
  expect(other.subject).toMatch(/^Withdrawn: /);
  expect(other.text).toContain('The request was withdrawn on 2026-01-31 12:03 UTC.');
});

it.each([
  [0.2, 'in about 1 minute'],
  [59, 'in about 59 minutes'],
  [59.6, 'in about 1 hour'],
  [47 * 60, 'in about 47 hours'],
  [72 * 60, 'in about 3 days'],
  [0, 'which is over'],
])('a request with %s minutes left is to be decided %s', (minutes, words) => {
  const { text } = composePermissionMail(message({ expires_at: minutesLater(minutes) }), TO, NOW);
  expect(text).toContain(` UTC, ${words}\n`);
});

it('many limits are cut, and the mail says how many more there are', () => {
  const scope = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [`limit_${index}`, index]),
  );
  const { text } = composePermissionMail(message({ scope }), TO, NOW);
  expect(text.match(/ {2}`limit_/g)).toHaveLength(15);
  expect(text).toContain('  25 more limits: see the request.');
});

it('the mails about a webhook and about a test name them, and link to one page', () => {
  const url = 'https://countersign.test/console/webhooks/webhook_01m7x1m1tre75vaz5yvpbmvt6m';
  const id = 'webhook_01m7x1m1tre75vaz5yvpbmvt6m';
  const webhook = {
    id,
    url: 'https://hooks.example.com/countersign',
    disabled_reason: 'The receiver is gone.',
  };
  const disabled = composeWebhookDisabledMail(TO, { webhook, url });
  expect(disabled.subject).toBe('Webhook disabled: “hooks.example.com”');
  expect(withoutJoiners(disabled.text)).toContain(
    `URL: ${webhook.url}\nWhy: The receiver is gone.\n`,
  );
  expect(readLinks(disabled.html)).toEqual([url, url]);
  const test = composeTestMail(TO, { channelName: 'Reviewers', url });
  expect(test.subject).toBe('Test of a channel');
  expect(readLinks(test.html)).toEqual([url, url]);
});

it('a page loads nothing from anywhere, runs nothing, and is readable in the dark', async () => {
  const { html } = composePermissionMail(message(), TO, NOW);
  const { elements, attributes } = await parseHtml(html);
  expect(
    elements.filter((name) =>
      /^(img|script|link|iframe|object|form|input|base|svg|video)$/.test(name),
    ),
  ).toEqual([]);
  expect(attributes.filter(([name]) => /^(on|src|background$|action)/.test(name))).toEqual([]);
  expect(html).not.toMatch(/url\(|@import|@font-face/);
  expect(html).toContain('<meta name="color-scheme" content="light dark"');
});
