import type { AuditEntry } from '../../src/audit/entry';
import { MEMBER_ROLES } from '../../src/db/schema';
import type {
  Counts,
  DeciderFigures,
  ReportContent,
  ReportedActivity,
} from '../../src/reports/content';

const NAMES = [
  'Invoice reader',
  'Ελληνικός βοηθός πελατών',
  'Помощник бухгалтера №2',
  '请假审批助手（上海）',
  'カスタマーサポート・エージェント',
  '한국어 고객 지원 에이전트',
  'وكيل خدمة العملاء',
  'סוכן שירות לקוחות (תל אביב)',
  'Łukasz Żółć – Đặng Thị Ngọc Ánh',
  'Launch 🚀 bot ❤️',
  'वित्त सहायक',
  'شركة ABC للتجارة 2026',
  'A name with a very-long-token-without-any-space-in-it-as-people-like-to-make-of-branches-and-tickets/ABC-12345678901234567890',
];

const MONTHS = Array.from({ length: 12 }, (_, at) =>
  new Date(Date.UTC(2025, 10 + at)).toISOString().slice(0, 7),
);

/** An id with the prefix `kind`, the same in every run. */
function idOf<K extends string>(kind: K, number: number): `${K}_${string}` {
  const digits = (number * 2_654_435_761 + 40_503).toString(32).padStart(9, '0');
  return `${kind}_01m7${digits.slice(0, 9)}rd295j3kx3gj${(number % 1024).toString(32)}`.padEnd(
    kind.length + 27,
    '7',
  ) as `${K}_${string}`;
}

function idsOf(kind: string, first: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => idOf(kind, first + at));
}

function countsOf(requests: number): Counts {
  const [approved, denied, expired] = [0.82, 0.13, 0.05].map((part) =>
    Math.floor(requests * part),
  ) as [number, number, number];
  const used = Math.floor(approved * 0.9);
  const revoked = Math.floor(approved / 60);
  const entries = requests + approved + denied + expired + used + revoked;
  return {
    entries,
    requests,
    approved,
    denied,
    expired,
    tokens_issued: approved,
    tokens_used: used,
    tokens_revoked: revoked,
  };
}

function activityRecord(at: number, action: string, changes: string[]): ReportedActivity {
  return {
    id: idOf('act', at),
    at: new Date(Date.UTC(2026, 9, 31, 12) - at * 7 * 3_600_000).toISOString(),
    action,
    actor: at % 9 === 0 ? null : idOf('user', at % 4),
    target: idOf('agent', at),
    changes,
  };
}

function sampledEntry(at: number): AuditEntry {
  return {
    id: idOf('audit', at),
    sequence: 1 + at * 24_889,
    user_id: idOf('user', 0),
    agent_id: idOf('agent', at % 40),
    permission_request_id: idOf('perm', at),
    event_type:
      (['request', 'approve', 'deny', 'use', 'expire', 'revoke'] as const)[at % 6] ?? 'request',
    details: {
      action: 'storage.object.read',
      resource: `bucket:finance-eu/${'quarter/'.repeat(at % 20)}${at}/${'x'.repeat((at % 7) * 60)}.pdf`,
      reason: at % 5 === 0 ? '月次決算のため 🚀' : 'Monthly closing of the books',
      scope: { max_bytes: 1_048_576, regions: ['eu-west-1', 'eu-central-1'] },
    },
    ip_address: at % 3 === 0 ? '2001:db8:85a3:8d3:1319:8a2e:370:7348' : '203.0.113.17',
    user_agent:
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) agent-sdk/4.2.1',
    created_at: new Date(Date.UTC(2025, 10, 3) + at * 601 * 60_000).toISOString(),
  };
}

function exceptionText(at: number): string {
  const name = NAMES[at % NAMES.length];
  if (at % 3 === 0)
    return `The request of “${name}” for bucket:finance-eu/${'a-deep-folder/'.repeat(at % 25)} was approved within 2 seconds.`;
  if (at % 3 === 1) return `“${name}” has not had its key rotated for ${91 + at} days.`;
  return `“${name}” asked again for payments.transfer after it was denied, ${at} times within one hour.`;
}

/** A policy, a member or the account: also a deleted policy, and a member who was erased. */
function deciderOf(at: number): Omit<DeciderFigures, 'approved' | 'denied'> {
  const name = NAMES[at % NAMES.length] ?? '';
  if (at % 3 === 1) {
    const policy = { kind: 'policy' as const, role: null, voted: 0, signed: 0 };
    return {
      decided_by: idOf('policy', at),
      name: at === 7 ? null : `Policy for ${name}`,
      ...policy,
    };
  }
  if (at === 0)
    return {
      decided_by: idOf('user', 1),
      kind: 'person',
      name: null,
      role: null,
      voted: 0,
      signed: 0,
    };
  const [voted, signed] = [Math.floor(90_000 / at), Math.floor(140_000 / at)];
  const [known, erased] = [
    { name, role: MEMBER_ROLES[at % MEMBER_ROLES.length] ?? null },
    { name: null, role: null },
  ];
  return {
    decided_by: idOf('member', at),
    kind: 'person',
    ...(at === 3 ? erased : known),
    voted,
    signed,
    by_series: at * 11,
  };
}

/** The report of a large account: names in many scripts, long words, tables over many pages. */
export function sampleReport(): ReportContent {
  const months = MONTHS.map((month, at) => ({
    month,
    ...countsOf(42_000 + 9_731 * ((at * 7) % 12)),
  }));
  const total = (key: keyof Counts) => months.reduce((sum, month) => sum + month[key], 0);
  const [approved, denied] = [total('approved'), total('denied')];
  return {
    report_id: idOf('report', 1),
    report_type: 'soc2_type2',
    framework: 'SOC 2 Type II',
    account: {
      id: idOf('user', 1),
      name: 'Nordwind Handels GmbH · 北風貿易株式会社',
      plan: 'enterprise',
    },
    period: { start: '2025-11-01', end: '2026-10-31' },
    generated_at: '2026-11-20T17:56:12.294Z',
    statement:
      'This report is evidence drawn from the audit log of Countersign. It is not an attestation and not an audit opinion: whether the controls are suitably designed and work is for the auditor to judge.',
    integrity: {
      tree_size: 4_000,
      root_hash: 'f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2',
    },
    scope: [
      'All requests for permission that the agents of the account made between 2025-11-01 and 2026-10-31 (UTC), the decisions on them, and the use of the tokens that came of them.',
      'What agents did without asking Countersign is outside of what the log can show.',
    ],
    method: [
      'All figures were counted from the audit log as it stood when the report was made, up to the last entry of the period. Nothing was sampled for them.',
      'Each sentence on a control names the entries behind it; where there are many, the first of them. Every entry can be looked up by its id.',
    ],
    summary: {
      entries: total('entries'),
      by_event_type: {
        request: total('requests'),
        approve: approved,
        deny: denied,
        expire: total('expired'),
        use: total('tokens_used'),
        revoke: total('tokens_revoked'),
      },
      agents: 300,
      requests: total('requests'),
      approved,
      denied,
      expired: total('expired'),
      tokens_issued: total('tokens_issued'),
      tokens_used: total('tokens_used'),
      tokens_revoked: total('tokens_revoked'),
      approved_by_person: Math.floor(approved / 4),
      approved_by_policy: approved - Math.floor(approved / 4),
      approved_by_series: 0,
      denied_by_person: Math.floor(denied / 2),
      denied_by_policy: denied - Math.floor(denied / 2),
    },
    months,
    agents: Array.from({ length: 300 }, (_, at) => ({
      agent_id: idOf('agent', at),
      name: at < NAMES.length ? (NAMES[at] ?? '') : `Agent ${at} of ${NAMES[at % 6]}`,
      counts: countsOf(Math.floor(90_000 / (at + 1))),
    })),
    outcomes: {
      ...{ succeeded: 40_211, failed: 1_204, unknown: 212, awaited: 3 },
      unknown_acts: Array.from({ length: 200 }, (_, at) => ({
        permission_id: idOf('perm', at),
        agent_id: idOf('agent', at % 7),
        action: 'payment.send',
        resource: `account:${NAMES[at % 6]}`,
        used_at: '2026-03-04T05:06:07.000Z',
        summary: at % 3 === 0 ? null : `The bank did not answer, try ${at}`,
      })),
    },
    deciders: Array.from({ length: 40 }, (_, at) => ({
      ...deciderOf(at),
      approved: Math.floor(200_000 / (at + 1)),
      denied: Math.floor(31_000 / (at + 2)),
    })),
    controls: ['CC6.1', 'CC6.2', 'CC6.3', 'CC6.6', 'CC7.2', 'CC7.3'].map((id, at) => ({
      id,
      title: 'Logical access to information assets is restricted and authorised',
      evidence: Array.from({ length: 3 + (at % 3) }, (_, line) => ({
        text: `${(17_211 * (line + 1)).toLocaleString('en')} requests were decided before any access was granted; each approval carries the decider, the scope and a token that ends by itself.`,
        entries: 17_211 * (line + 1),
        entry_ids: idsOf('audit', at * 100 + line * 10, line === 0 ? 10 : 5),
      })),
      not_covered:
        'Access that does not go through Countersign, the identity of the people behind an account, and the reviews that the organisation makes outside of it.',
    })),
    exceptions: Array.from({ length: 60 }, (_, at) => ({
      kind:
        ['decision_within_seconds', 'key_not_rotated', 'asked_again_after_denial'][at % 3] ?? '',
      severity: (['high', 'medium', 'low'] as const)[at % 3] ?? 'low',
      text: exceptionText(at),
      entries: 1 + at * 37,
      entry_ids: idsOf('audit', 2_000 + at * 10, Math.min(1 + at * 37, 5)),
    })),
    activity: {
      by_action: {
        'agent.rotate_key': 31,
        'policy.create': 12,
        'policy.update': 44,
        'token.create': 9,
      },
      key_rotations: Array.from({ length: 31 }, (_, at) =>
        activityRecord(at, 'agent.rotate_key', ['grace_period: 86400']),
      ),
      configuration_changes: Array.from({ length: 40 }, (_, at) =>
        activityRecord(at, 'policy.update', [
          `resources: ["bucket:${'reports-'.repeat(at % 12)}*"] to ["bucket:finance-*"]`,
          'priority: 0 to 10',
        ]),
      ),
    },
    sample: Array.from({ length: 40 }, (_, at) => sampledEntry(at)),
  };
}

/** The report of an account without entries, all in Latin letters. */
export function plainReport(): ReportContent {
  const report = sampleReport();
  const none = (figures: Record<string, number>) =>
    Object.fromEntries(Object.keys(figures).map((key) => [key, 0]));
  return {
    ...report,
    account: { ...report.account, name: null },
    summary: {
      ...report.summary,
      ...none({
        ...countsOf(0),
        agents: 0,
        approved_by_person: 0,
        approved_by_policy: 0,
        approved_by_series: 0,
      }),
      ...none({ denied_by_person: 0, denied_by_policy: 0 }),
      by_event_type: {},
    },
    months: MONTHS.map((month) => ({ month, ...countsOf(0) })),
    agents: [],
    outcomes: { succeeded: 0, failed: 0, unknown: 0, awaited: 0, unknown_acts: [] },
    deciders: [],
    controls: report.controls.map((control) => ({ ...control, evidence: [] })),
    exceptions: [],
    activity: { by_action: {}, key_rotations: [], configuration_changes: [] },
    sample: [],
  };
}
