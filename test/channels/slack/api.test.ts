import { describe, expect, it } from 'vitest';
import {
  callSlack,
  describeError,
  readDeliveryAnswer,
} from '../../../src/receivers/channels/slack/api';
import {
  header,
  type ModalView,
  plain,
  section,
} from '../../../src/receivers/channels/slack/blocks';
import {
  AS_WRITTEN,
  permissionMessage,
  settledMessage,
} from '../../../src/receivers/channels/slack/message';
import { decisionModal } from '../../../src/receivers/channels/slack/modal';
import { hang, type Receiver } from '../../support/internet';
import { FakeSlack } from '../../support/slack';
import { World } from '../../support/world';
import { CARD, messageWith, permissionWith } from './samples';

function makeScene() {
  const world = new World();
  const slack = new FakeSlack(world);
  const call = (method: string, body: object, token = slack.token) =>
    callSlack(world.runtime, token, method, body);
  return { world, slack, call };
}

const BUTTON = { type: 'button', action_id: 'a', text: plain('A') };
const MODAL = decisionModal({
  permission: permissionWith(),
  preview: null,
  input: null,
  proposal: { scope: { list: ['a', 'b'] }, token_ttl: 900, max_uses: 1 },
  agentName: 'Mailer',
  cardUrl: CARD,
  votes: 0,
}) as ModalView;

function inputsIn({ blocks }: ModalView) {
  return blocks.filter(({ type }) => type === 'input');
}

function option(value: string, text = 'a') {
  return { text: plain(text), value };
}

/** A field whose element is a group of two check boxes, but for some changes. */
function withElement(changes: object) {
  const element = {
    type: 'checkboxes',
    action_id: 'value',
    options: [option('0'), option('1')],
    ...changes,
  };
  const { options: _, ...number } = element;
  const isNumber = element.type === 'number_input';
  return {
    type: 'input',
    block_id: 'b',
    label: plain('A'),
    optional: false,
    element: isNumber ? number : element,
  };
}

const MESSAGE = permissionMessage(messageWith(), { canDecide: true });

describe('a call', () => {
  it('posts a message, and updates it once it is settled', async () => {
    const { slack, call } = makeScene();
    const posted = await call('chat.postMessage', {
      channel: 'C0APPROVALS',
      ...MESSAGE,
      ...AS_WRITTEN,
    });
    const { channel, ts } = slack.messages[0] ?? {};
    expect(posted).toMatchObject({ ok: true, channel, ts });
    const settled = settledMessage(messageWith({ status: 'expired' }), { via: null });
    expect(await call('chat.update', { channel, ts, ...settled, ...AS_WRITTEN })).toMatchObject({
      ok: true,
      ts,
    });
    expect(slack.messages).toEqual([{ channel, ts, ...settled, updates: 1 }]);
  });

  it('sends JSON with the token in a header, and follows no redirect', async () => {
    const { world, slack, call } = makeScene();
    await call('auth.test', { a: 'ü' });
    const [request] = world.internet.requests;
    expect(request).toMatchObject({
      url: 'https://slack.com/api/auth.test',
      options: {
        method: 'POST',
        redirect: 'manual',
        body: '{"a":"ü"}',
        headers: {
          Authorization: `Bearer ${slack.token}`,
          'Content-Type': 'application/json; charset=utf-8',
        },
      },
    });
  });

  it.each([
    ['a wrong token', 'xoxb-wrong', 'C0APPROVALS', 'invalid_auth'],
    ['an unknown channel', undefined, 'C0NOWHERE', 'channel_not_found'],
    ['a channel without the app', undefined, 'C0ELSEWHERE', 'not_in_channel'],
    ['an archived channel', undefined, 'C0ARCHIVED', 'is_archived'],
  ])("fails with Slack's error code: %s", async (_, token, channel, error) => {
    const { slack, call } = makeScene();
    slack.archived.add('C0ARCHIVED');
    const answer = await call('chat.postMessage', { channel, ...MESSAGE }, token);
    expect(answer).toEqual({ ok: false, error });
    expect(slack.messages).toEqual([]);
  });

  it.each<[string, Receiver, object]>([
    [
      'a limit without a body',
      () => new Response('', { status: 429, headers: { 'Retry-After': '7' } }),
      { error: 'ratelimited' },
    ],
    ['a server error', () => new Response('<html>', { status: 503 }), { error: 'http_503' }],
    [
      'a success with a bad status',
      () => Response.json({ ok: true }, { status: 500 }),
      { error: 'http_500' },
    ],
    ['a redirect', () => new Response(null, { status: 302 }), { error: 'http_302' }],
    ['no JSON', () => new Response('ok'), { error: 'invalid_answer' }],
    ['no object', () => Response.json([]), { error: 'invalid_answer' }],
    [
      'neither success nor failure',
      () => Response.json({ ok: 'true' }),
      { error: 'invalid_answer' },
    ],
    [
      'a malformed code',
      () => Response.json({ ok: false, error: '<!channel>' }),
      { error: 'unknown_error' },
    ],
    ['no code', () => Response.json({ ok: false }), { error: 'unknown_error' }],
    [
      'a broken connection',
      () => {
        throw new TypeError('Network connection lost.');
      },
      { error: 'connection_failed' },
    ],
  ])('fails without an exception: %s', async (_, receiver, failure) => {
    const { world, call } = makeScene();
    world.internet.on('slack.com', receiver);
    expect(await call('auth.test', {})).toMatchObject({ ok: false, ...failure });
  });

  it('fails if Slack does not answer, or does not end its answer', async () => {
    const { world, call } = makeScene();
    world.internet.on('slack.com', hang(world.internet));
    expect(await call('auth.test', {})).toEqual({ ok: false, error: 'timeout' });
    world.internet.on('slack.com', () => {
      world.internet.timeOutSoon();
      return new Response(
        new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) }),
      );
    });
    expect(await call('auth.test', {})).toEqual({ ok: false, error: 'timeout' });
  });

  it('waits for at most 2.5 seconds', async () => {
    const { world } = makeScene();
    const waits: number[] = [];
    const runtime = {
      ...world.runtime,
      timeout: (milliseconds: number) => {
        waits.push(milliseconds);
        return world.runtime.timeout(milliseconds);
      },
    };
    await callSlack(runtime, 'xoxb-', 'auth.test', {});
    expect(waits).toEqual([2_500]);
  });
});

it.each<[string, object, string]>([
  ['51 blocks', { blocks: Array.from({ length: 51 }, () => header('a')) }, 'invalid_blocks'],
  ['a long header', { blocks: [header('x'.repeat(151))] }, 'invalid_blocks'],
  ['a long section', { blocks: [section('x'.repeat(3_001))] }, 'invalid_blocks'],
  ['an empty section', { blocks: [section(' ')] }, 'invalid_blocks'],
  ['an unknown property', { blocks: [{ ...section('a'), color: 'red' }] }, 'invalid_blocks'],
  [
    'a button twice',
    { blocks: [{ type: 'actions', elements: [BUTTON, BUTTON] }] },
    'invalid_blocks',
  ],
  ['an input', { blocks: inputsIn(MODAL) }, 'invalid_blocks'],
  ['a long text', { text: 'x'.repeat(40_001) }, 'msg_too_long'],
  ['nothing', {}, 'no_text'],
])('the fake Slack refuses a message with %s', async (_, message, error) => {
  const { call } = makeScene();
  expect(await call('chat.postMessage', { channel: 'C0APPROVALS', ...message })).toMatchObject({
    ok: false,
    error,
  });
});

it.each<[string, object]>([
  ['a long title', { title: plain('x'.repeat(25)) }],
  ['101 blocks', { blocks: Array.from({ length: 101 }, () => header('a')) }],
  ['a field twice', { blocks: [...inputsIn(MODAL), ...inputsIn(MODAL)] }],
  [
    '11 options',
    { blocks: [withElement({ options: Array.from({ length: 11 }, (_, i) => option(String(i))) })] },
  ],
  ['an option twice', { blocks: [withElement({ options: [option('1'), option('1')] })] }],
  ['a long option', { blocks: [withElement({ options: [option('1', 'x'.repeat(76))] })] }],
  ['another initial option', { blocks: [withElement({ initial_options: [option('7')] })] }],
  [
    'a number that is no text',
    { blocks: [withElement({ type: 'number_input', is_decimal_allowed: true, max_value: 5 })] },
  ],
])('the fake Slack refuses a view with %s', async (_, changes) => {
  const { slack, call } = makeScene();
  const open = (view: object) => call('views.open', { trigger_id: slack.trigger(), view });
  expect(await open({ ...MODAL, ...changes })).toMatchObject({
    ok: false,
    error: 'invalid_arguments',
  });
  expect(await open(MODAL)).toMatchObject({ ok: true });
});

describe("Slack's answer to a delivery", () => {
  const MARKED =
    '{"ok":true,"channel":"C0APPROVALS","ts":"1503435956.000247","message":{"text":"\\u00fc';

  it.each([
    ['a success', `${MARKED}"}}`],
    ['a success that was cut off', MARKED],
    ['a success that was cut off within a character', MARKED.slice(0, -3)],
  ])('says where the message is: %s', (_, body) => {
    expect(readDeliveryAnswer(body)).toEqual({
      error: null,
      slackMessage: 'C0APPROVALS:1503435956.000247',
    });
  });

  it.each([
    ['channel_not_found', 'There is no such channel, or the app cannot see it.'],
    ['not_in_channel', 'The app is not a member of the channel. Invite it there.'],
    ['invalid_auth', 'The bot token is not valid.'],
    ['account_inactive', 'The app was removed from the workspace.'],
    ['token_revoked', 'The bot token was revoked.'],
    ['is_archived', 'The channel is archived.'],
    ['msg_too_long', 'The message is too long.'],
    ['ratelimited', 'Slack got too many messages in a short time.'],
    ['fatal_error', 'Slack refused the message.'],
    ['constructor', 'Slack refused the message.'],
  ])('is a failure in plain words: %s', (code, words) => {
    const body = JSON.stringify({ ok: false, error: code });
    expect(readDeliveryAnswer(body)).toEqual({
      error: `${words} (Slack: ${code})`,
      slackMessage: null,
    });
  });

  it.each([
    ['HTML', '<html>'],
    ['nothing', ''],
    ['a list', '[]'],
    ['a success that does not say where', '{"ok":true}'],
    ['the place of another message', '{"ok":false,"x":{"ok":true,"channel":"C1","ts":"1.2"'],
    ['a place that was cut off', '{"ok":true,"channel":"C0APPROVALS","ts":"15034'],
  ])('is a failure if it cannot be read: %s', (_, body) => {
    expect(readDeliveryAnswer(body)).toEqual({
      error: "Slack's answer cannot be read.",
      slackMessage: null,
    });
  });

  it('shows no text of Slack that is not a code', () => {
    expect(readDeliveryAnswer('{"ok":false,"error":"see <https://evil.example>"}').error).toBe(
      describeError('unknown_error'),
    );
  });
});
