import { env } from 'cloudflare:test';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findJsonLosses } from '../../src/lib/exact-json';
import { jsonDepth, jsonSize } from '../../src/lib/json';
import { expectedRow, makeExport, parseFile } from '../support/exports';
import { checkIntegrity } from '../support/integrity';
import { openReport, readReport, startReport } from '../support/reports';
import { sealLogs } from '../support/seal';
import { asIdentifier } from '../support/texts';
import { makeWebhook, verify } from '../support/webhooks';
import { type Json, type TestAccount, World } from '../support/world';

const SCOPE_BYTES = 2 * 1024;
const SCOPE_LEVELS = 10;

/** Names with a meaning for programs, for the service or for its files. */
const NAMES = [
  ...[
    '__proto__',
    'constructor',
    'toString',
    'toJSON',
    'then',
    'length',
    'hasOwnProperty',
    '',
    '0',
    '-1',
    '4294967295',
  ],
  ...[
    'policy_id',
    'resource',
    'decided_by',
    'scope',
    'expired',
    'a.b',
    '"',
    '\\',
    ',',
    '=1+1',
    '😀',
    '\u2028',
    '\u0001',
  ],
].map((name) => JSON.stringify(name));

const SCALARS = [
  ...[
    'null',
    'true',
    'false',
    '0',
    '-0',
    '-0.0',
    '1e308',
    '-1.7976931348623157e308',
    '5e-324',
    '1e-300',
    '1E+2',
  ],
  ...['9007199254740992', '0.1', '123e27', '""', '"\\u0041\\/"', '"\\ud83d\\ude00"', '"\u2028"'],
  ...[
    '"=cmd()"',
    '"\\r\\n\\t"',
    '"\\u0001\\u001f\\u007f\\ufffd\\uffff"',
    '"\\",\\"resource\\":\\"x"',
    '"policy_x"',
  ],
];

/** JSON texts in every valid spelling, not only that of `JSON.stringify`. */
const { scope: scopes } = fc.letrec<{ value: string; list: string; scope: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...SCALARS),
    fc
      .string({ unit: 'binary', maxLength: 20 })
      .map((text) => JSON.stringify(text.replaceAll('\0', ''))),
    tie('list'),
    tie('scope'),
  ),
  list: fc.array(tie('value'), { maxLength: 5 }).map((members) => `[ ${members.join()}]`),
  scope: fc
    .array(fc.tuple(fc.constantFrom(...NAMES), tie('value')), { maxLength: 6 })
    .map((members) => `{${members.map(([name, value]) => `${name} :${value}`).join()}\n}`),
}));

const around = (open: string, inner: string, close: string, levels: number) =>
  open.repeat(levels) + inner + close.repeat(levels);

/** Scopes at the limits of size and depth. */
const edges = fc.constantFrom(
  '{}',
  around('{"__proto__":', '{}', '}', SCOPE_LEVELS - 1),
  `{"":${around('[', '', ']', SCOPE_LEVELS - 1)}}`,
  around('{"0":', '"x"', '}', SCOPE_LEVELS),
  `{"a":"${'x'.repeat(SCOPE_BYTES - 8)}"}`,
  `{"a":"${'😀'.repeat((SCOPE_BYTES - 8) / 4)}"}`,
  `{"a":"${'\\"'.repeat((SCOPE_BYTES - 8) / 2)}"}`,
  `{"a":[${'1,'.repeat((SCOPE_BYTES - 9) / 2)}1]}`,
  `{"a":[${'[],'.repeat((SCOPE_BYTES - 12) / 3)}[]]}`,
  `{${Array.from({ length: 250 }, (_, i) => `"${i + 100}":0`).join()}}`,
);

function isAccepted(scope: string): boolean {
  const value = JSON.parse(scope);
  const [loss] = findJsonLosses(scope);
  return !loss && jsonDepth(value) <= SCOPE_LEVELS && jsonSize(value) <= SCOPE_BYTES;
}

/** Texts that a spreadsheet, a file format or a header might misread. */
function texts(max: number): fc.Arbitrary<string> {
  const odd = fc.constantFrom(
    '=1+1',
    '+1',
    '-1',
    '@a',
    '\t',
    '\r',
    '\n',
    '\r\n',
    '"',
    '""',
    "'",
    ',',
    '\\',
    '\u2028',
    '😀',
  );
  return fc
    .oneof(
      fc
        .array(fc.oneof(odd, fc.string({ unit: 'binary', maxLength: 5 })), { maxLength: 8 })
        .map((parts) => parts.join('')),
      fc.constantFrom(
        'x'.repeat(max),
        '😀'.repeat(max),
        '"'.repeat(max),
        '\r\n'.repeat(max / 2),
        '\u0001'.repeat(max),
      ),
    )
    .map((text) => [...text.replaceAll('\0', '')].slice(0, max).join(''));
}

const lives = fc.record({
  action: fc.constantFrom('email.send', '-.-', '0.1', `a.${'b'.repeat(126)}`),
  kind: fc.constantFrom('mailbox', '-', '0', '_', 'constructor'),
  identifier: texts(500).map(asIdentifier),
  scope: fc.oneof(scopes, edges).filter(isAccepted),
  reason: texts(1_000),
  decision: texts(1_000),
  userAgent: fc.oneof(
    fc.constantFrom('', '=1+1', '"a", b', '-x', "'", 'Zoë', 'x'.repeat(5_000)),
    fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
      maxLength: 60,
    }),
  ),
  narrows: fc.boolean(),
  fate: fc.constantFrom('wait', 'approve', 'use', 'revoke', 'unused', 'undecided', 'deny'),
});

type Life = typeof lives extends fc.Arbitrary<infer L> ? L : never;

async function live(world: World, account: TestAccount, key: string, life: Life): Promise<void> {
  const { action, kind, identifier, scope, reason, decision, userAgent, narrows, fate } = life;
  const fields = {
    action,
    resource: `${kind}:${identifier}`,
    reason,
    expires_in: fate === 'undecided' ? 60 : 86_400,
  };
  const raw = `${JSON.stringify(fields).slice(0, -1)},"token_ttl":${fate === 'unused' ? 30 : 3_600},"scope":${scope}}`;
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': userAgent,
    'CF-Connecting-IP': '2001:db8::1',
  };
  const { id } = (await world.must(201, 'POST', '/v1/permissions', { token: key, raw, headers }))
    .body;
  world.advance(7_000);
  if (fate === 'deny')
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`, { reason: decision });
  if (!['approve', 'use', 'revoke', 'unused'].includes(fate)) return;
  const narrowed = { ...JSON.parse(scope), added: 0 };
  const approval =
    narrows && jsonSize(narrowed) <= SCOPE_BYTES ? { scope: narrowed } : { reason: decision };
  await account.must(200, 'POST', `/v1/permissions/${id}/approve`, approval);
  const { token } = (await world.must(200, 'GET', `/v1/permissions/${id}`, { token: key })).body;
  const call = { token: key, body: { token: token.value }, headers: { 'User-Agent': userAgent } };
  if (fate === 'use') await world.must(200, 'POST', '/v1/tokens/use', call);
  if (fate === 'revoke')
    await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: token.id, reason: decision });
}

/** The expected cell of a text in a CSV file. */
function cell(text: string): string {
  return /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
}

async function expectExported(account: TestAccount, log: Json[]): Promise<void> {
  for (const format of ['csv', 'json', 'parquet']) {
    for (const include_details of [false, true]) {
      const { shown, bytes } = await makeExport(account, { format, include_details });
      expect([format, shown.status]).toEqual([format, 'completed']);
      const rows = await parseFile(format, bytes);
      const expected = log.map((entry) => {
        const row = expectedRow(entry, include_details);
        const { action, resource, user_agent } = row;
        if (format !== 'csv') return row;
        return {
          ...row,
          action: cell(action),
          resource: cell(resource),
          user_agent: cell(user_agent),
        };
      });
      expect(rows.map((row) => canonicalize(row))).toEqual(
        expected.map((row) => canonicalize(row)),
      );
    }
  }
}

async function expectReported(account: TestAccount, log: Json[], format: string): Promise<void> {
  const id = await startReport(account, { format });
  await account.world.work();
  expect((await readReport(account, id)).status).toBe('completed');
  if (format === 'pdf') return;
  const { summary, sample } = await openReport(account, id);
  expect(summary.entries).toBe(log.length);
  const entries = new Map(log.map((entry) => [entry.id, canonicalize(entry)]));
  for (const entry of sample) expect(canonicalize(entry)).toBe(entries.get(entry.id));
}

async function expectProven(account: TestAccount, log: Json[]): Promise<void> {
  await sealLogs(env.DB);
  for (const entry of log) {
    expect(canonicalize((await account.must(200, 'GET', `/v1/audit/${entry.id}`)).body)).toBe(
      canonicalize(entry),
    );
    const { body } = await account.must(200, 'GET', `/v1/audit/${entry.id}/proof`);
    const { salt, ...sealed } = JSON.parse(
      new TextDecoder().decode(Uint8Array.fromBase64(body.leaf_input)).slice(1),
    );
    expect(salt).toMatch(/^[0-9a-f]{32}$/);
    expect(canonicalize(sealed)).toBe(canonicalize(entry));
  }
}

async function expectListed(account: TestAccount, sent: Map<string, string>): Promise<void> {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Json = (
      await account.must(200, 'GET', `/v1/permissions?limit=7${cursor && `&cursor=${cursor}`}`)
    ).body;
    for (const { id, scope } of page.data) {
      expect(JSON.stringify(scope)).toBe(sent.get(id));
      await account.must(200, 'GET', `/v1/permissions/${id}`);
      sent.delete(id);
    }
    cursor = page.next_cursor;
  }
  expect(sent.size).toBe(0);
}

let runs = 0;

it('extreme values from an agent can be listed, exported, reported, proven and delivered', {
  timeout: 60_000,
}, async () => {
  const anyLives = fc.array(lives, { minLength: 14, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(anyLives, async (some) => {
      const world = new World();
      const account = await world.account({ plan: 'enterprise' });
      const agent = await account.agent();
      const webhook = await makeWebhook(account, { events: ['audit.created'] });
      for (const life of some) await live(world, account, agent.key, life);
      world.advance(120_000);
      await world.sweep();
      const log = await account.log();
      const requests = log.filter(({ event_type }) => event_type === 'request');
      const scopesSent = requests.map((request, i) => {
        const scope = JSON.stringify(JSON.parse(some[i]?.scope ?? ''));
        expect(JSON.stringify(request.details.scope)).toBe(scope);
        expect(request.details.resource).toBe(`${some[i]?.kind}:${some[i]?.identifier}`);
        return [request.permission_request_id, scope] as const;
      });
      expect(requests).toHaveLength(some.length);
      await expectListed(account, new Map(scopesSent));
      await expectExported(account, log);
      await expectReported(account, log, 'json');
      runs += 1;
      if (runs === 1) await expectReported(account, log, 'pdf');
      await expectProven(account, log);
      await world.deliver();
      const messages = world.internet
        .sentTo(webhook.host)
        .map((message) => verify(webhook.secret, message, world.now));
      const delivered = new Map(messages.map(({ data }) => [data.id, canonicalize(data.details)]));
      expect(delivered).toEqual(new Map(log.map(({ id, details }) => [id, canonicalize(details)])));
    }),
    { numRuns: 2, seed: 20_261_122, endOnFailure: true },
  );
  expect(await checkIntegrity(env.DB)).toEqual([]);
});
