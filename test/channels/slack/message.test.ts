import { describe, expect, it } from 'vitest';
import type { PermissionMessage } from '../../../src/receivers/channels/message';
import { callSlack } from '../../../src/receivers/channels/slack/api';
import type { SlackMessage } from '../../../src/receivers/channels/slack/blocks';
import { linkingMessage } from '../../../src/receivers/channels/slack/linking-message';
import {
  AS_WRITTEN,
  canDecideInSlack,
  DECIDE_ACTION,
  OPEN_ACTION,
  permissionMessage,
  settledMessage,
} from '../../../src/receivers/channels/slack/message';
import { FakeSlack, markupIn, plainTextsIn } from '../../support/slack';
import { World } from '../../support/world';
import { CARD, HOSTILE_TEXTS, messageWith, UNSEEN_TEXTS } from './samples';

/** Posts a message to the fake Slack, which refuses what Slack refuses. */
async function post(message: SlackMessage) {
  const world = new World();
  const slack = new FakeSlack(world);
  const body = { channel: 'C0APPROVALS', ...message, ...AS_WRITTEN };
  return callSlack(world.runtime, slack.token, 'chat.postMessage', body);
}

function buttonsOf({ blocks }: SlackMessage) {
  return blocks.flatMap((block) => (block.type === 'actions' ? block.elements : []));
}

const APPROVED = {
  status: 'approved' as const,
  decided_at: '2026-01-31T12:05:59.000Z',
  decision_reason: 'As agreed',
  updated_at: '2026-01-31T12:05:59.000Z',
};

describe('a message about a pending permission', () => {
  it('names amount, resource, action, agent and title, and has a button and a link', async () => {
    const message = permissionMessage(messageWith(), { canDecide: true });
    expect(message).toEqual({
      text:
        'Permission requested\nAmount: 50 (max_recipients)\nResource: mailbox:support\nAction: email.send\nAgent: Mailer\n' +
        "In the agent's words: Reply to ticket 4711\nWaits until 2026-01-31 13:00 UTC",
      blocks: [
        {
          type: 'header',
          text: { type: 'plain_text', text: 'Permission requested', emoji: false },
        },
        {
          type: 'section',
          text: {
            type: 'plain_text',
            text:
              'Amount: 50 (max_recipients)\nResource: mailbox:support\nAction: email.send\nAgent: Mailer\n' +
              "In the agent's words: Reply to ticket 4711",
            emoji: false,
          },
          expand: true,
        },
        {
          type: 'context',
          elements: [
            { type: 'plain_text', text: 'Waits until 2026-01-31 13:00 UTC', emoji: false },
            {
              type: 'mrkdwn',
              text: 'In your time zone: <!date^1769864400^{date_short_pretty}, {time}|2026-01-31 13:00 UTC>',
              verbatim: true,
            },
          ],
        },
        {
          type: 'actions',
          elements: [
            {
              type: 'button',
              action_id: DECIDE_ACTION,
              text: { type: 'plain_text', text: 'Review', emoji: false },
              value: 'perm_01m7x1m1tre75vaz5yvpbmvt6m',
              style: 'primary',
            },
            {
              type: 'button',
              action_id: OPEN_ACTION,
              text: { type: 'plain_text', text: 'Open in Countersign', emoji: false },
              url: CARD,
            },
          ],
        },
      ],
    });
    expect(await post(message)).toMatchObject({ ok: true });
  });

  it('has only a link if it cannot be decided in Slack', async () => {
    const message = permissionMessage(messageWith(), { canDecide: false });
    expect(buttonsOf(message)).toEqual([
      expect.objectContaining({ action_id: OPEN_ACTION, url: CARD }),
    ]);
    expect(JSON.stringify(message.blocks)).toContain('It needs several approvals or a passkey');
    expect(await post(message)).toMatchObject({ ok: true });
  });

  it.each<[Partial<PermissionMessage>, string]>([
    [{ event: 'permission.requested' }, 'Permission requested'],
    [{ event: 'permission.escalated' }, 'Permission requested, now escalated'],
  ])('says what happened: %o', (fields, headline) => {
    const { text, blocks } = permissionMessage(messageWith({}, fields), { canDecide: true });
    expect(text.split('\n')[0]).toBe(headline);
    expect(blocks[0]).toMatchObject({ type: 'header', text: { text: headline } });
  });

  it('has no title if the agent wrote none', () => {
    const message = permissionMessage(messageWith({ title: null }), { canDecide: true });
    expect(JSON.stringify(message)).not.toContain('words');
  });

  it("says neither the agent's reason, nor input, preview or other limits than the amount", () => {
    const secrets = {
      reason: 'SECRET reason',
      input: { text: 'SECRET input' },
      preview: { title: 'Reply to ticket 4711', summary: 'SECRET summary' },
      scope: { rows: 2, other: 'SECRET limit' },
    };
    const message = permissionMessage(messageWith(secrets), { canDecide: true });
    expect(JSON.stringify(message)).not.toContain('SECRET');
    expect(message.text).toContain('Amount: 2 (rows)\n');
  });
});

it('can be decided in Slack if one approval without a passkey is enough', () => {
  const review = {
    approvals_required: 1,
    escalates_at: null,
    short_of_reviewers: false,
    passkey: false,
  };
  expect(canDecideInSlack({ review: null })).toBe(true);
  expect(canDecideInSlack({ review })).toBe(true);
  expect(canDecideInSlack({ review: { ...review, approvals_required: 2 } })).toBe(false);
  expect(canDecideInSlack({ review: { ...review, passkey: true } })).toBe(false);
});

describe('a message about a settled permission', () => {
  it('says who approved it, when, through what and why, and has only a link', async () => {
    const settled = messageWith(APPROVED, { event: 'permission.decided', decidedBy: 'Ada' });
    const message = settledMessage(settled, { via: 'slack' });
    expect(message.text).toBe(
      'Permission approved\nAmount: 50 (max_recipients)\nResource: mailbox:support\nAction: email.send\nAgent: Mailer\n' +
        "In the agent's words: Reply to ticket 4711\n" +
        'Approved by: Ada\nWhen: 2026-01-31 12:05 UTC\nThrough: Slack\nReason: As agreed',
    );
    expect(plainTextsIn(message.blocks).map(({ text }) => text)).toContain(
      'Approved by: Ada\nWhen: 2026-01-31 12:05 UTC\nThrough: Slack\nReason: As agreed',
    );
    expect(buttonsOf(message)).toEqual([
      expect.objectContaining({ action_id: OPEN_ACTION, url: CARD }),
    ]);
    expect(await post(message)).toMatchObject({ ok: true });
  });

  it('says that a policy denied it', () => {
    const denied = { ...APPROVED, status: 'denied' as const, decision_reason: null };
    const message = settledMessage(messageWith(denied, { decidedBy: 'the policy No mail' }), {
      via: null,
    });
    expect(message.text).toMatch(
      /^Permission denied\n.*\nDenied by: the policy No mail\nWhen: 2026-01-31 12:05 UTC$/s,
    );
  });

  it.each([
    [
      'expired',
      '2026-01-31T13:00:00.000Z',
      'Request expired',
      'Nobody decided by 2026-01-31 13:00 UTC.',
    ],
    [
      'never updated',
      '2026-01-31T12:00:00.000Z',
      'Request expired',
      'Nobody decided by 2026-01-31 13:00 UTC.',
    ],
    [
      'withdrawn',
      '2026-01-31T12:20:00.000Z',
      'Request withdrawn',
      'The request was withdrawn on 2026-01-31 12:20 UTC.',
    ],
  ])('says that it ended undecided: %s', (_, updated_at, headline, how) => {
    const { text } = settledMessage(messageWith({ status: 'expired', updated_at }), { via: null });
    expect(text.split('\n')[0]).toBe(headline);
    expect(text.split('\n').at(-1)).toBe(`${how} The agent may not do it.`);
  });

  it('is not made of a pending permission', () => {
    const used = messageWith({ ...APPROVED }, { event: 'permission.outcome_missing' });
    const unknown = settledMessage(used, { via: null });
    expect(unknown.text).toMatch(/^Outcome unknown\nAmount: 50 \(max_recipients\)\nResource: /);
    expect(unknown.text).toContain('did not report within 10 minutes what happened');
    expect(() => settledMessage(messageWith(), { via: null })).toThrow('is not settled');
  });
});

describe('texts that people and agents wrote', () => {
  const everywhere = (text: string): SlackMessage[] => {
    const written = { title: text, resource: `a:${text}`, decision_reason: text };
    const names = { agentName: text, decidedBy: text };
    return [
      permissionMessage(messageWith(written, names), { canDecide: true }),
      settledMessage(messageWith({ ...APPROVED, ...written }, names), { via: 'console' }),
    ];
  };

  it.each(HOSTILE_TEXTS)(
    'are shown as they are, without mentions, links and markup: %s',
    async (text) => {
      const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
      for (const message of everywhere(text)) {
        expect(
          plainTextsIn(message.blocks).some((shown) => shown.text.includes(`Agent: ${text}\n`)),
        ).toBe(true);
        expect(plainTextsIn(message.blocks).every(({ emoji }) => emoji === false)).toBe(true);
        expect(markupIn(message.blocks).join()).not.toContain(text);
        expect(message.text).toContain(`Agent: ${escaped}\n`);
        expect(message.text).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
        expect(await post(message)).toMatchObject({ ok: true });
      }
    },
  );

  it.each(UNSEEN_TEXTS)('show each unseen character as its code point: %j', (text, shown) => {
    for (const message of everywhere(text)) {
      const texts = [message.text, ...plainTextsIn(message.blocks).map((plain) => plain.text)];
      expect(texts.join('\n')).not.toContain(text);
      expect(texts.filter((line) => line.includes(`Agent: ${shown}\n`))).toHaveLength(2);
    }
  });

  it.each(['x', '<', '&', '\u202e', '𝄞'])(
    'are cut to what Slack accepts: many %j',
    async (character) => {
      for (const message of everywhere(character.repeat(5_000))) {
        expect(await post(message)).toMatchObject({ ok: true });
        expect(message.text.length).toBeLessThan(4_000);
        expect(message.text).toContain('…');
        expect(message.text.isWellFormed()).toBe(true);
        expect(JSON.stringify(message.blocks)).toContain(
          'Open it in Countersign to read what is cut here.',
        );
      }
    },
  );

  it('are not called cut because they end with an ellipsis', () => {
    for (const message of everywhere('and so on…')) {
      expect(message.text).toContain('Agent: and so on…\n');
      expect(JSON.stringify(message.blocks)).not.toContain('what is cut here');
    }
  });

  it('are not cut if Slack accepts them', () => {
    const message = permissionMessage(messageWith({ title: 'x'.repeat(500) }), { canDecide: true });
    expect(JSON.stringify(message)).toContain('x'.repeat(500));
    expect(JSON.stringify(message)).not.toContain('…');
  });
});

it('asks an unlinked person to link, with a link in a button only', async () => {
  const message = linkingMessage('https://countersign.test/console/link/abc');
  expect(buttonsOf(message)).toEqual([
    expect.objectContaining({
      action_id: OPEN_ACTION,
      url: 'https://countersign.test/console/link/abc',
    }),
  ]);
  expect(message.text).not.toContain('http');
  expect(await post(message)).toMatchObject({ ok: true });
});
