import { expect, it } from 'vitest';
import { isFromSlack } from '../../../src/receivers/channels/slack/signature';
import { FakeSlack } from '../../support/slack';
import { World } from '../../support/world';

/**
 * The example in Slack's documentation:
 * https://docs.slack.dev/authentication/verifying-requests-from-slack
 */
const EXAMPLE = {
  signingSecret: '8f742231b10e8888abcd99yyyzzz85a5',
  timestamp: '1531420618',
  signature: 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
  body:
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V' +
    '&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=' +
    '&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN' +
    '&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
  now: 1_531_420_618_000,
};

it("accepts the example of Slack's documentation", async () => {
  expect(await isFromSlack(EXAMPLE)).toBe(true);
});

it.each<[string, Partial<Parameters<typeof isFromSlack>[0]>]>([
  ['another body', { body: `${EXAMPLE.body} ` }],
  ['another secret', { signingSecret: '8f742231b10e8888abcd99yyyzzz85a6' }],
  ['an empty secret', { signingSecret: '' }],
  ['another timestamp', { timestamp: '1531420619' }],
  ['a timestamp with a sign', { timestamp: '+1531420618' }],
  ['a timestamp with a fraction', { timestamp: '1531420618.0' }],
  ['no timestamp', { timestamp: null }],
  ['no signature', { signature: null }],
  ['another version', { signature: EXAMPLE.signature.replace('v0', 'v1') }],
  ['a shorter signature', { signature: EXAMPLE.signature.slice(0, -2) }],
  ['an empty signature', { signature: 'v0=' }],
  ['another signature', { signature: EXAMPLE.signature.replace('a2', 'a3') }],
])('refuses %s', async (_, change) => {
  expect(await isFromSlack({ ...EXAMPLE, ...change })).toBe(false);
});

it('accepts a timestamp up to five minutes from the clock, before and after', async () => {
  const at = (milliseconds: number) => isFromSlack({ ...EXAMPLE, now: EXAMPLE.now + milliseconds });
  expect(await Promise.all([300_000, -300_000].map(at))).toEqual([true, true]);
  expect(await Promise.all([300_001, -300_001].map(at))).toEqual([false, false]);
});

it('accepts what the fake Slack signs', async () => {
  const world = new World();
  const slack = new FakeSlack(world);
  const headers = await slack.sign('payload=%7B%7D&ü');
  const request = {
    signingSecret: slack.signingSecret,
    timestamp: headers['X-Slack-Request-Timestamp'] ?? null,
    signature: headers['X-Slack-Signature'] ?? null,
    body: 'payload=%7B%7D&ü',
    now: world.now,
  };
  expect(await isFromSlack(request)).toBe(true);
  expect(await isFromSlack({ ...request, body: 'payload=%7B%7D&u' })).toBe(false);
});
