import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { errorOf, sdkScene } from '../support/local/sdk-scene';
import {
  loadOctokit,
  loadOpenai,
  loadSlack,
  loadStripe,
  OCTOKIT,
  OPENAI,
  QUESTION,
  SLACK,
  STRIPE,
} from '../support/local/sdks';
import { answers, type Reply, StandIn } from '../support/local/stand-in';

const { folder, connect } = sdkScene();

const REPOSITORY = { owner: 'acme', repo: 'shop' };

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
    const openai = await loadOpenai(folder, agent.settings);
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
  const openai = await loadOpenai(folder, agent.settings);
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
  const octokit = await loadOctokit(folder, agent.settings);
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
  const octokit = await loadOctokit(folder, agent.settings);
  const list = () => octokit.paginate(octokit.rest.issues.listForRepo, REPOSITORY);
  expect([(await list()).length, (await list()).length]).toEqual([1, 0]);
  expect(standIn.received).toHaveLength(1);
});

it('octokit would call another host to upload an asset without the base URL of the guide', async () => {
  const { agent } = await connect(OCTOKIT);
  const octokit = await loadOctokit(folder, agent.settings);
  const { url } = octokit.rest.repos.uploadReleaseAsset.endpoint({
    ...REPOSITORY,
    release_id: 7,
    name: 'a.zip',
    data: '',
  });
  expect(new URL(url).origin).toBe('https://uploads.github.com');
});

it('octokit follows the redirect of an act, which did nothing, and asks for the other address', async () => {
  const { agent, standIn, calls } = await connect(OCTOKIT);
  standIn.script(answers({}, 307, { Location: `${standIn.origin}/repositories/7/issues` }));
  expect(await calls.act()).toMatchObject({ data: OCTOKIT.act.answer });
  expect(standIn.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /repos/acme/shop/issues',
    'POST /repositories/7/issues',
  ]);
  expect(await agent.outcomes()).toEqual(['failed', 'succeeded']);

  standIn.script(answers({}, 302, { Location: 'https://evil.example/archive' }));
  const octokit = await loadOctokit(folder, agent.settings);
  const archive = await octokit.rest.repos.downloadTarballArchive({ ...REPOSITORY, ref: 'v1' });
  expect([archive.url, archive.headers.location]).toEqual([
    `${agent.settings.baseUrl}/repos/acme/shop/tarball/v1`,
    undefined,
  ]);
});

it('the headers of an SDK are sent on that the connection names, and no others', async () => {
  const forward_headers = ['Accept', 'Content-Type', 'Stripe-Version', 'Stripe-Account'];
  const { agent, standIn } = await connect(STRIPE, { forward_headers });
  const stripe = await loadStripe(folder, agent.settings);
  await stripe.refunds.create({ charge: 'ch_1' }, { stripeAccount: 'acct_1' });
  const headers = standIn.received[0]?.headers ?? {};
  expect(headers).toMatchObject({ 'stripe-account': 'acct_1' });
  expect(headers['stripe-version']).toMatch(/^20\d\d-\d\d-\d\d/);
  expect(Object.keys(headers).filter((name) => name.startsWith('x-'))).toEqual([]);
});

it('a key of its own makes the same call of openai or octokit another act', async () => {
  const ofOpenai = await connect(OPENAI);
  const openai = await loadOpenai(folder, ofOpenai.agent.settings);
  const ofOctokit = await connect(OCTOKIT);
  const octokit = await loadOctokit(folder, ofOctokit.agent.settings);
  const ask = (key: string) =>
    openai.chat.completions.create(QUESTION, { headers: { 'Idempotency-Key': key } });
  const open = (key: string) =>
    octokit.rest.issues.create({
      ...REPOSITORY,
      title: 'Same',
      headers: { 'Idempotency-Key': key },
    });
  for (const key of ['1', '2']) await Promise.all([ask(key), open(key)]);
  expect(OPENAI.codeOf(await errorOf(ask('1')))).toBe('already_used');
  expect(OCTOKIT.codeOf(await errorOf(open('1')))).toBe('already_used');
  for (const { agent, standIn } of [ofOpenai, ofOctokit]) {
    expect(standIn.received).toHaveLength(2);
    expect(await agent.outcomes()).toEqual(['succeeded', 'succeeded']);
  }
});

it('openai reads a compressed answer', async () => {
  const { agent, standIn } = await connect(OPENAI);
  standIn.script((response) => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' });
    response.end(gzipSync(JSON.stringify({ id: 'größe' })));
  });
  const openai = await loadOpenai(folder, agent.settings);
  expect(await openai.models.retrieve('gpt-5')).toEqual({ id: 'größe' });
});

it('openai, stripe and slack read page after page', async () => {
  const file = (id: string) => ({ id, object: 'file' });
  const ofOpenai = await connect(OPENAI);
  ofOpenai.standIn.script(
    answers({ object: 'list', data: [file('file_1')], has_more: true }),
    answers({ object: 'list', data: [file('file_2')], has_more: false }),
  );
  const files: string[] = [];
  for await (const { id } of (await loadOpenai(folder, ofOpenai.agent.settings)).files.list({
    limit: 1,
  }))
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
  const stripe = await loadStripe(folder, ofStripe.agent.settings);
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
  const slack = await loadSlack(folder, ofSlack.agent.settings);
  for await (const page of slack.paginate('conversations.list', { limit: 1 }))
    pages.push('channels' in page && page.channels);
  expect(pages).toEqual([[{ id: 'C1' }], [{ id: 'C2' }]]);
  expect(ofSlack.standIn.received.map(({ body }) => body.toString())).toEqual([
    'limit=1',
    'limit=1&cursor=dGVhbQ%3D%3D',
  ]);
});

it('filesUploadV2 of Slack sends the key of the agent to another host, as the guide warns', async () => {
  const { agent, standIn } = await connect(SLACK);
  const files = await StandIn.start(answers({ ok: true }));
  standIn.script(answers({ ok: true, upload_url: `${files.origin}/upload`, file_id: 'F1' }));
  const slack = await loadSlack(folder, agent.settings);
  await slack.filesUploadV2({ content: 'text', filename: 'a.txt' });
  files.stop();
  expect(files.received.map(({ headers }) => headers.authorization)).toEqual([
    `Bearer ${agent.settings.key}`,
  ]);
});
