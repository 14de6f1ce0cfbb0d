import { expect, it } from 'vitest';
import { LineReader, LongLine } from '../../../../src/packages/client/cli/mcp/lines';
import { parseRules, RulesError } from '../../../../src/packages/client/cli/mcp/rules-file';
import type { GuardOptions } from '../../../../src/packages/client/index';

const askOf = (file: object, tool: string) =>
  parseRules(JSON.stringify(file)).treatmentOf(tool) as GuardOptions<object>;

it('asks for every tool without rules', () => {
  expect(askOf({}, 'send')).toEqual({
    action: 'tool.send',
    resource: 'tool:send',
    wait: 45_000,
    tokenTtl: 3600,
  });
});

it('reads the rule of a tool', () => {
  const file = {
    default: 'deny',
    wait: '5s',
    expires_in: '10m',
    token_ttl: 60,
    tools: {
      'read_*': 'allow',
      pay: {
        action: 'payment.send',
        resource: 'account:{to}/{to}',
        scope: {
          amount: '{amount}',
          list: ['{to}', 1],
          note: 'to {to}',
          code: '{code}',
          fixed: null,
        },
        reason: 'Pay {to}',
        hide_input: true,
        expires_in: 60,
      },
    },
  };
  expect([askOf(file, 'read_it'), askOf(file, 'other')]).toEqual(['allow', 'deny']);
  const { resource, scope, reason, ...rest } = askOf(file, 'pay');
  expect(rest).toEqual({
    action: 'payment.send',
    hideInput: true,
    expiresIn: 60,
    tokenTtl: 60,
    wait: 5000,
  });
  const input = { to: '4711 {amount}', amount: 5 };
  const fill = (template: unknown) => (template as (input: object) => unknown)(input);
  expect(fill(resource)).toBe('account:4711 {amount}/4711 {amount}');
  expect(fill(reason)).toBe('Pay 4711 {amount}');
  // A limit whose argument is missing is left out, so that no policy with a condition on it
  // approves.
  expect(fill(scope)).toEqual({
    amount: 5,
    list: ['4711 {amount}', 1],
    note: 'to 4711 {amount}',
    fixed: null,
  });
});

it.each<[string | object, string]>([
  ['{', 'The rules are not JSON'],
  [[], 'The rules are not a JSON object.'],
  ['{"tools": {"pay": "deny", "pay": "allow"}}', 'tools.pay is given twice.'],
  [
    '{"tools": {"pay": {"scope": {"max": 9007199254740993}}}}',
    'tools.pay.scope.max would be rounded',
  ],
  [{ tool: {} }, 'tool is unknown. Known are: default, wait, expires_in, token_ttl, tools.'],
  ['{"__proto__":{}}', '__proto__ is unknown.'],
  [{ default: 'Allow' }, 'default must be "allow", "ask" or "deny".'],
  [{ wait: 4000 }, 'wait must be whole seconds from 0 to 3600, or a text such as "5m".'],
  [{ wait: '5' }, 'wait must be'],
  [{ wait: '2h' }, 'wait must be'],
  [{ tools: ['a'] }, 'tools must be an object'],
  [{ tools: { a: 'maybe' } }, 'tools["a"] must be "allow", "ask", "deny" or an object.'],
  [{ tools: { a: null } }, 'tools["a"] must be'],
  [{ tools: { a: { resources: 'x:y' } } }, 'tools["a"].resources is unknown.'],
  [
    { tools: { a: { effect: 'allow', action: 'a.b' } } },
    'tools["a"].action needs the effect "ask".',
  ],
  [{ tools: { a: { effect: true } } }, 'tools["a"].effect must be'],
  [{ tools: { a: { action: 'write' } } }, 'tools["a"].action must be two or more parts'],
  [{ tools: { a: { action: 'file.{name}' } } }, 'tools["a"].action must be'],
  [
    { tools: { a: { resource: '{kind}:x' } } },
    'tools["a"].resource must be a kind and an identifier',
  ],
  [{ tools: { '': 'deny' } }, 'tools[""] can match no tool'],
  [{ tools: { '\u200b ': 'deny' } }, 'can match no tool'],
  [{ tools: { ['x'.repeat(257)]: 'deny' } }, 'can match no tool'],
  [
    { tools: { a: { resource: 'file:{path} ' } } },
    'tools["a"].resource must be a kind and an identifier',
  ],
  [{ tools: { a: { resource: 'file:' } } }, 'tools["a"].resource must be'],
  [{ tools: { a: { resource: 'file:{}' } } }, 'tools["a"].resource must be'],
  [{ tools: { a: { scope: 'x' } } }, 'tools["a"].scope must be'],
  [{ tools: { a: { scope: { a: [{ b: '{}' }] } } } }, 'tools["a"].scope must be'],
  [{ tools: { a: { reason: '' } } }, 'tools["a"].reason must be'],
  [{ tools: { a: { hide_input: 1 } } }, 'tools["a"].hide_input must be true or false.'],
  [
    { tools: { a: { token_ttl: 29 } } },
    'tools["a"].token_ttl must be whole seconds from 30 to 604800, or a text such as "30m".',
  ],
])('refuses %j', (file, message) => {
  const text = typeof file === 'string' ? file : JSON.stringify(file);
  expect(() => parseRules(text)).toThrow(RulesError);
  expect(() => parseRules(text)).toThrow(message);
});

it('takes the stricter of two rules that a server could mistake for each other', () => {
  const rules = parseRules(
    JSON.stringify({ tools: { Read: 'allow', read: 'deny', 'a*': 'allow', 'A*': 'ask' } }),
  );
  expect([rules.treatmentOf('Read'), rules.treatmentOf('read'), rules.treatmentOf('READ')]).toEqual(
    ['allow', 'deny', 'deny'],
  );
  expect(rules.treatmentOf('ab')).toMatchObject({ action: 'tool.ab' });
});

it('asks for a tool in another spelling what the rule with its name says', () => {
  const rules = parseRules(
    JSON.stringify({ tools: { transfer: { action: 'payment.send' }, '*': 'ask' } }),
  );
  for (const name of ['transfer', 'Transfer', 'ＴＲＡＮＳＦＥＲ']) {
    expect(rules.treatmentOf(name)).toMatchObject({ action: 'payment.send' });
  }
});

it('puts lines together from any pieces, and keeps the ends of one that is too long', () => {
  const text = 'one\n\ntwo é\r\ntoo long\nlast\nrest';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const reader = new LineReader(7);
    const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    const lines: (string | string[])[] = [];
    for (let place = 0; place < bytes.length; place += size) {
      for (const line of reader.push(bytes.subarray(place, place + size)))
        lines.push(
          line instanceof LongLine ? [decode(line.start), decode(line.end)] : decode(line),
        );
    }
    expect(lines).toEqual([
      'one',
      '',
      'two é\r',
      [expect.stringMatching(/^too lon/), 'too long'],
      'last',
    ]);
    expect(decode(reader.push(Uint8Array.of(10))[0] as Uint8Array)).toBe('rest');
  }
});
