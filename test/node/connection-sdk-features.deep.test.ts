import type { Octokit } from '@octokit/rest';
import { retryPolicies, type WebClient } from '@slack/web-api';
import type OpenAI from 'openai';
import type Stripe from 'stripe';
import { expect, it } from 'vitest';
import { errorOf, pause, sdkScene } from '../support/local/sdk-scene';
import {
  loadFromGuide,
  OCTOKIT,
  OPENAI,
  QUESTION,
  type Settings,
  SLACK,
  STRIPE,
} from '../support/local/sdks';
import { answers, answersAfter, type Reply, StandIn } from '../support/local/stand-in';

const { folder, connect } = sdkScene();

const REPOSITORY = { owner: 'acme', repo: 'shop' };

async function loadOpenai(settings: Settings): Promise<OpenAI> {
  return (await loadFromGuide(folder, 'openai', settings)).openai;
}

async function loadStripe(settings: Settings): Promise<Stripe> {
  return (await loadFromGuide(folder, 'stripe', settings)).stripe;
}

async function loadOctokit(settings: Settings): Promise<Octokit> {
  return (await loadFromGuide(folder, 'octokit', settings)).octokit;
}

async function loadSlack(settings: Settings): Promise<WebClient> {
  return (await loadFromGuide(folder, 'slack', settings)).slack;
}

/** A stream of server-sent events of which each part waits until the one before was released. */
class ReleasedStream {
  readonly reply: Reply;
  private release: () => void = () => undefined;

  constructor(end: 'ends' | 'breaks') {
    this.reply = (response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const write = (content: string) => {
        const chunk = { id: 'chatcmpl_1', choices: [{ index: 0, delta: { content } }] };
        response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      };
      write('Grü');
      this.release = () => {
        this.release = () => undefined;
        write('ße');
        if (end === 'ends') response.end('data: [DONE]\n\n');
        else setTimeout(() => response.socket?.destroy(), 50);
      };
    };
  }

  /** Lets the rest of the stream come. */
  goOn(): void {
    this.release();
  }
}

it.each(['policy.act', 'people.act'])(
  'openai gets the parts of an answer as they come, to an act of the kind %s',
  async (action) => {
    const { agent, standIn } = await connect(OPENAI, { action, wait: 30 });
    const stream = new ReleasedStream('ends');
    standIn.script(stream.reply);
    const openai = await loadOpenai(agent.settings);
    const asked = openai.chat.completions.create({ ...QUESTION, stream: true });
    if (action === 'people.act') await agent.decide('approve');
    const parts: (string | null | undefined)[] = [];
    for await (const chunk of await asked) {
      parts.push(chunk.choices[0]?.delta.content);
      // The outcome is known from the head, and the rest of the body is not even written.
      expect(await agent.outcomes()).toEqual(['succeeded']);
      stream.goOn();
    }
    expect(parts).toEqual(['Grü', 'ße']);
    expect(standIn.received).toHaveLength(1);
  },
);

it('openai shows that a stream broke, and does not act again', async () => {
  const { agent, standIn } = await connect(OPENAI);
  const stream = new ReleasedStream('breaks');
  standIn.script(stream.reply);
  const openai = await loadOpenai(agent.settings);
  const parts: unknown[] = [];
  const reading = async () => {
    for await (const chunk of await openai.chat.completions.create({ ...QUESTION, stream: true })) {
      parts.push(chunk);
      stream.goOn();
    }
  };
  expect((await errorOf(reading())).message).toBe('terminated');
  expect([parts.length, standIn.received.length]).toEqual([2, 1]);
  expect(await agent.outcomes()).toEqual(['succeeded']);
});

it('octokit follows the links of pages at the proxy, and none to another host', async () => {
  const { agent, standIn } = await connect(OCTOKIT);
  const page = (title: string, link: string) => answers([{ title }], 200, { Link: link });
  const next = `${standIn.origin}/repositories/7/issues?after=Y3Vyc29y%3D&page=2`;
  standIn.script(
    page('1', `<${next}>; rel="next", <https://evil.example/?page=3>; rel="last"`),
    page('2', '</repositories/7/issues?page=3>; rel="next"'),
    page('3', '<https://evil.example/repositories/7/issues?page=4>; rel="next"'),
  );
  const octokit = await loadOctokit(agent.settings);
  const called: string[] = [];
  octokit.hook.after('request', ({ url }) => void called.push(url));
  const issues = await octokit.paginate(octokit.rest.issues.listForRepo, REPOSITORY);
  expect(issues.map(({ title }) => title)).toEqual(['1', '2', '3']);
  const paths = [
    '/repos/acme/shop/issues',
    '/repositories/7/issues?after=Y3Vyc29y%3D&page=2',
    '/repositories/7/issues?page=3',
  ];
  expect(standIn.received.map(({ path }) => path)).toEqual(paths);
  expect(called).toEqual(paths.map((path) => agent.settings.baseUrl + path));
  expect(await agent.permissions()).toEqual([]);
});

it('octokit takes a page that was asked for before for an empty one, as the guide warns', async () => {
  const rules = [{ effect: 'ask', action: 'policy.read' }];
  const { agent, standIn } = await connect(OCTOKIT, { rules, usual: answers([{ title: '1' }]) });
  const octokit = await loadOctokit(agent.settings);
  const list = () => octokit.paginate(octokit.rest.issues.listForRepo, REPOSITORY);
  expect([(await list()).length, (await list()).length]).toEqual([1, 0]);
  expect(standIn.received).toHaveLength(1);
});

it('octokit would call another host to upload an asset without the base URL of the guide', async () => {
  const { agent } = await connect(OCTOKIT);
  const octokit = await loadOctokit(agent.settings);
  const { url } = octokit.rest.repos.uploadReleaseAsset.endpoint({
    ...REPOSITORY,
    release_id: 7,
    name: 'a.zip',
    data: '',
  });
  expect(new URL(url).origin).toBe('https://uploads.github.com');
});

it('openai, stripe and slack read page after page', async () => {
  const file = (id: string) => ({ id, object: 'file' });
  const ofOpenai = await connect(OPENAI);
  ofOpenai.standIn.script(
    answers({ object: 'list', data: [file('file_1')], has_more: true }),
    answers({ object: 'list', data: [file('file_2')], has_more: false }),
  );
  const files: string[] = [];
  for await (const { id } of (await loadOpenai(ofOpenai.agent.settings)).files.list({ limit: 1 }))
    files.push(id);
  expect(files).toEqual(['file_1', 'file_2']);
  expect(ofOpenai.standIn.received.map(({ path }) => path)).toEqual([
    '/v1/files?limit=1',
    '/v1/files?limit=1&after=file_1',
  ]);

  const ofStripe = await connect(STRIPE);
  const customers = { object: 'list', url: '/v1/customers' };
  ofStripe.standIn.script(
    answers({ ...customers, data: [{ id: 'cus_1' }], has_more: true }),
    answers({ ...customers, data: [{ id: 'cus_2' }], has_more: false }),
  );
  const stripe = await loadStripe(ofStripe.agent.settings);
  const found: string[] = [];
  for await (const { id } of stripe.customers.list({ limit: 1 })) found.push(id);
  expect(found).toEqual(['cus_1', 'cus_2']);

  const ofSlack = await connect(SLACK);
  const more = { response_metadata: { next_cursor: 'dGVhbQ==' } };
  ofSlack.standIn.script(
    answers({ ok: true, channels: [{ id: 'C1' }], ...more }),
    answers({ ok: true, channels: [{ id: 'C2' }] }),
  );
  const pages: unknown[] = [];
  const slack = await loadSlack(ofSlack.agent.settings);
  for await (const { channels } of slack.paginate('conversations.list', { limit: 1 }))
    pages.push(channels);
  expect(pages).toEqual([[{ id: 'C1' }], [{ id: 'C2' }]]);
  expect(ofSlack.standIn.received.map(({ body }) => body.toString())).toEqual([
    'limit=1',
    'limit=1&cursor=dGVhbQ%3D%3D',
  ]);
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

it('the retries of Slack, if they are left on, are harmless and find the approval', async () => {
  const { agent, standIn } = await connect(SLACK, { action: 'people.act', wait: 1 });
  const slack = await loadSlack(agent.settings);
  slack.retryConfig = { ...retryPolicies.rapidRetryPolicy, retries: 60 };
  const message = { channel: 'C1', text: 'Hello' };
  const posting = slack.chat.postMessage(message);
  await pause(3_000);
  expect([await agent.outcomes(), standIn.received.length]).toEqual([[undefined], 0]);
  await agent.decide('approve');
  expect(await posting).toMatchObject(SLACK.act.answer);
  expect(standIn.received).toHaveLength(1);

  slack.retryConfig = { ...retryPolicies.rapidRetryPolicy, retries: 3 };
  expect(SLACK.codeOf(await errorOf(slack.chat.postMessage(message)))).toBe('already_used');
  const denied = slack.chat.postMessage({ ...message, text: 'Denied' });
  const [error] = await Promise.all([errorOf(denied), agent.decide('deny')]);
  expect(SLACK.codeOf(error)).toBe('permission_denied');
  expect(await agent.outcomes()).toEqual(['succeeded', undefined]);
  expect(standIn.received).toHaveLength(1);

  const other = await connect(SLACK);
  other.standIn.script(...Array<Reply>(9).fill(answers({ ok: false }, 500)));
  const retrying = await loadSlack(other.agent.settings);
  retrying.retryConfig = { ...retryPolicies.rapidRetryPolicy, retries: 8 };
  const refused = await errorOf(retrying.chat.postMessage(message));
  expect([SLACK.codeOf(refused), other.standIn.received.length]).toEqual(['already_used', 1]);
  expect(await other.agent.outcomes()).toEqual(['unknown']);
});

it('filesUploadV2 of Slack sends the key of the agent to another host, as the guide warns', async () => {
  const { agent, standIn } = await connect(SLACK);
  const files = await StandIn.start(answers({ ok: true }));
  standIn.script(answers({ ok: true, upload_url: `${files.origin}/upload`, file_id: 'F1' }));
  const slack = await loadSlack(agent.settings);
  await slack.filesUploadV2({ content: 'text', filename: 'a.txt' });
  files.stop();
  expect(files.received.map(({ headers }) => headers.authorization)).toEqual([
    `Bearer ${agent.settings.key}`,
  ]);
});
