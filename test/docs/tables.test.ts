import { expect, it } from 'vitest';
import { MAX_MEMBERS } from '../../src/accounts/members/member';
import { MAX_AGENTS } from '../../src/agents/create';
import { TASKS } from '../../src/background/tasks';
import { MEMBER_ROLES } from '../../src/db/schema';
import api from '../../src/docs/guides/api.md?raw';
import mcpGuide from '../../src/docs/guides/mcp.md?raw';
import operations from '../../src/docs/guides/operations.md?raw';
import people from '../../src/docs/guides/people.md?raw';
import policyGuide from '../../src/docs/guides/policies.md?raw';
import webhookGuide from '../../src/docs/guides/webhooks.md?raw';
import { PROBLEMS } from '../../src/errors';
import { FILE_LIFETIME, FILE_RECORD_LIFETIME, MAX_PROCESSING } from '../../src/files/file';
import { type Principal, SCOPES } from '../../src/http/context';
import {
  BODY_LIMITS,
  MAX_BODY_BYTES,
  MAX_FORM_PARAMETERS,
  MAX_QUERY_CHARACTERS,
} from '../../src/http/input';
import { MAX_PROBLEM_BYTES } from '../../src/http/problem';
import { RATE_LIMITS } from '../../src/http/rate-limit';
import { MAX_PASSKEYS } from '../../src/identity/passkeys/passkey';
import { ROLE_SCOPES } from '../../src/identity/roles';
import { MAX_USER_TOKENS } from '../../src/identity/tokens/user-token';
import { MAX_LOG_LENGTH } from '../../src/ledger/append';
import { RETENTION_DAYS } from '../../src/lib/plans';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/lib/time';
import { TOOLS } from '../../src/mcp/tools';
import { DELIVERY_LIFETIME } from '../../src/outbox/feed';
import { REPORT_PERIOD } from '../../src/permissions/outcomes/outcome';
import { MAX_CONTENT_BYTES } from '../../src/permissions/preview';
import {
  MAX_PENDING_REQUESTS,
  MAX_PENDING_REQUESTS_OF_AGENT,
} from '../../src/permissions/requests/pending-quota';
import { MAX_POLICIES } from '../../src/policies/policy';
import { MAX_CHANNELS } from '../../src/receivers/channels/channel';
import { MAX_DEVICES } from '../../src/receivers/channels/push/device';
import { REQUEST_TIMEOUT } from '../../src/receivers/dispatch/limits';
import { MAX_ANSWER_BYTES } from '../../src/receivers/dispatch/send';
import { RETRY_DELAYS } from '../../src/receivers/dispatch/update-delivery';
import { MAX_WEBHOOKS } from '../../src/receivers/webhooks/webhook';
import { MAX_PERIOD_DAYS } from '../../src/reports/create';
import { type Json, World } from '../support/world';

const { body: document } = await new World().must(200, 'GET', '/openapi.json');
const schemas: Record<string, Json> = document.components.schemas;

/** The rows of the first table in a section of a guide, without the header. */
function tableOf(guide: string, section: string): string[][] {
  const [, text = ''] = guide.split(`\n## ${section}\n`);
  const [table = ''] = /(?:^\|.*\n)+/m.exec(text) ?? [];
  const rows = table.trim().split('\n').slice(2);
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** A field of a request as the OpenAPI document describes it. */
function field(schema: string, name: string): Json {
  return schemas[schema]?.properties[name];
}

const number = (value: number) => value.toLocaleString('en');
const kib = (bytes: number) => `${bytes / 1024} KiB`;
const range = ({ minimum, maximum }: Json) =>
  `${duration(minimum * SECOND)} to ${duration(maximum * SECOND)}`;

/** The size and depth that the description of a free-form object states. */
function objectLimit(schema: string, name: string): string {
  const [, size, levels] =
    /At most (\d+ KiB) of compact JSON and (\d+) levels/.exec(field(schema, name).description) ??
    [];
  return `${size}, ${levels} levels`;
}

/** The size and number that bound a list of patterns. */
function patternLimit({ description, maxItems }: Json): string {
  const [, bytes] = /At most (\d+) bytes/.exec(description) ?? [];
  return `${maxItems} patterns, ${kib(Number(bytes))} together`;
}

/** The greatest numbers of fields and blocks of a preview. */
function previewLists(): string {
  const { fields, blocks } = schemas.Preview?.properties ?? {};
  return `${fields.maxItems} fields, ${blocks.maxItems} blocks`;
}

function duration(milliseconds: number): string {
  const units = [
    [DAY, 'days'],
    [HOUR, 'hours'],
    [MINUTE, 'minutes'],
    [SECOND, 'seconds'],
  ] as const;
  const [unit, name] = units.find(
    ([unit]) => milliseconds >= unit * 2 && milliseconds % unit === 0,
  ) ?? [SECOND, 'seconds'];
  return `${number(milliseconds / unit)} ${name}`;
}

const requests = ({ quota, window }: { quota: number; window: number }) =>
  `${number(quota)} in ${window} seconds`;

it('the guide API lists every problem code with its status and meaning', () => {
  const rows = Object.entries(PROBLEMS).map(([code, { status, meaning }]) => [
    `\`${code}\``,
    String(status),
    meaning,
  ]);
  expect(tableOf(api, 'Errors')).toEqual(rows);
});

it('the guide API lists every reason for which a token cannot be used', () => {
  const reasons = tableOf(api, 'From request to use').map(([reason]) => reason);
  expect(reasons.toSorted()).toEqual(
    PROBLEMS.token_not_active.reasons.map((reason) => `\`${reason}\``).toSorted(),
  );
});

it('the guide MCP lists every tool with who may call it', () => {
  const account = {
    number: 1,
    id: 'user_x',
    plan: 'pro',
    auditRetentionDays: null,
    isStopped: false,
  } as const;
  const agent = {
    kind: 'agent',
    shard: '00',
    account,
    agent: { number: 1, id: 'agent_x', owner: null },
  } as const;
  const user = (scope: (typeof SCOPES)[number]) =>
    ({
      kind: 'user',
      shard: '00',
      account,
      member: null,
      token: null,
      scopes: [scope],
      expiresAt: null,
    }) as const;
  const admits = (tool: (typeof TOOLS)[number], principal: Principal) => {
    try {
      return tool.admit(principal) === principal;
    } catch {
      return false;
    }
  };
  const rows = TOOLS.map((tool) => {
    const callers = [
      ...(admits(tool, agent) ? ['agent key'] : []),
      ...SCOPES.flatMap((scope) => (admits(tool, user(scope)) ? [`user token, \`${scope}\``] : [])),
    ];
    return [`\`${tool.name}\``, callers.join(', or ')];
  });
  expect(tableOf(mcpGuide, 'Tools').map((row) => row.slice(0, 2))).toEqual(rows);
});

it('the guide webhooks lists the delays between the attempts of a webhook', () => {
  const waits = tableOf(webhookGuide, 'Answers and retries').map(([attempt, wait]) => [
    Number(attempt),
    wait,
  ]);
  expect(waits).toEqual(RETRY_DELAYS.map((step, i) => [i + 1, duration(step)]));
});

it('the guide API lists the limits', () => {
  const { free, pro, team, enterprise } = RETENTION_DAYS;
  const budget = schemas.PolicyBudget?.properties;
  expect(tableOf(api, 'Limits')).toEqual([
    ['agents of an account', number(MAX_AGENTS)],
    ['members of an account, without removed ones', number(MAX_MEMBERS)],
    ['passkeys of a member', number(MAX_PASSKEYS)],
    ['user tokens of an account itself, and of each member', number(MAX_USER_TOKENS)],
    ['policies of an account', number(MAX_POLICIES)],
    ['webhooks of an account', number(MAX_WEBHOOKS)],
    ['channels of an account', number(MAX_CHANNELS)],
    ['devices of a member', number(MAX_DEVICES)],
    ['pending requests of an agent', number(MAX_PENDING_REQUESTS_OF_AGENT)],
    ['pending requests of an account', number(MAX_PENDING_REQUESTS)],
    ['log entries of an account', number(MAX_LOG_LENGTH)],
    ['exports and reports in progress', number(MAX_PROCESSING)],
    ['`name` of an agent', `${field('AgentCreation', 'name').maxLength} characters`],
    [
      '`description` of an agent',
      `${number(field('AgentCreation', 'description').maxLength)} characters`,
    ],
    ['`metadata` of an agent', objectLimit('AgentCreation', 'metadata')],
    ['`action`', `${field('PermissionRequest', 'action').maxLength} characters`],
    ['`resource`', `${field('PermissionRequest', 'resource').maxLength} characters`],
    ['`scope` of a request', objectLimit('PermissionRequest', 'scope')],
    ['`input` of a request', kib(MAX_CONTENT_BYTES)],
    ['`preview` of a request', `${kib(MAX_CONTENT_BYTES)}, ${previewLists()}`],
    ['`external_id`', '255 visible ASCII characters'],
    ['`reason`', `${number(field('PermissionRequest', 'reason').maxLength)} characters`],
    [
      '`summary` of an outcome',
      `${number(field('OutcomeReport', 'summary').maxLength)} characters`,
    ],
    ['time to report an outcome', duration(REPORT_PERIOD)],
    ['`expires_in`', range(field('PermissionRequest', 'expires_in'))],
    ['`token_ttl`', range(field('PermissionRequest', 'token_ttl'))],
    ['`max_uses`', `1 to ${number(field('PermissionRequest', 'max_uses').maximum)}`],
    [
      '`grace_period` of a rotated key',
      `up to ${duration(field('KeyRotation', 'grace_period').maximum * SECOND)}`,
    ],
    ['`actions` of a policy', patternLimit(field('PolicyCreation', 'actions'))],
    ['`resources` of a policy', patternLimit(field('PolicyCreation', 'resources'))],
    ['`conditions` of a policy', objectLimit('PolicyCreation', 'conditions')],
    ['requests of a budget', `1 to ${number(budget.requests.maximum)}`],
    ['sum of a budget', `below ${number(budget.sum.properties.max.exclusiveMaximum)}, 6 decimals`],
    ['`url` of a webhook', `${number(field('WebhookCreation', 'url').maxLength)} characters`],
    ['days of a compliance report', number(MAX_PERIOD_DAYS)],
    [
      'body of a request',
      `${MAX_BODY_BYTES / 1024 ** 2} MiB, ${BODY_LIMITS.levels} levels, ${number(BODY_LIMITS.values)} values`,
    ],
    ['query string', kib(MAX_QUERY_CHARACTERS)],
    ['parameters of a form', number(MAX_FORM_PARAMETERS)],
    ['problem document', kib(MAX_PROBLEM_BYTES)],
    ['requests of one credential', requests(RATE_LIMITS.credential)],
    ['requests of one account, with all its credentials', requests(RATE_LIMITS.account)],
    [
      'requests of one address (IPv6: its /64) that fail authentication',
      requests(RATE_LIMITS.address),
    ],
    ['attempts of a webhook message', number(RETRY_DELAYS.length + 1)],
    ['time for an answer to a webhook message', duration(REQUEST_TIMEOUT)],
    ['bytes of that answer that are read', kib(MAX_ANSWER_BYTES)],
    ['a delivery is shown for', duration(DELIVERY_LIFETIME)],
    ['a finished file can be downloaded for', duration(FILE_LIFETIME)],
    ['an export or report is listed for, after it ended', duration(FILE_RECORD_LIFETIME)],
    [
      'audit entries are shown for, by plan',
      `free ${free} days, pro ${pro}, team ${team}, enterprise up to ${number(enterprise)}`,
    ],
  ]);
});

it('the guide operations lists the background tasks with their schedules', () => {
  const tasks = tableOf(operations, 'Background tasks').map(([name, schedule]) => [name, schedule]);
  const expected = TASKS.map(({ name, schedule }) => [`\`${name}\``, schedule.replace('_', ' ')]);
  expect(tasks.toSorted()).toEqual(expected.toSorted());
});

it('the guide policies lists the operators of a condition', () => {
  const [, text = ''] = policyGuide.split('\n| condition | holds when the value is |\n');
  const [table = ''] = text.split('\n\n');
  const operators = [...table.matchAll(/"(\w+)":/g)].map(([, operator]) => operator);
  expect(new Set(operators)).toEqual(new Set(Object.keys(schemas.PolicyCondition?.properties)));
});

it('the guide people lists the scopes of every role', () => {
  const scopes = tableOf(people, 'Roles').map(([role, , scopes]) => [role, scopes]);
  const expected = MEMBER_ROLES.map((role) => {
    const list = ROLE_SCOPES[role];
    return [
      `\`${role}\``,
      list.length === SCOPES.length ? 'all' : list.map((scope) => `\`${scope}\``).join(' '),
    ];
  });
  expect(scopes).toEqual(expected);
});
