import { retryPolicies, WebClient } from '@slack/web-api';
import { expect, it } from 'vitest';
import { errorOf, pause, sdkScene } from '../support/local/sdk-scene';
import { loadOpenai, OPENAI, type Settings, SLACK, STRIPE } from '../support/local/sdks';
import { answers, answersAfter, type Reply } from '../support/local/stand-in';

const { folder, connect } = sdkScene();

/** A client that repeats what fails, as Slack's do by default, but without pauses. */
function retryingSlack({ baseUrl, key }: Settings, retries: number): WebClient {
  const retryConfig = { ...retryPolicies.rapidRetryPolicy, retries };
  return new WebClient(key, { slackApiUrl: baseUrl, retryConfig });
}

/** The defaults of a connection, in milliseconds. */
const DEFAULTS = { wait: 25_000, timeout: 60_000, repeatAfter: 600_000 };

it('an SDK without keys, set up as the guide says, waits for the answer and ends its tries in time', async () => {
  const { agent } = await connect(OPENAI);
  const { timeout, maxRetries } = await loadOpenai(folder, agent.settings);
  expect(timeout).toBeGreaterThan(DEFAULTS.wait + DEFAULTS.timeout);
  expect(timeout * (maxRetries + 1)).toBeLessThan(DEFAULTS.repeatAfter);
  // What the guide says of the retries that it switches off.
  const { retries = 0, factor = 0 } = retryPolicies.tenRetriesInAboutThirtyMinutes;
  const pauses = Array.from({ length: retries }, (_, i) => 2_000 * factor ** i);
  const slackPauses = pauses.reduce((sum, each) => sum + each);
  expect(slackPauses).toBeGreaterThan(DEFAULTS.repeatAfter);
  const longest = slackPauses + (retries + 1) * (DEFAULTS.wait + DEFAULTS.timeout);
  expect(longest).toBeLessThan(3_600_000);
});

it('openai waits after a 429 that asks for longer than the connection waits, and acts once', async () => {
  const { agent, standIn, calls } = await connect(OPENAI, { timeout: 1 });
  standIn.script(answers({}, 429, { 'Retry-After': '2' }));
  const startedAt = Date.now();
  expect(await calls.act()).toMatchObject(OPENAI.act.answer);
  expect(Date.now() - startedAt).toBeGreaterThan(1_900);
  expect([standIn.received.length, standIn.performed.length]).toEqual([2, 1]);
  expect(await agent.outcomes()).toEqual(['failed', 'succeeded']);
});

it.each([OPENAI, STRIPE])(
  '$name acts once if it calls again because the answer takes too long',
  async (sdk) => {
    const { agent, standIn, calls } = await connect(sdk);
    standIn.script(answersAfter(3_000, sdk.act.answer));
    const error = await errorOf(calls.act({ timeout: 1_000, maxRetries: 2 }));
    expect([sdk.codeOf(error), standIn.received.length]).toEqual(['already_used', 1]);
    expect(['succeeded', 'unknown']).toContain((await agent.outcomes())[0]);
    expect(standIn.received).toHaveLength(1);
  },
);

it.each([OPENAI, STRIPE])(
  '$name asks once and acts once if it calls again while a person decides',
  async (sdk) => {
    const { agent, standIn, calls } = await connect(sdk, { action: 'people.act', wait: 60 });
    const acting = calls.act({ timeout: 1_000, maxRetries: 9 }).catch((error) => sdk.codeOf(error));
    await pause(2_500);
    await agent.decide('approve');
    // A try that was given up may have acted already: then the next one says so.
    expect([sdk.act.answer, 'already_used']).toContainEqual(await acting);
    expect(await agent.outcomes()).toEqual(['succeeded']);
    expect(standIn.received).toHaveLength(1);
  },
);

it('the retries of Slack, while `repeat_after` lasts, are harmless and find the approval', async () => {
  const { agent, standIn } = await connect(SLACK, { action: 'people.act', wait: 1 });
  const slack = retryingSlack(agent.settings, 60);
  const message = { channel: 'C1', text: 'Hello' };
  const posting = slack.chat.postMessage(message);
  await pause(3_000);
  expect([await agent.outcomes(), standIn.received.length]).toEqual([[undefined], 0]);
  await agent.decide('approve');
  expect(await posting).toMatchObject(SLACK.act.answer);
  expect(standIn.received).toHaveLength(1);

  const again = retryingSlack(agent.settings, 3);
  expect(SLACK.codeOf(await errorOf(again.chat.postMessage(message)))).toBe('already_used');
  const denied = again.chat.postMessage({ ...message, text: 'Denied' });
  const [error] = await Promise.all([errorOf(denied), agent.decide('deny')]);
  expect(SLACK.codeOf(error)).toBe('permission_denied');
  expect(await agent.outcomes()).toEqual(['succeeded', undefined]);
  expect(standIn.received).toHaveLength(1);

  const other = await connect(SLACK);
  other.standIn.script(...Array<Reply>(9).fill(answers({ ok: false }, 500)));
  const retrying = retryingSlack(other.agent.settings, 8);
  const refused = await errorOf(retrying.chat.postMessage(message));
  expect([SLACK.codeOf(refused), other.standIn.received.length]).toEqual(['already_used', 1]);
  expect(await other.agent.outcomes()).toEqual(['unknown']);
});
