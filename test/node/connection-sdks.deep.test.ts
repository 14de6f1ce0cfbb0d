import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type ConnectedAgent, errorOf, SECRET, sdkScene } from '../support/local/sdk-scene';
import { type Part, SDKS, type Sdk } from '../support/local/sdks';
import {
  answers,
  cutsAfterHead,
  cutsBeforeHead,
  type ReceivedCall,
  type Reply,
} from '../support/local/stand-in';

const { folder, connect, foreignKey } = sdkScene();

/** What the stand-in receives of a client that has the credential and calls it directly. */
async function receivedDirectly(
  sdk: Sdk,
  { standIn }: ConnectedAgent,
  call: 'act' | 'read' | 'upload',
): Promise<ReceivedCall> {
  const settings = { baseUrl: standIn.origin + sdk.basePath, key: SECRET };
  await (await sdk.load(folder, settings))[call]();
  return standIn.received.pop() as ReceivedCall;
}

async function partsOf({ headers, body }: ReceivedCall): Promise<Part[]> {
  const type = headers['content-type'] ?? '';
  const message = new Response(new Uint8Array(body), { headers: { 'Content-Type': type } });
  const parts = [...(await message.formData())].map(async ([name, value]): Promise<Part> => {
    if (typeof value === 'string') return [name, value];
    return [name, await value.text(), value.name, value.type];
  });
  return await Promise.all(parts);
}

const refuses: Reply = answers({ error: { message: 'Slow down' }, message: 'Slow down' }, 429);
const ID = /^token_\w{26}$/;

describe.each(SDKS)('$name, set up as the guide says', (sdk) => {
  it('acts as it would without a connection', async () => {
    const { agent, standIn, calls } = await connect(sdk);
    expect(await calls.act()).toBeTruthy();
    const [received] = standIn.received as [ReceivedCall];
    const { path, contentType, accept, body } = sdk.act;
    expect([received.method, received.path]).toEqual(['POST', path]);
    expect(received.body.toString()).toBe(body);
    expect(received.headers).toMatchObject({ 'content-type': contentType, accept });
    expect(received.headers['idempotency-key']).toMatch(ID);
    const [permission] = await agent.permissions();
    expect(permission).toMatchObject({
      action: 'policy.act',
      outcome: { status: 'succeeded', summary: 'The other service answered 200.' },
    });
    expect(await agent.input()).toMatchObject({ method: 'POST', url: standIn.origin + path });

    const direct = await receivedDirectly(sdk, agent, 'act');
    expect([direct.method, direct.path]).toEqual([received.method, received.path]);
    expect(direct.headers).toMatchObject({ accept, 'content-type': contentType });
    if (contentType.includes('json')) expect(direct.body).toEqual(received.body);
    else expect(fieldsOf(direct)).toEqual(fieldsOf(received));
  });

  it('reads without asking', async () => {
    const { agent, standIn, calls } = await connect(sdk, { usual: answers(sdk.read.answer) });
    await calls.read();
    const [received] = standIn.received as [ReceivedCall];
    expect(`${received.method} ${received.path}`).toBe(sdk.read.call);
    expect(await agent.permissions()).toEqual([]);
    const direct = await receivedDirectly(sdk, agent, 'read');
    expect(queryOf(direct)).toEqual(queryOf(received));
    expect(fieldsOf(direct)).toEqual(fieldsOf(received));
  });

  it('sends files', async () => {
    const { agent, standIn, calls } = await connect(sdk, { usual: answers(sdk.upload.answer) });
    await calls.upload();
    const [received] = standIn.received as [ReceivedCall];
    const { path, type, body } = sdk.upload;
    expect([received.method, received.path]).toEqual(['POST', path]);
    expect(received.headers['content-type']).toMatch(type);
    const direct = await receivedDirectly(sdk, agent, 'upload');
    if (typeof body === 'string') {
      expect([received.body.toString(), direct.body.toString()]).toEqual([body, body]);
    } else {
      expect([await partsOf(received), await partsOf(direct)]).toEqual([body, body]);
    }
    expect(await agent.outcomes()).toEqual(['succeeded']);
  });

  it('shows its developer why a call was refused, and makes it once', async () => {
    const refusals = {
      connection_refused: { rules: [] },
      permission_denied: { action: 'never.act' },
      permission_pending: { action: 'people.act' },
    };
    for (const [code, fields] of Object.entries(refusals)) {
      const { standIn, calls } = await connect(sdk, fields);
      expect(sdk.codeOf(await errorOf(calls.act()))).toBe(code);
      expect(standIn.received).toEqual([]);
    }
    const { agent, standIn, calls } = await connect(sdk);
    await calls.act({ idempotencyKey: 'one' });
    expect(sdk.codeOf(await errorOf(calls.act({ idempotencyKey: 'one' })))).toBe('already_used');
    const stranger = { ...agent.settings, key: foreignKey() };
    const foreign = await errorOf((await sdk.load(folder, stranger)).act());
    expect(sdk.codeOf(foreign)).toBe('not_found');
    standIn.script(answers({ error: { message: 'no' } }, 401));
    expect(sdk.codeOf(await errorOf(calls.upload()))).toBe('connection_unauthorized');
    expect(standIn.received).toHaveLength(2);
  });

  it('gets the answer if a person approves the call while it waits', async () => {
    const { agent, standIn, calls } = await connect(sdk, { action: 'people.act', wait: 30 });
    const [answer] = await Promise.all([calls.act(), agent.decide('approve')]);
    expect(answer).toBeTruthy();
    expect(standIn.received).toHaveLength(1);
    expect(await agent.outcomes()).toEqual(['succeeded']);
  });

  it('shows its developer the reason why a person denies the call while it waits', async () => {
    const { agent, standIn, calls } = await connect(sdk, { action: 'people.act', wait: 30 });
    const [error] = await Promise.all([
      errorOf(calls.act()),
      agent.decide('deny', 'Wrong customer'),
    ]);
    expect(sdk.codeOf(error)).toBe('permission_denied');
    expect(JSON.stringify([error.message, error.body])).toContain('Wrong customer');
    expect(standIn.received).toEqual([]);
  });

  it('finds the approval that came later when it calls again, and acts once', async () => {
    const { agent, standIn, calls } = await connect(sdk, { action: 'people.act', wait: 1 });
    expect(sdk.codeOf(await errorOf(calls.act()))).toBe('permission_pending');
    await agent.decide('approve');
    expect(standIn.received).toEqual([]);
    expect(await calls.act({ idempotencyKey: 'later' })).toBeTruthy();
    expect(sdk.codeOf(await errorOf(calls.act({ idempotencyKey: 'later' })))).toBe('already_used');
    expect(standIn.received).toHaveLength(1);
    expect(await agent.outcomes()).toEqual(['succeeded']);
  });

  it('acts once if the answer is 500, and shows that answer', async () => {
    const { agent, standIn, calls } = await connect(sdk);
    standIn.script(answers({ error: { message: 'Broken' }, message: 'Broken' }, 500));
    const error = await errorOf(calls.act({ idempotencyKey: 'one' }));
    expect([error.status ?? error.statusCode, standIn.received.length]).toEqual([500, 1]);
    expect(await agent.outcomes()).toEqual(['unknown']);
    expect(sdk.codeOf(await errorOf(calls.act({ idempotencyKey: 'one' })))).toBe('already_used');
    expect(standIn.received).toHaveLength(1);
  });

  it('acts once if the connection is cut before the head of the answer', async () => {
    const { agent, standIn, calls } = await connect(sdk);
    standIn.script(cutsBeforeHead);
    const error = await errorOf(calls.act({ idempotencyKey: 'one' }));
    expect([sdk.codeOf(error), standIn.received.length]).toEqual(['connection_failed', 1]);
    expect(await agent.outcomes()).toEqual(['unknown']);
    expect(sdk.codeOf(await errorOf(calls.act({ idempotencyKey: 'one' })))).toBe('already_used');
    expect(standIn.received).toHaveLength(1);
  });

  it('acts once if the connection is cut in the body of the answer', async () => {
    const { agent, standIn, calls } = await connect(sdk);
    standIn.script(cutsAfterHead);
    // octokit takes half a body for an empty one.
    await calls.act({ idempotencyKey: 'one' }).catch(() => undefined);
    expect(standIn.received).toHaveLength(1);
    expect(await agent.outcomes()).toEqual(['succeeded']);
    expect(sdk.codeOf(await errorOf(calls.act({ idempotencyKey: 'one' })))).toBe('already_used');
    expect(standIn.received).toHaveLength(1);
  });

  it('acts once if the answer is lost on its way to the agent', async () => {
    const { fetch } = globalThis;
    onTestFinished(() => void vi.unstubAllGlobals());
    let tries = 0;
    vi.stubGlobal('fetch', async (...call: Parameters<typeof fetch>) => {
      const answer = await fetch(...call);
      const body = await answer.arrayBuffer();
      tries += 1;
      if (tries === 1) throw new TypeError('fetch failed');
      return new Response(body, answer);
    });
    const { agent, standIn, calls } = await connect(sdk);
    await errorOf(calls.act());
    expect([tries, standIn.received.length]).toEqual([sdk.triesAtLoss, 1]);
    expect(await agent.outcomes()).toEqual(['succeeded']);
  });

  it('gets the answer after a 429 that says when to try again', async () => {
    const { agent, standIn, calls } = await connect(sdk);
    standIn.script(answers({}, 429, { 'Retry-After': '1' }));
    expect(await calls.act()).toBeTruthy();
    expect([standIn.received.length, standIn.performed.length]).toEqual([2, 1]);
    expect(await agent.outcomes()).toEqual(['succeeded']);
  });

  it('gets a 429 that says nothing, and each of its own tries is an act that failed', async () => {
    const { agent, standIn, calls } = await connect(sdk);
    const tries = sdk.triesAt429;
    standIn.script(...Array<Reply>(tries).fill(refuses));
    await errorOf(calls.act());
    expect([standIn.received.length, standIn.performed.length]).toEqual([tries, 0]);
    expect(await agent.outcomes()).toEqual(Array(tries).fill('failed'));
    expect(await calls.act()).toBeTruthy();
    expect(standIn.performed).toHaveLength(1);
    expect((await agent.outcomes()).at(-1)).toBe('succeeded');
  });
});

/** The fields of a body, if it is a form. */
function fieldsOf({ headers, body }: ReceivedCall): [string, string][] {
  const isForm = headers['content-type']?.includes('urlencoded');
  return isForm ? [...new URLSearchParams(body.toString())] : [];
}

/** The path and the fields of the query. */
function queryOf({ path }: ReceivedCall) {
  const { pathname, searchParams } = new URL(path, 'http://host');
  return { pathname, fields: [...searchParams] };
}
