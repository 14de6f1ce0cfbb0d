import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/packages/client/cli/commands.ts';
import { drawInbox } from '../../src/packages/client/cli/inbox/draw-inbox.ts';
import { type InboxState, takeKey } from '../../src/packages/client/cli/inbox/inbox-state.ts';
import { runInbox } from '../../src/packages/client/cli/inbox/run-inbox.ts';
import { Names } from '../../src/packages/client/cli/names.ts';
import { formatPermission } from '../../src/packages/client/cli/permission-card.ts';
import type { Session } from '../../src/packages/client/cli/session.ts';
import { escapeText, printableJson } from '../../src/packages/client/cli/terminal/escape.ts';
import { styleFor } from '../../src/packages/client/cli/terminal/style.ts';
import { formatTable } from '../../src/packages/client/cli/terminal/table.ts';
import { formatTimeLeft } from '../../src/packages/client/cli/terminal/time.ts';
import { widthOf, wrapText } from '../../src/packages/client/cli/terminal/width.ts';
import { readDuration } from '../../src/packages/client/cli/values.ts';
import { systemClock } from '../../src/packages/client/clock.ts';
import type { Permission } from '../../src/packages/client/index.ts';
import { type Answers, problem, runInProcess } from '../support/cli';

const folder = mkdtempSync(join(tmpdir(), 'countersign-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Characters with which a text takes over a terminal, or reads in another way than it is. */
const HOSTILE = '\x1b[2J\x9b31m\u202eevil\u2066\u200b\r\x07\u2028\u{e0041}\ud800\x7f';
const ACTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{DI}]/u;

const ID = 'perm_01m7x1m1tre75vaz5yvpbmvt6m';
const pending: Permission = {
  id: ID,
  agent_id: 'agent_01m7x1m1tre75vaz5yvpbmvt6m',
  action: 'email.send',
  resource: 'mailbox:support',
  scope: { max_recipients: 50, domains: ['a.example', 'b.example'] },
  granted_scope: null,
  reason: null,
  status: 'pending',
  ...{ decided_by: null, decided_at: null, decision_reason: null, policy_id: null, token: null },
  expires_at: '2026-01-31T13:00:00.000Z',
  created_at: '2026-01-31T12:00:00.000Z',
  updated_at: '2026-01-31T12:00:00.000Z',
  ...{
    title: null,
    input_digest: null,
    preview_digest: null,
    external_id: null,
    connection_id: null,
    review: null,
  },
  ...{ series: null, granted_series: null },
  outcome: null,
};
const plain = styleFor({} as never, { env: {} });
const names = new Names({} as never);

describe('arguments', () => {
  it.each([
    [[], 'Name a command'],
    [['aprove'], 'aprove is not a command'],
    [['constructor'], 'constructor is not a command'],
    [['audit'], 'Name a command of audit'],
    [['audit', 'lst'], 'Name a command of audit'],
    [['approve'], 'ID'],
    [['approve', ID, '--resaon', 'x'], "'--resaon'"],
    [['approve', ID, 'more'], 'more'],
    [['approve', ID, '--reason'], '--reason'],
    [['approve', ID, '--reason='], '--reason'],
    [['approve', ID, '--reason', 'a', '--reason', 'b'], '--reason is given 2 times'],
    [['approve', ID, '--token-ttl', '15x'], '--token-ttl'],
    [['approve', ID, '--max-uses', '0'], '--max-uses'],
    [['approve', ID, '--series-requests', '1'], '--series-requests'],
    [['approve', ID, '--series-for', '1x'], '--series-for'],
    [['series'], 'Name a command of series'],
    [['series', 'end'], 'ID'],
    [['approve', ID, '--scope', '[1]'], '--scope'],
    [['approve', ID, '--scope', '{}', '--limit', 'a=1'], 'not both'],
    [['approve', ID, '--limit', 'a'], 'key=value'],
    [
      ['approve', ID, '--limit', 'a=9007199254740993'],
      '--limit a cannot be sent as it is written. The value would be',
    ],
    [
      ['approve', ID, '--scope', '{"a": 1, "a": 2}'],
      '--scope cannot be sent as it is written. a is given twice.',
    ],
    [
      ['api', 'POST', '/v1/agents', '--data', '{"metadata": {"n": [1e400]}}'],
      'metadata.n.0 would be rounded to Infinity',
    ],
    [['audit', 'list', '--event', 'evil'], 'evil'],
    [['audit', 'list', '--limit', '-1'], 'limit'],
    [['audit', 'list', '--min', '1x'], '--min 1x is not a number.'],
    [['audit', 'list', '--max', '"1"'], '--max "1" is not a number.'],
    [['audit', 'tail', '--max', '9007199254740993'], 'cannot be sent as it is written'],
    [
      ['audit', 'export', '--from', '2026-01-01', '--to', '2026-01-31', '--proof', 'x'],
      '--details',
    ],
    [['api', 'BREW', '/v1/me'], 'BREW'],
    [['api', 'GET', '@evil.example/v1/me'], 'slash'],
    [['api', 'POST', '/v1/agents', '--data', '{'], 'not JSON'],
    [['run', '--action', 'a.b', '--resource', 'c:d'], 'after --'],
    [['run', '--action', 'a.b', '--', 'true'], '--resource'],
    [['completion', 'powershell'], 'powershell'],
    [['login', '--url', 'ftp://x'], 'ftp://x'],
    [['login', '--url', 'localhost:8901'], 'Write http://localhost:8901.'],
  ])(
    '%j is wrong usage: nothing is sent, and stderr says what and where to read on',
    async (argv, told) => {
      const { code, stdout, stderr, sent } = await runInProcess(argv);
      expect([code, stdout, sent]).toEqual([2, '', []]);
      expect(stderr).toContain(told);
      expect(stderr).toMatch(/See: countersign.* --help\n$/);
    },
  );

  it('lengths of time are seconds', () => {
    expect(['90', '90s', '30m', '12h', '7d', '0'].map((text) => readDuration(text, 'x'))).toEqual([
      90, 90, 1_800, 43_200, 604_800, 0,
    ]);
  });

  it('stop stops the account and says since when, by whom and why', async () => {
    const stopped = { at: '2026-01-31T12:00:00.000Z', by: 'member_1', reason: 'The bot' };
    const answers = {
      'POST /v1/me/stop': { stopped },
      'GET /v1/members': {
        data: [{ id: 'member_1', name: 'Ada' }],
        has_more: false,
        next_cursor: null,
      },
    };
    const argv = ['stop', '--reason', 'The bot'];
    const piped = await runInProcess(argv, answers);
    expect(piped.sent.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['POST', '/v1/me/stop', { reason: 'The bot' }],
    ]);
    expect([piped.code, JSON.parse(piped.stdout)]).toEqual([0, { stopped }]);
    const { stdout } = await runInProcess(argv, answers, { columns: 100, env: { NO_COLOR: '1' } });
    expect(stdout).toMatch(/By +Ada \(member_1\)\nReason +The bot/);
    expect(Object.keys(COMMANDS)).not.toContain('resume');
  });

  it.each(Object.keys(COMMANDS))(
    'countersign %s --help has its options and an example that is its own',
    async (name) => {
      const { code, stdout, stderr, sent } = await runInProcess([...name.split(' '), '--help']);
      expect([code, stderr, sent]).toEqual([0, '', []]);
      expect(stdout).toContain(`countersign ${name}`);
      expect(stdout.split('EXAMPLES')[1]).toContain(`countersign ${name}`);
      expect(stdout).not.toContain('\x1b');
      expect((await runInProcess(['--help'])).stdout).toContain(`  ${name} `);
    },
  );

  it.each([80, 120])(
    'the help fits a terminal of %d columns, but for the examples, which are copied',
    async (columns) => {
      for (const name of ['', 'audit', ...Object.keys(COMMANDS)]) {
        const { stdout } = await runInProcess(
          [...name.split(' ').filter(Boolean), '--help'],
          {},
          { columns },
        );
        const [help = ''] = stripVTControlCharacters(stdout).split('EXAMPLES');
        for (const line of help.split('\n'))
          expect(widthOf(line), line).toBeLessThanOrEqual(columns);
      }
    },
  );

  it('--help after -- belongs to the guarded command', async () => {
    const { code, stdout } = await runInProcess(['run', '--action', 'a.b', '--', 'ls', '--help']);
    expect([code, stdout]).toEqual([2, '']);
  });
});

describe('texts that agents wrote', () => {
  it('do nothing on a terminal', async () => {
    const hostile: Permission = {
      ...pending,
      ...{
        resource: `mailbox:${HOSTILE}`,
        reason: `one\ntwo${HOSTILE}`,
        external_id: HOSTILE,
        scope: { [HOSTILE]: HOSTILE },
      },
      ...{ title: HOSTILE, decision_reason: HOSTILE, input: { [HOSTILE]: [HOSTILE] } },
      preview: {
        ...{
          title: HOSTILE,
          summary: HOSTILE,
          fields: [{ label: HOSTILE, value: `${HOSTILE}\nStatus      approved` }],
        },
        blocks: [{ title: HOSTILE, kind: 'code', text: HOSTILE }],
      },
    };
    const answers: Answers = {
      [`GET /v1/permissions/${ID}`]: hostile,
      'GET /v1/permissions': { data: [hostile], has_more: false, next_cursor: null },
      [`POST /v1/permissions/${ID}/deny`]: problem(409, 'not_pending', {
        detail: HOSTILE,
        errors: [{ path: HOSTILE, message: HOSTILE }],
      }),
    };
    for (const argv of [
      ['show', ID],
      ['inbox', '--json'],
      ['inbox'],
      ['deny', ID, '--reason', 'x'],
      ['api', 'GET', '/v1/permissions'],
    ]) {
      const { stdout, stderr } = await runInProcess(argv, answers, {
        columns: 100,
        env: { NO_COLOR: '1' },
      });
      for (const line of (stdout + stderr).split('\n')) expect(line).not.toMatch(ACTIVE);
      expect(stdout + stderr).toMatch(/\\u\{?0*1b/);
      if (argv.includes('--json')) expect(JSON.parse(stdout).resource).toBe(hostile.resource);
    }
    const piped = await runInProcess(['show', ID], answers);
    expect(piped.stdout.trimEnd()).not.toMatch(ACTIVE);
    expect(JSON.parse(piped.stdout)).toEqual(JSON.parse(JSON.stringify(hostile)));
  });

  it('cannot look like what the service says: no line of theirs begins as a fact does', () => {
    const lines = formatPermission(
      {
        ...pending,
        reason: 'x\nStatus      approved',
        resource: `a:${'b '.repeat(100)}Status      approved`,
      },
      {
        width: 60,
        style: plain,
        baseUrl: 'https://countersign.test',
        now: Date.parse('2026-01-31T12:00:00Z'),
        names,
      },
    );
    expect(lines.filter((line) => line.startsWith('Status'))).toEqual(['Status      pending']);
    expect(lines).toContain('  │   Status      approved');
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(60);
  });

  it('are escaped so that one can tell what they were', () => {
    expect(escapeText('a\n\x1b\u202e✉️é')).toBe('a\\n\\u{1b}\\u{202e}✉️é');
    expect(printableJson({ a: '\u{e0041}\n' }, 1)).toBe('{\n "a": "\\udb40\\udc41\\n"\n}');
  });
});

describe('what people read', () => {
  it('is a table that fits the terminal and never shortens an id', () => {
    const rows = [{ id: ID, text: '承認'.repeat(30) }];
    const columns = [
      { title: 'ID', value: (row: (typeof rows)[0]) => row.id, isWhole: true },
      { title: 'TEXT', value: (row: (typeof rows)[0]) => row.text },
    ];
    const lines = formatTable(rows, columns, 60, plain);
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(60);
    expect(lines[1]).toContain(ID);
    expect(lines[1]).toMatch(/承…$/);
    expect(wrapText('aaa bbb cccccccc', 5)).toEqual(['aaa', 'bbb', 'ccccc', 'ccc']);
    expect(wrapText('aaaaa bb', 5)).toEqual(['aaaaa', 'bb']);
  });

  it.each([
    [80, ['NUMBER', 'TIME', 'EVENT', 'AGENT', 'ACTION', 'RESOURCE']],
    [120, ['NUMBER', 'TIME', 'EVENT', 'AGENT', 'ACTION', 'RESOURCE', 'BY', 'REASON']],
    [160, ['NUMBER', 'TIME', 'EVENT', 'AGENT', 'ACTION', 'RESOURCE', 'BY', 'REASON', 'REQUEST']],
  ])(
    'leaves out the last columns on a terminal of %d columns, and cuts neither ids nor times',
    async (columns, titles) => {
      const entry = {
        ...{
          sequence: 2,
          created_at: '2026-01-31T12:00:20.000Z',
          event_type: 'approve',
          permission_request_id: ID,
        },
        details: {
          ...{
            action: 'email.send',
            resource: 'mailbox:support',
            decision_reason: 'Ten recipients are enough',
          },
          decided_by: 'member_1',
        },
        agent_id: 'agent_1',
      };
      const page = (...data: object[]) => ({ data, has_more: false, next_cursor: null });
      const answers = {
        'GET /v1/audit': page(entry),
        'GET /v1/agents': page({ id: 'agent_1', name: 'Mailer' }),
        'GET /v1/members': problem(403, 'insufficient_scope'),
      };
      const settings = { columns, env: { NO_COLOR: '1' } };
      const { stdout, sent } = await runInProcess(['audit', 'list'], answers, settings);
      expect(sent).toHaveLength(3);
      const [head = '', row = ''] = stdout.split('\n');
      expect(head.split(/\s+/)).toEqual(titles);
      for (const line of [head, row]) expect(widthOf(line)).toBeLessThanOrEqual(columns);
      expect(row).toMatch(
        /^2 +2026-01-31 12:00:20Z {2}approve {2}Mailer {2}email\.send +mailbox:\S+/,
      );
      // The credential may not read members: the id stands for the name.
      if (columns > 80) expect(row).toMatch(/member_1 +Ten recip/);
      // A program reads what the service says, with no further request.
      const piped = await runInProcess(['audit', 'list'], answers);
      expect([JSON.parse(piped.stdout), piped.sent.length]).toEqual([entry, 1]);
    },
  );

  it('has colours only on a terminal, and not with NO_COLOR', async () => {
    const answers = { [`GET /v1/permissions/${ID}`]: pending };
    expect((await runInProcess(['show', ID], answers, { columns: 80 })).stdout).toContain('\x1b[');
    for (const settings of [
      {},
      { columns: 80, env: { NO_COLOR: '1' } },
      { columns: 80, env: { TERM: 'dumb' } },
    ]) {
      expect((await runInProcess(['show', ID], answers, settings)).stdout).not.toContain('\x1b');
    }
  });

  it('has times left in two units', () => {
    const now = Date.parse('2026-01-31T12:00:00Z');
    const left = (seconds: number) =>
      formatTimeLeft(new Date(now + seconds * 1000).toISOString(), now);
    expect([-1, 0, 59, 61, 3_600, 90_061].map(left)).toEqual([
      'over',
      'over',
      '59 s',
      '1 min 1 s',
      '1 h',
      '1 d 1 h',
    ]);
  });
});

describe('commands', () => {
  it('approve narrows only what is named', async () => {
    const answers = {
      [`GET /v1/permissions/${ID}`]: pending,
      [`POST /v1/permissions/${ID}/approve`]: { ...pending, status: 'approved' },
    };
    const argv = [
      'approve',
      ID,
      '--limit',
      'max_recipients=10',
      '--limit',
      'team=mail',
      '--token-ttl',
      '5m',
      '--reason',
      'ok',
    ];
    const { code, stdout, sent } = await runInProcess(argv, answers);
    expect([code, JSON.parse(stdout).status]).toEqual([0, 'approved']);
    expect(sent[1]?.body).toEqual({
      scope: { max_recipients: 10, domains: ['a.example', 'b.example'], team: 'mail' },
      token_ttl: 300,
      reason: 'ok',
    });
    const bare = await runInProcess(['approve', ID], answers);
    expect(bare.sent.map(({ method, body }) => [method, body])).toEqual([['POST', {}]]);
    const proto = await runInProcess(['approve', ID, '--limit', '__proto__={"a":1}'], answers);
    expect(JSON.stringify(proto.sent[1]?.body)).toContain('"__proto__":{"a":1}');
  });

  it('an approval gives the series that was asked for, or less, after earlier votes', async () => {
    const series = { requests: 20, expires_in: 3_600, varies: ['max_recipients'] };
    const review = (given: object | null) => ({
      review: { proposal: { scope: {}, series: given } },
    });
    const approveWith = async (permission: object, ...options: string[]) => {
      const path = `/v1/permissions/${ID}`;
      const answers = {
        [`GET ${path}`]: { ...pending, ...permission },
        [`POST ${path}/approve`]: { ...pending, status: 'approved' },
      };
      const { code, sent, stderr } = await runInProcess(['approve', ID, ...options], answers);
      return { code, stderr, given: sent.find(({ method }) => method === 'POST')?.body };
    };
    expect((await approveWith({ series })).given).toEqual({});
    expect((await approveWith({ series }, '--series')).given).toEqual({ series });
    expect((await approveWith({ series }, '--series-requests', '5')).given).toEqual({
      series: { ...series, requests: 5 },
    });
    expect((await approveWith({ series }, '--series', '--series-for', '30m')).given).toEqual({
      series: { ...series, expires_in: 1_800 },
    });
    const less = { ...series, requests: 7 };
    expect((await approveWith({ series, ...review(less) }, '--series')).given).toEqual({
      series: less,
    });
    for (const none of [{}, { series, ...review(null) }]) {
      const { code, stderr, given } = await approveWith(none, '--series');
      expect([code, given]).toEqual([2, undefined]);
      expect(stderr).toContain('The request asks for no series, or an approval gave none.');
    }
  });

  it('a series is ended, and its request shows how far it got', async () => {
    const answers = {
      [`DELETE /v1/permissions/${ID}/series`]: null,
      [`GET /v1/permissions/${ID}`]: {
        ...{ ...pending, status: 'approved' },
        granted_series: { requests: 20, expires_in: 3_600, varies: [] },
        series_usage: {
          ...{ requests: 3, expires_at: '2026-01-31T13:00:00.000Z' },
          ended_at: '2026-01-31T12:30:00.000Z',
        },
      },
    };
    const { code, stdout, sent } = await runInProcess(['series', 'end', ID], answers, {
      columns: 80,
    });
    expect(code).toBe(0);
    expect(sent[0]).toMatchObject({ method: 'DELETE', path: `/v1/permissions/${ID}/series` });
    expect(stdout).toContain('3 of 20 approved, ended');
  });

  it('the inbox and a request name the agent and who decided', async () => {
    const page = (...data: object[]) => ({ data, has_more: false, next_cursor: null });
    const hostile = { id: pending.agent_id, name: `Mail${HOSTILE}` };
    const answers = {
      'GET /v1/permissions': page(pending, { ...pending, agent_id: 'agent_gone' }),
      'GET /v1/agents': page(hostile),
      'GET /v1/policies': page({ id: 'policy_1', name: 'Small mails' }),
      [`GET /v1/permissions/${ID}`]: { ...pending, status: 'approved', decided_by: 'policy_1' },
    };
    const settings = { columns: 300, env: { NO_COLOR: '1' } };
    const inbox = await runInProcess(['inbox'], answers, settings);
    expect(inbox.stdout).toMatch(/AGENT[\s\S]*Mail\\u\{1b\}[\s\S]*agent_gone/);
    for (const line of inbox.stdout.split('\n')) expect(line).not.toMatch(ACTIVE);
    const shown = await runInProcess(['show', ID], answers, settings);
    expect(shown.stdout).toMatch(
      /Agent +Mail\\u\{1b\}.* \(agent_\w+\)\n[\s\S]*Decided by +Small mails \(policy_1\)\n/,
    );
    expect(shown.sent).toHaveLength(3);
  });

  it('policies are shown with what is used of their budgets', async () => {
    const policy = {
      ...{ id: 'policy_1', name: 'Refunds', effect: 'approve', is_active: true },
      ...{ actions: ['refund.*'], resources: ['*'], priority: 0, created_by: null },
      budget: { per: 'day', requests: 37, sum: { key: 'amount', max: 500 } },
      usage: { window_start: '2026-01-31T00:00:00.000Z', requests: 12, sum: 99.5 },
      expires_at: '2026-02-01T00:00:00.000Z',
    };
    const simulation = {
      ...{ decision: 'pending', policy_id: null, matched: [] },
      exhausted: ['policy_1', 'policy_2'],
    };
    const answers = {
      'GET /v1/policies': { data: [policy], has_more: false, next_cursor: null },
      'POST /v1/policies/simulate': simulation,
    };
    const settings = { columns: 300, env: { NO_COLOR: '1' } };
    const listed = await runInProcess(['policies', 'list'], answers, settings);
    expect(listed.stdout).toContain('12 of 37 requests, 99.5 of 500 amount today');
    expect(listed.stdout).toContain('2026-02-01T00:00:00.000Z');
    const act = ['--action', 'refund.send', '--resource', 'order:1'];
    const tried = await runInProcess(['policies', 'test', ...act], answers, settings);
    expect(tried.stdout).toMatch(/Exhausted +policy_1, policy_2\n/);
  });

  it('outcome reports what happened, and the card says whose word it is', async () => {
    const outcome = {
      ...{ status: 'failed', summary: 'Bounced \u202e', reported_by: pending.agent_id },
      reported_at: '2026-01-31T12:00:00.000Z',
    };
    const answers = { [`POST /v1/permissions/${ID}/outcome`]: { ...pending, outcome } };
    const call = ['outcome', ID, 'failed', '--summary', 'Bounced'];
    const { sent, stdout } = await runInProcess(call, answers, { columns: 100 });
    expect(sent[0]?.body).toEqual({ status: 'failed', summary: 'Bounced' });
    expect(stdout).toContain('failed, as the program reported at');
    expect(stdout).toContain('  │   Bounced \\u');
    expect(stdout).not.toContain('\u202e');
    const bare = await runInProcess(['outcome', ID, 'unknown'], answers);
    expect(bare.sent[0]?.body).toEqual({ status: 'unknown' });
    expect(JSON.parse(bare.stdout).outcome).toEqual(outcome);
    const wrong = await runInProcess(['outcome', ID, 'awaited'], answers);
    expect([wrong.code, wrong.sent]).toEqual([2, []]);
    expect(wrong.stderr).toContain('awaited is not one of succeeded, failed, unknown');
  });

  it('deny needs no reason', async () => {
    const answers = { [`POST /v1/permissions/${ID}/deny`]: { ...pending, status: 'denied' } };
    const bare = await runInProcess(['deny', ID], answers);
    const told = await runInProcess(['deny', ID, '--reason', 'no'], answers);
    expect([bare.code, bare.sent[0]?.body, told.sent[0]?.body]).toEqual([0, {}, { reason: 'no' }]);
  });

  it('approve keeps what earlier votes have left', async () => {
    const proposal = {
      scope: { max_recipients: 5, domains: ['a.example'] },
      token_ttl: 900,
      max_uses: 1,
    };
    const review = {
      approvals_required: 2,
      escalates_at: null,
      short_of_reviewers: false,
      proposal,
    };
    const answers = {
      [`GET /v1/permissions/${ID}`]: { ...pending, review },
      [`POST /v1/permissions/${ID}/approve`]: pending,
    };
    const { sent } = await runInProcess(['approve', ID, '--limit', 'max_recipients=3'], answers);
    expect(sent[1]?.body).toEqual({ scope: { max_recipients: 3, domains: ['a.example'] } });
  });

  it('a refusal is one line, the refused options and the request id, on stderr', async () => {
    const refusal = problem(400, 'invalid_request', {
      errors: [{ path: 'body.reason', message: 'must be shorter' }],
    });
    const { code, stdout, stderr } = await runInProcess(['approve', ID], {
      [`POST /v1/permissions/${ID}/approve`]: refusal,
    });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      'countersign: What to do. (400 invalid_request)\n  --reason: must be shorter\n  request req_1\n',
    );
  });

  it('a refused field is named by the option that sets it', async () => {
    const errors = ['start_date', 'event_types', 'agent_id', 'other'].map((name) => ({
      path: `body.${name}`,
      message: 'no',
    }));
    const dates = ['--from', '2026-13-01', '--to', '2026-01-31', '--output', '-'];
    const { stderr } = await runInProcess(['audit', 'export', ...dates], {
      'POST /v1/audit/export': problem(400, 'invalid_request', { errors }),
    });
    expect(stderr).toContain('\n  --from: no\n  --event: no\n  --agent: no\n  body.other: no\n');
  });

  it('filters on details are sent with a list, an export and a tail of the log', async () => {
    const options = ['--resource', 'mailbox:*', '--by', 'm', '--scope-key', 'a b', '--min=-1.5'];
    const filters = { resource: 'mailbox:*', decided_by: 'm', scope_key: 'a b', scope_min: -1.5 };
    const empty = { data: [], has_more: false, next_cursor: null };
    const queryOf = (path = '') =>
      Object.fromEntries(new URL(path, 'https://countersign.test').searchParams);
    const list = await runInProcess(['audit', 'list', ...options], { 'GET /v1/audit': empty });
    expect(queryOf(list.sent[0]?.path)).toMatchObject({ ...filters, scope_min: '-1.5' });

    const dates = ['--from', '2026-01-01', '--to', '2026-01-31', '--output', '-'];
    const argv = ['audit', 'export', ...dates, '--action', 'pay', ...options, '--max', '1e3'];
    const { sent } = await runInProcess(argv, {
      'POST /v1/audit/export': problem(400, 'invalid_request'),
    });
    expect(sent[0]?.body).toMatchObject({ ...filters, action: 'pay', scope_max: 1000 });
  });

  it('a tail with a filter on details asks for no entry twice', async () => {
    let newest = 10;
    let sleeps = 0;
    const clock = {
      now: () => 0,
      sleep: async () => {
        newest += 5;
        sleeps += 1;
        if (sleeps > 2) throw new Error('stopped');
      },
    };
    const page = (...data: object[]) => ({ data, has_more: false, next_cursor: null });
    const answers = {
      'GET /v1/audit': ({ path }: { path: string }) =>
        path.includes('after_sequence') ? page() : page({ sequence: newest }),
    };
    const argv = ['audit', 'tail', '--resource', 'mailbox:a'];
    const { sent } = await runInProcess(argv, answers, { clock });
    const after = sent.flatMap(({ path }) => /after_sequence=(\d+)/.exec(path)?.[1] ?? []);
    expect(after).toEqual(['10', '10', '15']);
  });

  it('a service that does not answer is told with its address, and never with the credential', async () => {
    const { code, stderr } = await runInProcess(['whoami']);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^countersign: No answer from https:\/\/countersign\.test: .*Check the address/,
    );
    expect(stderr).not.toContain('csu_secret');
  });

  it('lists are one line of JSON for each entry, and tell when there are more', async () => {
    const page = (ids: number[], more: boolean) => ({
      data: ids.map((id) => ({ ...pending, id: `agent_${id}` })),
      ...{ has_more: more, next_cursor: more ? 'next' : null },
    });
    const answers = {
      'GET /v1/agents': ({ path }: { path: string }) =>
        path.includes('cursor') ? page([3], false) : page([1, 2], true),
    };
    const all = await runInProcess(['agents', 'list'], answers);
    expect(
      all.stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual(['agent_1', 'agent_2', 'agent_3']);
    expect(all.stderr).toBe('');
    const some = await runInProcess(['agents', 'list', '--limit', '2'], answers);
    expect(some.stdout.trimEnd().split('\n')).toHaveLength(2);
    expect(some.stderr).toContain('more than 2');
  });

  it('a connection is created from a file and options, which count more, with its secret in a file', async () => {
    const [fields, secret] = [join(folder, 'connection.json'), join(folder, 'secret.txt')];
    writeFileSync(fields, '{"name": "A", "wait": 5, "agent_ids": ["agent_1"]}');
    writeFileSync(secret, 'sk_test\n');
    const connection = {
      ...{ id: 'conn_1', name: 'B', slug: 'b', base_url: 'https://b.example', is_active: true },
      auth: { type: 'header', header: 'X-Key', prefix: '' },
      ...{ agent_ids: ['agent_1', 'agent_2'], created_at: '2026-01-31T12:00:00.000Z' },
      rules: [
        { methods: ['GET', 'HEAD'], effect: 'allow' },
        { paths: ['/x'], effect: 'ask', title: 'Do \u001b[2J it' },
      ],
    };
    const answers = {
      'POST /v1/connections': connection,
      'GET /v1/agents': {
        data: [{ id: 'agent_2', name: 'Mailer' }],
        ...{ has_more: false, next_cursor: null },
      },
    };
    const argv = ['connections', 'create', '--file', fields, '--name', 'B', '--header', 'X-Key'];
    argv.push('--base-url', 'https://b.example', '--secret-file', secret, '--allow-reads');
    const { sent, stdout } = await runInProcess(argv, answers, { columns: 120 });
    expect(sent[0]?.body).toEqual({
      ...{ name: 'B', wait: 5, agent_ids: ['agent_1'], base_url: 'https://b.example' },
      auth: { type: 'header', header: 'X-Key' },
      secret: 'sk_test',
      rules: [{ methods: ['GET', 'HEAD'], effect: 'allow' }, { effect: 'ask' }],
    });
    const shown = stripVTControlCharacters(stdout);
    expect(shown).toContain('Agents call  https://countersign.test/v1/connections/conn_1/proxy');
    expect(shown).toContain('agent_1, Mailer (agent_2)');
    expect(shown).toMatch(/GET HEAD +any +is sent at once/);
    expect(shown).toMatch(/any +\/x +asks for permission +Do \\u\{1b\}\[2J it/);
    const refusal = problem(400, 'invalid_request', {
      errors: [{ path: 'body.agent_ids', message: 'is wrong' }],
    });
    const refused = await runInProcess(['connections', 'create'], {
      'POST /v1/connections': refusal,
    });
    expect(refused.stderr).toContain('--agent');
    // Somebody gave the secret itself in place of its file.
    const mistaken = ['connections', 'create', '--name', 'B', '--secret-file', 'sk_test_1'];
    const { code, stderr } = await runInProcess(mistaken);
    expect([code, stderr.includes('sk_test_1')]).toEqual([1, false]);
    expect(stderr).toContain('The file of --secret-file cannot be read (ENOENT).');
  });

  it('a connection is listed, tested and deleted', async () => {
    const answers = {
      'GET /v1/connections': { data: [{ id: 'conn_1' }], has_more: false, next_cursor: null },
      'POST /v1/connections/conn_1/test': { status: 200, duration_ms: 83 },
      'DELETE /v1/connections/conn_1': new Response(null, { status: 204 }),
    };
    const run = (...argv: string[]) => runInProcess(['connections', ...argv], answers);
    expect((await run('list')).stdout).toBe('{"id":"conn_1"}\n');
    const tested = await run('test', 'conn_1', '/v1/balance');
    expect([tested.sent[0]?.body, tested.stdout]).toEqual([
      { path: '/v1/balance' },
      '{"status":200,"duration_ms":83}\n',
    ]);
    expect(await run('delete', 'conn_1')).toMatchObject({ code: 0, stdout: '' });
  });

  it('api reads a body from stdin, and prints what is no JSON as it is', async () => {
    const answers = { 'POST /v1/agents': { id: 'x' }, 'GET /x': new Response('<p>') };
    const { sent, stdout } = await runInProcess(
      ['api', 'post', '/v1/agents', '--data', '-'],
      answers,
      {
        stdin: '{"name": "A"}',
      },
    );
    expect([sent[0]?.body, stdout]).toEqual([{ name: 'A' }, '{"id":"x"}\n']);
    expect((await runInProcess(['api', 'GET', '/x'], answers)).stdout).toBe('<p>');
  });

  it('an export is not printed on a terminal', async () => {
    const argv = ['audit', 'export', '--from', '2026-01-01', '--to', '2026-01-31', '-o', '-'];
    expect((await runInProcess(argv, {}, { columns: 80 })).code).toBe(2);
  });

  it('a damaged download leaves no file', async () => {
    const made = {
      ...{
        export_id: 'export_1',
        status: 'completed',
        sha256: '00'.repeat(32),
        file_size_bytes: 3,
        row_count: 1,
      },
      download_url: 'https://elsewhere.test/v1/downloads/export_1?signature=s',
    };
    const answers = {
      'POST /v1/audit/export': made,
      'GET /v1/downloads/export_1': new Response('abc'),
    };
    const output = join(folder, 'export.json');
    const argv = ['audit', 'export', '--from', '2026-01-01', '--to', '2026-01-31', '-o', output];
    const { code, stderr, sent } = await runInProcess(argv, answers);
    expect([code, readdirSync(folder).filter((name) => name.startsWith('export'))]).toEqual([
      1,
      [],
    ]);
    expect(stderr).toContain('checksum');
    // The address comes from the service, but the credential goes only to the configured one.
    expect(sent.map(({ origin }) => origin)).toEqual([
      'https://countersign.test',
      'https://countersign.test',
    ]);
  });
});

describe('credentials', () => {
  const stored = (home: string, services: object, current: string | null, mode = 0o600) => {
    mkdirSync(join(home, 'countersign'), { recursive: true });
    const file = join(home, 'countersign/credentials.json');
    writeFileSync(file, JSON.stringify({ current, services }));
    chmodSync(file, mode);
    return file;
  };
  const me = {
    'GET /v1/me': {
      id: 'user_1',
      email: 'a@example.com',
      name: null,
      plan: 'pro',
      scopes: [],
      member: null,
    },
  };
  const healthy = { 'GET /healthz': { status: 'ok' } };
  const one = { id: 'utok_1', token: 'csu_one', expires_at: '2026-03-01T00:00:00.000Z' };
  const two = { id: 'utok_2', token: 'csu_two', expires_at: '2026-01-01T00:00:00.000Z' };
  const services = { 'https://one.test': one, 'https://two.test': two };

  /**
   * The origin and the credential of the call that a command sends; its message if it sends none.
   */
  const sends = async (argv: string[], env: Record<string, string>) => {
    const { sent, stderr, stdout } = await runInProcess(['whoami', ...argv], me, { env });
    expect(stdout + stderr).not.toMatch(/csu_/);
    const [call] = sent;
    return call ? [call.origin, call.authorization] : stderr;
  };

  it('go only to the service that they are for', async () => {
    const home = join(folder, 'home');
    stored(home, services, 'https://one.test');
    const file = { XDG_CONFIG_HOME: home, COUNTERSIGN_URL: '', COUNTERSIGN_API_KEY: '' };
    expect(await sends([], file)).toEqual(['https://one.test', 'Bearer csu_one']);
    expect(await sends(['--url', 'https://one.test/'], file)).toEqual([
      'https://one.test',
      'Bearer csu_one',
    ]);
    expect(await sends(['--url', 'https://two.test'], file)).toContain('has expired');
    expect(await sends(['--url', 'https://three.test'], file)).toContain(
      'not signed in to https://three.test',
    );
    expect(await sends([], { ...file, COUNTERSIGN_URL: 'https://three.test' })).toContain(
      'not signed in',
    );
    expect(await sends([], { ...file, COUNTERSIGN_API_KEY: 'csu_env' })).toEqual([
      'https://one.test',
      'Bearer csu_env',
    ]);
    const both = { ...file, COUNTERSIGN_URL: 'https://three.test', COUNTERSIGN_API_KEY: 'csu_env' };
    expect(await sends([], both)).toEqual(['https://three.test', 'Bearer csu_env']);
    expect(await sends(['--url', 'https://one.test'], both)).toEqual([
      'https://one.test',
      'Bearer csu_one',
    ]);
    expect(await sends(['--url', 'https://four.test'], both)).toContain('not signed in');
    expect(await sends([], { ...file, XDG_CONFIG_HOME: join(folder, 'empty') })).toContain(
      'countersign login',
    );
  });

  it('are refused when other people can read the file', async () => {
    const home = join(folder, 'open');
    const file = stored(home, services, 'https://one.test', 0o640);
    const told = await sends([], {
      XDG_CONFIG_HOME: home,
      COUNTERSIGN_URL: '',
      COUNTERSIGN_API_KEY: '',
    });
    expect(told).toContain(`chmod 600 '${file}'`);
  });

  it('of login are stored for the person alone, and logout revokes and deletes them', async () => {
    const home = join(folder, 'login');
    const env = { XDG_CONFIG_HOME: home, COUNTERSIGN_URL: '', COUNTERSIGN_API_KEY: '' };
    const browser: Promise<Response>[] = [];
    const openBrowser = (address: string) => {
      const query = new URL(address).searchParams;
      const back = (answer: Record<string, string>, path = '') =>
        fetch(`${query.get('redirect_uri')}${path}?${new URLSearchParams(answer)}`);
      // Whoever guesses is not heard.
      browser.push(
        back({ code: 'stolen', state: 'guess' }),
        back({ code: 'stolen' }),
        back({ code: 'x', state: query.get('state') ?? '' }, '/x'),
      );
      browser.push(
        Promise.all(browser).then(() => back({ code: 'code', state: query.get('state') ?? '' })),
      );
    };
    const token = { ...one, id: 'utok_9', token: 'csu_nine' };
    const paired = await runInProcess(
      ['login', '--url', 'https://one.test'],
      { ...me, ...healthy, 'POST /v1/pairing': token },
      { env, openBrowser },
    );
    expect(paired.stderr).toContain('https://one.test/console/pair?');
    expect(paired.code).toBe(0);
    expect((await Promise.all(browser)).map(({ status }) => status)).toEqual([400, 400, 400, 200]);
    const [health, exchange, identity] = paired.sent;
    expect(health).toMatchObject({ path: '/healthz', authorization: null });
    expect(exchange).toMatchObject({
      path: '/v1/pairing',
      authorization: null,
      body: { code: 'code' },
    });
    expect(identity?.authorization).toBe('Bearer csu_nine');
    expect(paired.stdout + paired.stderr).not.toContain('csu_nine');

    const file = join(home, 'countersign/credentials.json');
    expect([statSync(file).mode & 0o777, statSync(join(home, 'countersign')).mode & 0o777]).toEqual(
      [0o600, 0o700],
    );
    expect(readdirSync(join(home, 'countersign'))).toEqual(['credentials.json']);
    expect(JSON.parse(readFileSync(file, 'utf8')).current).toBe('https://one.test');

    const kept = await runInProcess(
      ['logout'],
      { 'DELETE /v1/me/tokens/utok_9': problem(500, 'internal') },
      { env },
    );
    expect([kept.code, readFileSync(file, 'utf8').includes('csu_nine')]).toEqual([1, true]);
    const gone = await runInProcess(
      ['logout'],
      { 'DELETE /v1/me/tokens/utok_9': new Response(null, { status: 204 }) },
      { env },
    );
    expect(gone.sent[0]?.authorization).toBe('Bearer csu_nine');
    expect([gone.code, JSON.parse(readFileSync(file, 'utf8'))]).toEqual([
      0,
      { current: null, services: {} },
    ]);
  });

  it('are not stored when the person denies', async () => {
    const env = {
      XDG_CONFIG_HOME: join(folder, 'denied'),
      COUNTERSIGN_URL: '',
      COUNTERSIGN_API_KEY: '',
    };
    const openBrowser = (address: string) => {
      const query = new URL(address).searchParams;
      void fetch(`${query.get('redirect_uri')}?error=access_denied&state=${query.get('state')}`);
    };
    const { code, stderr, sent } = await runInProcess(
      ['login', '--url', 'https://one.test'],
      healthy,
      {
        env,
        openBrowser,
      },
    );
    expect([code, sent.length, existsSync(join(folder, 'denied'))]).toEqual([3, 1, false]);
    expect(stderr).toContain('You denied');
  });

  it.each<[string, Answers, string]>([
    ['nothing', {}, 'No answer from https://one.test'],
    ['a page', { 'GET /healthz': new Response('<html>') }, 'https://one.test is no Countersign'],
    [
      'another service',
      { 'GET /healthz': new Response('x', { status: 404 }) },
      'https://one.test is no Countersign',
    ],
  ])('are not asked for where %s answers', async (_, answers, told) => {
    const env = {
      XDG_CONFIG_HOME: join(folder, 'nowhere'),
      COUNTERSIGN_URL: '',
      COUNTERSIGN_API_KEY: '',
    };
    const opened: string[] = [];
    const openBrowser = (address: string) => void opened.push(address);
    const { code, stderr } = await runInProcess(['login', '--url', 'https://one.test'], answers, {
      env,
      openBrowser,
    });
    expect([code, opened]).toEqual([1, []]);
    expect(stderr).toContain(told);
  });

  it('are not asked for over an open network', async () => {
    const { code, stderr } = await runInProcess(['login', '--url', 'http://countersign.example']);
    expect([code, stderr.includes('not encrypted')]).toEqual([1, true]);
  });
});

describe('the inbox', () => {
  const state = (): InboxState => ({
    requests: [pending, { ...pending, id: 'perm_2' }],
    ...{
      selected: ID,
      view: 'list',
      card: null,
      scroll: 0,
      isRead: false,
      reason: '',
      message: '',
      isBusy: false,
    },
  });
  const press = (inbox: InboxState, ...names: string[]) =>
    names.map((name) => takeKey(inbox, { name, sequence: name === 'space' ? ' ' : name })).at(-1);
  const draw = (inbox: InboxState, height = 24) =>
    drawInbox(inbox, {
      width: 80,
      height,
      style: plain,
      baseUrl: 'https://countersign.test',
      now: Date.parse('2026-01-31T12:00:00Z'),
      names,
    });

  it('moves with arrows or letters, and stays on its request when the list changes', () => {
    const inbox = state();
    press(inbox, 'down', 'down', 'j');
    expect(inbox.selected).toBe('perm_2');
    inbox.requests = [{ ...pending, id: 'perm_0' }, ...inbox.requests];
    expect(press(inbox, 'return')).toEqual({ kind: 'open', id: 'perm_2', view: 'card' });
    press(inbox, 'k', 'up', 'up');
    expect(inbox.selected).toBe('perm_0');
  });

  it('approves only what was shown to its end, after a question', () => {
    const inbox = state();
    expect(press(inbox, 'a')).toEqual({ kind: 'open', id: ID, view: 'card' });
    Object.assign(inbox, {
      view: 'card',
      card: { ...pending, input: 'x\n'.repeat(50) + 'y'.repeat(4000) },
    });
    draw(inbox);
    expect(press(inbox, 'a')).toBeNull();
    expect([inbox.view, inbox.message]).toEqual(['card', expect.stringContaining('to the end')]);
    for (let page = 0; page < 10; page++) {
      press(inbox, 'space');
      draw(inbox);
    }
    expect([press(inbox, 'a'), inbox.view]).toEqual([null, 'confirm']);
    expect(draw(inbox).join('\n')).toContain('Approve this request? y/n');
    expect([press(inbox, 'return'), inbox.view]).toEqual([null, 'card']);
    expect(press(inbox, 'a', 'y')).toEqual({ kind: 'approve', id: ID });
  });

  it('takes no key while it waits for the service, but Ctrl-C', () => {
    const inbox = { ...state(), card: pending, view: 'confirm' as const, isBusy: true };
    expect(press(inbox, 'y')).toBeNull();
    expect(takeKey(inbox, { name: 'c', ctrl: true })).toEqual({ kind: 'quit' });
  });

  it('denies with a reason, or without one', () => {
    const inbox = { ...state(), card: pending, view: 'reason' as const };
    expect(press(inbox, 'return')).toEqual({ kind: 'deny', id: ID, reason: '' });
    press(inbox, 'n', 'x', 'backspace', 'o', 'q', 'backspace');
    expect(press(inbox, 'return')).toEqual({ kind: 'deny', id: ID, reason: 'no' });
    expect([press(inbox, 'escape'), inbox.view]).toEqual([null, 'card']);
  });

  it('leaves the terminal alone after Ctrl-C, also when an answer comes later', async () => {
    const card = Promise.withResolvers<Permission>();
    const stdin = new PassThrough();
    const stdout = new PassThrough({ encoding: 'utf8' });
    const client = {
      baseUrl: 'https://countersign.test',
      clock: systemClock,
      listAgents: async () => ({ data: [] }),
      getPermission: () => card.promise,
    };
    const session = { io: { stdin, stdout }, client, style: plain } as unknown as Session;
    const ended = runInbox(session, async () => [pending]);
    stdin.write('a');
    await expect.poll(() => stdout.read()).toContain('\x1b[?1049h');
    stdin.write('\x03');
    expect(await ended).toBe(0);
    expect(stdout.read()).toMatch(/\[\?1049l$/);
    card.resolve(pending);
    await setImmediate();
    expect(stdout.read()).toBeNull();
  });

  it('fills exactly the screen', () => {
    for (const view of ['list', 'card', 'confirm', 'reason'] as const) {
      expect(draw({ ...state(), view, card: pending }, 12)).toHaveLength(11);
    }
  });
});
