import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf as digestOfService } from '../../src/permissions/digest';
import { canonical, digestOf } from '../support/canonical-json';
import { depth } from '../support/depth';
import { makeAgent } from '../support/world';

const JSON_HEADERS = { 'Content-Type': 'application/json' };

describe('the digest of RFC 8785, compared with a second implementation', () => {
  it.each([
    ['1e21', '1e+21'],
    ['5e-324', '5e-324'],
    ['-0', '0'],
    ['-0.0e7', '0'],
    ['1E30', '1e+30'],
    ['4.50', '4.5'],
    ['2e-3', '0.002'],
    ['0.000000000000000000000000001', '1e-27'],
    ['1e-7', '1e-7'],
    ['0.000001', '0.000001'],
    ['999999999999999900000', '999999999999999900000'],
    [
      '"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/"',
      '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"',
    ],
    ['"\\u007f\\u2028\\u2029\\u0000"', '"\u007f\u2028\u2029\\u0000"'],
    [
      '{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"\\u00f6":7}',
      '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}',
    ],
    ['{"10":1,"9":2,"":3,"a":4,"A":5}', '{"":3,"10":1,"9":2,"A":5,"a":4}'],
    [
      '{"__proto__":{"a":1},"constructor":1,"toJSON":2}',
      '{"__proto__":{"a":1},"constructor":1,"toJSON":2}',
    ],
  ])('of %s is %s', async (raw, form) => {
    const { world, agent } = await makeAgent();
    const body = `{"action":"a.b","resource":"c:d","input":${raw}}`;
    const answer = await world.call('POST', '/v1/permissions', {
      token: agent.key,
      raw: body,
      headers: JSON_HEADERS,
    });
    expect(answer.status).toBe(201);
    expect(answer.body.input_digest).toBe(await digestOf(JSON.parse(raw)));
    const read = await agent.must(200, 'GET', `/v1/permissions/${answer.body.id}`);
    expect(canonical(read.body.input)).toBe(form);
    expect(read.text).toBe(answer.text);
  });

  it('is that of random values', async () => {
    const values = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' });
    await fc.assert(
      fc.asyncProperty(values, async (value) => {
        expect(await digestOfService(value)).toBe(await digestOf(value));
      }),
      { numRuns: depth.runs(300, 10_000), seed: 8785 },
    );
  });

  it('does not depend on the order of names', async () => {
    const { agent } = await makeAgent();
    const one = await agent.request({ input: { a: 1, b: { c: 2, d: 3 } } });
    const other = await agent.request({ input: { b: { d: 3, c: 2 }, a: 1 } });
    expect(one.input_digest).toBe(other.input_digest);
  });

  it('is that of the preview as it was sent', async () => {
    const { agent } = await makeAgent();
    const preview = { title: ' a\u202e', fields: [{ value: 'x', label: '' }], summary: '' };
    const asked = await agent.request({ preview });
    expect(asked.preview_digest).toBe(await digestOf(preview));
  });
});
