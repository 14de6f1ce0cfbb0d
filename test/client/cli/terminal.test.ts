import { expect, it } from 'vitest';
import type { Permission } from '../../../src/packages/client/api';
import { inboxColumns } from '../../../src/packages/client/cli/inbox/columns';
import { Names } from '../../../src/packages/client/cli/names';
import { formatPermission } from '../../../src/packages/client/cli/permission-card';
import { escapeText, printableJson } from '../../../src/packages/client/cli/terminal/escape';
import { withScriptsMark } from '../../../src/packages/client/cli/terminal/scripts';
import { styleFor } from '../../../src/packages/client/cli/terminal/style';
import { formatTable } from '../../../src/packages/client/cli/terminal/table';
import { MIXED_TEXTS, PATH_LABELS, UNSEEN_TEXTS } from '../../support/texts';

const NOW = Date.UTC(2026, 0, 31, 12);
/** Knows no name, so that ids stand for themselves. */
const NAMES = new Names({} as never);
const STYLE = styleFor({ isTTY: false } as never, { env: {} });

const PERMISSION = {
  id: 'perm_01m7x1m1tre75vaz5yvpbmvt6m',
  agent_id: 'agent_01m7x1m1tre75vaz5yvpbmvt6m',
  ...{
    action: 'mail.send',
    resource: 'mail:support',
    scope: { max: 5 },
    status: 'pending',
    title: 'Letter',
  },
  ...{ expires_at: '2026-01-31T13:00:00.000Z', created_at: '2026-01-31T12:00:00.000Z' },
} as unknown as Permission;

function card(permission: Permission): string[] {
  return formatPermission(permission, {
    width: 120,
    style: STYLE,
    baseUrl: 'https://countersign.test',
    now: NOW,
    names: NAMES,
  });
}

it.each(UNSEEN_TEXTS)('%j is printed with its unseen characters as escapes', (text, shown) => {
  expect(escapeText(text)).toBe(shown.replace(/\{[0-9a-f]+\}/g, (code) => `\\u${code}`));
});

it.each(MIXED_TEXTS)('%j mixes the scripts: %s', (text, scripts) => {
  expect(withScriptsMark(text)).toBe(scripts === '' ? text : `${text} (mixed scripts: ${scripts})`);
});

it('limits are JSON, so no two are printed alike, and none like a line of the card', () => {
  const scopes = PATH_LABELS.map(
    ([path]) => path.reduceRight<unknown>((value, key) => ({ [key]: value }), 1) as object,
  );
  const lines = scopes.map((scope) =>
    card({ ...PERMISSION, scope } as Permission).find((line) => /^Limits /.test(line)),
  );
  expect(new Set(lines.map((line) => line?.normalize())).size).toBe(scopes.length);
  expect(lines[0]).toBe('Limits      {"max_recipients":1}');
  expect(lines[5]).toBe('Limits      {"Times it may act":1}');
  for (const scope of scopes) {
    expect(card({ ...PERMISSION, scope } as Permission)).toHaveLength(card(PERMISSION).length);
    expect(JSON.parse(printableJson(scope))).toEqual(scope);
  }
});

it('the card marks words that mix scripts: of the resource, the limits and what the agent wrote', () => {
  const word = 'p\u0430ypal';
  const lines = card({
    ...{ ...PERMISSION, resource: `account:${word}`, scope: { [word]: 1 }, reason: word },
    preview: {
      title: word,
      summary: word,
      fields: [{ label: word, value: word }],
      blocks: [{ kind: 'text', text: word }],
    },
  } as unknown as Permission);
  const mixed = lines.filter((line) => line.includes(word));
  expect(mixed).toHaveLength(8);
  for (const line of mixed)
    expect(line).toMatch(/p\u0430ypal[^ ]* \(mixed scripts: Latin, Cyrillic\)$/);
});

it('the inbox names the scripts that a request mixes in a column that is never cut', () => {
  const requests = [PERMISSION, { ...PERMISSION, resource: `mail:${'x'.repeat(100)}p\u0430ypal` }];
  const [head, plain, mixed] = formatTable(requests, inboxColumns(NOW, NAMES), 80, STYLE);
  expect(head).toMatch(/^LEFT +MIXED SCRIPTS +AGENT/);
  expect(plain).toMatch(/^1 h +agent_/);
  expect(mixed).toMatch(/^1 h +Latin, Cyrillic +agent_/);
  expect(formatTable([PERMISSION], inboxColumns(NOW, NAMES), 80, STYLE)[0]).not.toContain(
    'SCRIPTS',
  );
});
