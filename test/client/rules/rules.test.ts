import { expect, it } from 'vitest';
import { type Rules, treatmentOf } from '../../../src/packages/client/rules/rules';

it('asks for a tool that no rule names, with an action and a resource made of its name', () => {
  const asked = { action: 'tool.send_mail', resource: 'tool:send_mail' };
  for (const rules of [
    {},
    { tools: {} },
    { tools: { send: 'allow', send_mail: 'ask' } },
  ] satisfies Rules[]) {
    expect(treatmentOf('send_mail', rules)).toEqual(asked);
  }
  expect(treatmentOf('Files.Read/ä', {})).toEqual({
    action: 'tool.files_read__',
    resource: 'tool:Files.Read/ä',
  });
  expect(treatmentOf('x'.repeat(200), {})).toMatchObject({ action: `tool.${'x'.repeat(123)}` });
});

it('takes the exact name first, then the longest pattern', () => {
  const tools: Rules['tools'] = {
    '*': 'deny',
    'read_*': 'allow',
    'read_*_secret': 'ask',
    read_my_secret: 'deny',
  };
  expect(treatmentOf('write', { tools })).toBe('deny');
  expect(treatmentOf('read_file', { tools })).toBe('allow');
  expect(treatmentOf('read_the_secret', { tools })).toMatchObject({
    action: 'tool.read_the_secret',
  });
  expect(treatmentOf('read_my_secret', { tools })).toBe('deny');
});

it('takes the strictest of equally long patterns, in any order', () => {
  const one: Rules['tools'] = { 'read_*': 'allow', '*_file': 'deny', '*_text': 'ask' };
  const other: Rules['tools'] = { '*_file': 'deny', '*_text': 'ask', 'read_*': 'allow' };
  for (const tools of [one, other]) {
    expect(treatmentOf('read_file', { tools })).toBe('deny');
    expect(treatmentOf('read_text', { tools })).toBeTypeOf('object');
  }
});

it('matches whole names, and takes every other character of a pattern as it is', () => {
  const tools: Rules['tools'] = { 'a.*': 'allow', '*(x)': 'allow', 'b*c*d': 'allow' };
  for (const name of ['a.', 'a.b\nc', 'y(x)', 'bcd', 'b1c2d'])
    expect(treatmentOf(name, { tools })).toBe('allow');
  for (const name of ['ab', 'xa.', 'y(x)z', 'yx', 'bdc'])
    expect(treatmentOf(name, { tools })).toBeTypeOf('object');
});

it('asks for a tool that has the name of a property of every object', () => {
  for (const name of ['constructor', '__proto__', 'toString']) {
    expect(treatmentOf(name, { tools: {} })).toMatchObject({ resource: `tool:${name}` });
  }
});

it('adds the defaults to a rule that asks, and lets the rule replace them', () => {
  const rules: Rules = {
    mode: 'suspend',
    wait: 5,
    tools: { send: { action: 'email.send', mode: 'wait' } },
  };
  expect(treatmentOf('send', rules)).toEqual({
    action: 'email.send',
    resource: 'tool:send',
    mode: 'wait',
    wait: 5,
  });
  expect(treatmentOf('other', rules)).toMatchObject({ mode: 'suspend', wait: 5 });
});

it('refuses a rule that is none', () => {
  for (const rule of ['Allow', true, null, undefined, 1]) {
    expect(() => treatmentOf('send', { tools: { send: rule as 'allow' } })).toThrow(TypeError);
  }
});
