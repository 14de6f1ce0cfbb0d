import { describe, expect, it } from 'vitest';
import { LineReader } from '../../../../src/packages/client/cli/mcp/lines';
import { World } from '../../../support/world';
import { Session, stage } from './stage';

const RULES = {
  wait: 0,
  tools: { 'read_*': 'allow', 'delete_*': 'deny', write_file: { resource: 'file:{path}' } },
};

/** A session whose service must not be called. */
function offline(rules: object = RULES): Session {
  const session = new Session(new World(), 'csa_unused', rules);
  session.fetch = async () => {
    throw new Error('asked');
  };
  return session;
}

const call = (name: unknown, more: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: {}, ...more },
});

describe('messages that pass', () => {
  it.each([
    '{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"é","version":"1"}},"jsonrpc":"2.0","id":0}',
    '{"jsonrpc":"2.0","id":"a","method":"tools/list"}',
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"b":1,"a":[1.5,null,"\\ud800"]}}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file"}}',
    '{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
    '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file"}}]',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
  ])('reach the server byte by byte: %s', (line) => {
    const session = offline();
    session.send(line);
    expect([session.toServer, session.toClient]).toEqual([[line], []]);
  });

  it('are read once, and written as they were understood', () => {
    const session = offline();
    session.send('{"jsonrpc":"2.0", "id":0.0, "method":"ping"}\r');
    session.send(' \t\r');
    session.send(
      '{ "jsonrpc":"2.0", "id":1, "method":"ping", "params":\r{"jsonrpc":"2.0","id":2,"method":"tools/call"}\r}',
    );
    expect(session.toServer).toEqual([
      '{"jsonrpc":"2.0","id":0,"method":"ping"}',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"jsonrpc":"2.0","id":2,"method":"tools/call"}}',
    ]);
  });
});

it('a message with a string of millions of escapes passes', () => {
  const session = offline();
  const path = '\\"'.repeat(2_000_000);
  const line = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"1e5${path}"}}}`;
  session.send(line);
  expect(session.toServer).toEqual([line]);
});

describe('messages that never reach the server', () => {
  it.each<[string, string | object, unknown, number]>([
    ['no JSON', '{"jsonrpc"', null, -32_700],
    [
      'two messages in a line',
      '{"jsonrpc":"2.0","method":"a"} {"jsonrpc":"2.0","method":"b"}',
      null,
      -32_700,
    ],
    ['a byte order mark', '\ufeff{"jsonrpc":"2.0","id":0,"method":"ping"}', 0, -32_700],
    ['a value that is no object', '"tools/call"', null, -32_600],
    ['an empty batch', '[]', null, -32_600],
    ['a batch in a batch', [[call('read_file')]], null, -32_600],
    ['another version', { ...call('read_file'), jsonrpc: '1.0' }, 1, -32_600],
    ['an unknown field', { ...call('read_file'), Method: 'tools/call' }, 1, -32_600],
    ['a method in upper case', { jsonrpc: '2.0', id: 1, method: 'tools/Call' }, 1, -32_600],
    ['a method with a space', { jsonrpc: '2.0', id: 1, method: 'tools/call ' }, 1, -32_600],
    ['a method in wide letters', { jsonrpc: '2.0', id: 1, method: 'tools／call' }, 1, -32_600],
    ['two methods', '{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping"}', 1, -32_600],
    ['a method that is no text', { jsonrpc: '2.0', id: 1, method: ['tools/call'] }, 1, -32_600],
    ['a request that is a response', { ...call('read_file'), result: {} }, 1, -32_600],
    [
      'a response with parameters',
      { jsonrpc: '2.0', id: 1, result: {}, params: {} },
      null,
      -32_600,
    ],
    ['an id of null', { ...call('read_file'), id: null }, null, -32_600],
    [
      'an id of null of another request',
      { jsonrpc: '2.0', id: null, method: 'ping' },
      null,
      -32_600,
    ],
    ['an id of null in a batch', [{ ...call('read_file'), id: null }], null, -32_600],
    ['an id with a fraction', { ...call('read_file'), id: 1.5 }, null, -32_600],
    ['an id beyond 2^53', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', null, -32_600],
    [
      'an inexact argument',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"id":9007199254740993}}}',
      1,
      -32_600,
    ],
    [
      'an argument with a fraction that a double rounds',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"id":0.1000000000000000055}}}',
      1,
      -32_600,
    ],
    [
      'an argument that is given twice',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"a":1,"\\u0061":2}}}',
      1,
      -32_600,
    ],
    [
      'an infinite argument',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"id":1e999}}}',
      1,
      -32_600,
    ],
    ['params that are a list', { ...call('read_file'), params: ['read_file'] }, 1, -32_602],
    ['params that are null', { ...call('read_file'), params: null }, 1, -32_602],
    ['no params', { jsonrpc: '2.0', id: 1, method: 'tools/call' }, 1, -32_602],
    ['an unknown parameter', call('read_file', { Name: 'write_file' }), 1, -32_602],
    ['a parameter that folds to a known one', call('read_file', { argumentſ: {} }), 1, -32_602],
    [
      'the prototype as a parameter',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"__proto__":{"name":"read_file"}}}',
      1,
      -32_602,
    ],
    ['a name that is no text', call(['read_file']), 1, -32_602],
    ['an empty name', call(''), 1, -32_602],
    ['a long name', call('read_'.padEnd(257, 'x')), 1, -32_602],
    ['an unseen character in the name', call('read_file\u200b'), 1, -32_602],
    [
      'a lone surrogate in the name',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_\\ud800"}}',
      1,
      -32_602,
    ],
    ['arguments that are a list', call('read_file', { arguments: [] }), 1, -32_602],
    ['arguments that are null', call('read_file', { arguments: null }), 1, -32_602],
    ['_meta that is a text', call('read_file', { _meta: 'a' }), 1, -32_602],
  ])('%s', (_, message, id, code) => {
    const session = offline();
    expect(session.refused(message)).toEqual([
      {
        jsonrpc: '2.0',
        id,
        error: { code, message: expect.stringMatching(/^[\p{L}\p{N}\p{P} ^$+[\]]+\.$/u) },
      },
    ]);
  });

  it('bytes that are not UTF-8, answered with the id where there is one', () => {
    const session = offline();
    const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
    session.gate.fromClient(bytes('"\xff"'));
    session.gate.fromClient(
      bytes('{"jsonrpc":"2.0","method":"ping","params":{"a":"\xff"},"id":"a"}'),
    );
    session.gate.fromClient(bytes('{"jsonrpc":"2.0","method":"note","params":{"a":"\xff"}}'));
    session.gate.fromClient(bytes('{"jsonrpc":"2.0","result":{"a":"\xff"},"id":5}'));
    expect(session.toClient.map(({ id, error }) => [id, error.code])).toEqual([
      [null, -32_700],
      ['a', -32_700],
      [null, -32_700],
    ]);
    expect(session.toServer).toEqual([]);
  });

  it.each<[string, string, unknown]>([
    [
      'a request with its id at the end',
      '{"method":"tools/call","params":{"a":"…"},"jsonrpc":"2.0","id":7}',
      7,
    ],
    [
      'a request with its id first',
      '{"jsonrpc":"2.0","id":"a\\"b","method":"x","params":{"a":"…"}}',
      'a"b',
    ],
    ['a request with an id of 0', '{"id":0,"method":"x","params":{"a":"…","id":9}}', 0],
    [
      'an id within the arguments',
      '{"jsonrpc":"2.0","method":"x","params":{"a":"…","b":{"id":7}}}',
      null,
    ],
    [
      'a text that looks like an id',
      '{"jsonrpc":"2.0","method":",\\"id\\":7,","params":{"a":"…,\\"id\\":8}"}}',
      null,
    ],
    ['a response, whose id is of the server', '{"jsonrpc":"2.0","id":7,"result":{"a":"…"}}', null],
    ['a response with its id at the end', '{"result":{"method":"…"},"jsonrpc":"2.0","id":7}', null],
    ['a notification', '{"jsonrpc":"2.0","method":"x","params":{"a":"…"}}', null],
  ])('%s that is too long, answered with its id where it can be known', (_, line, id) => {
    const session = offline();
    const reader = new LineReader(4_000);
    const text = `${line.replace('…', 'x'.repeat(9_000))}\n`;
    const bytes = new TextEncoder().encode(text);
    for (let place = 0; place < bytes.length; place += 700) {
      for (const read of reader.push(bytes.subarray(place, place + 700)))
        session.gate.fromClient(read);
    }
    expect(session.toClient).toEqual([
      { jsonrpc: '2.0', id, error: { code: -32_700, message: 'The line is too long.' } },
    ]);
    expect(session.toServer).toEqual([]);
  });

  it('a call without an id, which gets no answer', () => {
    const { id: _, ...notification } = call('read_file');
    const session = offline();
    expect(session.refused(notification)).toEqual([]);
    expect(session.notices).toEqual([
      'refused a message of the client: tools/call without an id is not allowed.',
    ]);
  });

  it('a message that holds agent texts shows them in one line to people', () => {
    const session = offline();
    session.refused({ ...call('read_file'), 'a\n\u001b[2J\u202e': 1 });
    expect(session.notices).toEqual([
      'refused a message of the client: The field "a\\n\\u001b[2J\\u202e" is unknown.',
    ]);
  });
});

describe('tools by the rules', () => {
  const DENIED =
    /The rules of this server deny it\. Do not try again or in another way, and tell your user\.$/;

  it('denies what a rule denies, also in another spelling', async () => {
    const session = offline({ default: 'allow', ...RULES });
    for (const name of [
      'delete_file',
      'Delete_file',
      'DELETE_FILE',
      'ｄelete_file',
      'delete_ file',
      ' delete_file ',
    ]) {
      expect([name, await session.call(name)]).toEqual([name, expect.stringMatching(DENIED)]);
    }
    expect(await session.call('other', { a: 1 })).toEqual({ a: 1 });
    expect(session.requests).toEqual([]);
  });

  it('asks for a name that a rule does not fit exactly', async () => {
    const session = offline();
    for (const name of [
      'Read_file',
      'ｒead_file',
      'xread_file',
      'read',
      'constructor',
      '__proto__',
    ]) {
      expect([name, await session.call(name)]).toEqual([
        name,
        expect.stringContaining('did not answer'),
      ]);
    }
    expect(session.toServer).toEqual([]);
  });

  it('keeps calls apart in a batch', async () => {
    const session = offline();
    const messages = [
      { jsonrpc: '2.0', id: 'p', method: 'ping' },
      { ...call('write_file', { arguments: { path: '/a' } }), id: 'w' },
      { ...call('read_file'), id: 'r' },
      { ...call('delete_file'), id: 'd' },
      'tools/call',
    ];
    session.send(messages);
    expect(session.toServer.splice(0)).toEqual([JSON.stringify([messages[0], messages[2]])]);
    while (session.toClient.length < 3) await session.change();
    expect(session.toClient.map(({ id, error }) => [id, error?.code])).toEqual([
      ['d', undefined],
      [null, -32_600],
      ['w', undefined],
    ]);
    expect(session.toServer).toEqual([]);
  });

  it('fills in a rule only with arguments that cannot be mistaken', async () => {
    const session = offline();
    expect(await session.call('write_file', {})).toContain('The argument path is missing.');
    expect(await session.call('write_file', { Path: '/a' })).toContain(
      'The argument path is missing.',
    );
    expect(await session.call('write_file', { path: '/a', PATH: '/b' })).toContain(
      'Several arguments are spelled like path.',
    );
    expect(await session.call('write_file', { path: { a: 1 } })).toContain(
      'must be a text, a number or a boolean.',
    );
    expect(session.requests).toEqual([]);
  });
});

describe('arguments', () => {
  it('run as they were approved: no prototype, in canonical order', async () => {
    const { start, waiting, decide } = await stage({ wait: 0 });
    const session = start();
    const line =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"b":"safe","a":1,"__proto__":{"x":1}}}}';
    session.send(line);
    await session.change();
    expect(JSON.stringify((await waiting()).input_digest)).toBeTruthy();
    await decide('approve');
    session.send(line.replace('"id":1', '"id":2'));
    await session.change();
    expect(session.toServer).toEqual([
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{"__proto__":{"x":1},"a":1,"b":"safe"}}}',
    ]);
  });

  it.each([
    [
      'a lone surrogate',
      '{"a":"\\ud800"}',
      'input.a is a string with a lone surrogate, which JSON cannot hold.',
    ],
    [
      'a lone surrogate as a name',
      '{"\\udfff":1}',
      'input: a key is a string with a lone surrogate',
    ],
    ['deep nesting', `${'{"a":'.repeat(1e5)}1${'}'.repeat(1e5)}`, 'was not run'],
  ])('are refused with %s', async (_, args, message) => {
    const session = offline();
    const line = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":${args}}}`;
    session.send(line);
    await session.change();
    const [answer] = session.toClient;
    expect(answer.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining(message) }],
    });
    expect([session.toServer, session.requests]).toEqual([[], []]);
  });
});

it('answers a call that makes a task with an error, and a modern call with the type of its result', async () => {
  const session = offline();
  const modern = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
  expect(await session.call('delete_file', {}, { task: { ttl: 1 } })).toMatchObject({
    code: -32_000,
  });
  expect(session.refused(call('delete_file', modern)).at(-1).result).toMatchObject({
    isError: true,
    resultType: 'complete',
  });
  expect(session.refused(call('delete_file'))[0].result).toEqual({
    isError: true,
    content: [expect.anything()],
  });
});

describe('a call that the server answers with a question', () => {
  const modern = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
  const answers = { inputResponses: { q: { action: 'accept' } }, requestState: 's1' };
  const LOST =
    /It answers questions of a call that is not known here, .* Call it again without inputResponses\.$/;

  async function askedBack(state: { requestState?: string } = { requestState: 's1' }) {
    const { start, decide, requests } = await stage({ wait: 0 });
    const session = start();
    await session.call('t', { a: 1 }, modern);
    await decide('approve');
    await session.call('t', { a: 1 }, modern);
    const { id } = JSON.parse(session.toServer[0] as string);
    const result = { resultType: 'input_required', inputRequests: {}, ...state };
    session.gate.fromServer(
      new TextEncoder().encode(JSON.stringify({ jsonrpc: '2.0', id, result })),
    );
    return { session, requests };
  }

  it('goes on once with the answers, as the call that was approved', async () => {
    const { session, requests } = await askedBack();
    expect(await session.call('t', { a: 1 }, { ...modern, ...answers })).toEqual({ a: 1 });
    expect(JSON.parse(session.toServer[1] as string).params).toMatchObject(answers);
    expect(await session.call('t', { a: 1 }, { ...modern, ...answers })).toMatch(LOST);
    expect(await requests()).toHaveLength(1);
  });

  it('goes on without a state if the server gave none', async () => {
    const { session } = await askedBack({});
    const { requestState: _, ...stateless } = answers;
    expect(await session.call('t', { a: 1 }, { ...modern, ...answers })).toMatch(LOST);
    expect(await session.call('t', { a: 1 }, { ...modern, ...stateless })).toEqual({ a: 1 });
  });

  it('does not pass by the state that the server gave to another call with its id', async () => {
    const { start, decide } = await stage({ wait: 0, tools: { look: 'allow' } });
    const session = start();
    await session.call('pay', { a: 1 }, modern);
    await decide('approve');
    const request = (name: string, more: object = {}) => ({
      ...{ jsonrpc: '2.0', id: 7, method: 'tools/call' },
      params: { name, arguments: { a: 1 }, ...modern, ...more },
    });
    session.send(request('pay'));
    await session.change();
    session.toClient.length = 0;
    expect(session.toServer).toHaveLength(1);
    // While pay runs as 7, no request of any kind is sent with this id.
    for (const message of [request('look'), { jsonrpc: '2.0', id: 7, method: 'ping' }]) {
      expect(session.refused(message)).toMatchObject([
        { id: 7, error: { code: -32_600, message: 'A request with this id is not answered yet.' } },
      ]);
    }
    expect(session.refused([request('look'), request('look')])).toHaveLength(2);
    // Not even after the client cancelled it: the server may answer it all the same.
    session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
    session.toServer.length = 0;
    expect(session.refused(request('look'))).toMatchObject([{ id: 7, error: { code: -32_600 } }]);
    const answer = (result: object) =>
      session.gate.fromServer(
        new TextEncoder().encode(JSON.stringify({ jsonrpc: '2.0', id: 7, result })),
      );
    answer({ resultType: 'complete' });

    session.send(request('look'));
    expect(session.toServer).toHaveLength(1);
    answer({ resultType: 'input_required', inputRequests: {}, requestState: 's1' });
    session.toServer.length = 0;
    const texts = [
      request('pay', answers),
      request('look', { ...answers, arguments: { a: 2 } }),
    ].map((message) => session.refused(message)[0].result.content[0].text);
    for (const text of texts) expect(text).toMatch(LOST);
    const read = {
      jsonrpc: '2.0',
      id: 8,
      method: 'resources/read',
      params: { uri: 'a:b', ...answers },
    };
    expect(session.refused(read)).toMatchObject([{ id: 8, error: { code: -32_602 } }]);
    session.send(request('look', answers));
    expect(session.toServer).toHaveLength(1);
    answer({ resultType: 'complete' });
    session.toServer.length = 0;
    expect(session.refused(request('look', answers))[0].result.content[0].text).toMatch(LOST);
  });

  it('of another method goes on with its own state only', () => {
    const session = offline();
    const read = (uri: string, more: object = {}) => ({
      ...{ jsonrpc: '2.0', id: uri, method: 'resources/read' },
      params: { uri, ...modern, ...more },
    });
    session.send(read('a:b'));
    const result = { resultType: 'input_required', inputRequests: {}, requestState: 's1' };
    session.gate.fromServer(
      new TextEncoder().encode(JSON.stringify({ jsonrpc: '2.0', id: 'a:b', result })),
    );
    expect(session.refused(read('a:c', answers))).toMatchObject([
      { id: 'a:c', error: { code: -32_602 } },
    ]);
    session.send(read('a:b', answers));
    expect(session.toServer).toHaveLength(2);
  });

  it('does not go on with other arguments, another tool, another state or another process', async () => {
    const { session } = await askedBack();
    expect(await session.call('t', { a: 2 }, { ...modern, ...answers })).toMatch(LOST);
    expect(await session.call('u', { a: 1 }, { ...modern, ...answers })).toMatch(LOST);
    expect(
      await session.call('t', { a: 1 }, { ...modern, ...answers, requestState: 's2' }),
    ).toMatch(LOST);
    expect(await offline().call('t', { a: 1 }, { ...modern, ...answers })).toMatch(LOST);
    expect(session.toServer).toHaveLength(1);
  });
});
