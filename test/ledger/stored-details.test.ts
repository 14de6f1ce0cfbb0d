import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import type { EntryDetails } from '../../src/ledger/entry';
import { detailsText, readDetails, storedDetails } from '../../src/ledger/stored-details';
import type { Id } from '../../src/lib/typeid';
import { World } from '../support/world';

const permission: Id<'perm'> = 'perm_01h2xcejqtf2nbrexx3vqjhp41';
const token_id: Id<'token'> = 'token_01h2xcejqtf2nbrexx3vqjhp41';
const none = { decided_by: null, decision_reason: null, policy_id: null };

const DETAILS: EntryDetails[] = [
  {
    action: 'mail.send',
    resource: 'mailbox:"\\u0000é\n\n\t\r',
    scope: JSON.parse('{"action":"mail.read","__proto__":{"2":1,"1":2},"amount":1e308}'),
    decided_by: null,
    decision_reason: '{"action":"x"}',
    policy_id: null,
  },
  {
    action: 'a.b_c-d',
    resource: 'file:a',
    scope: null,
    decided_by: 'member_x',
    decision_reason: null,
    policy_id: 'policy_01h2xcejqtf2nbrexx3vqjhp41',
    expired: 'request',
  },
  {
    action: 'scope.like_details',
    resource: ',"decided_by":null',
    scope: { a: 1, ...none, input_digest: null, token_id, b: ',"policy_id":null' },
    ...none,
    token_id,
  },
  {
    action: 'all.null',
    resource: 'r',
    scope: {},
    ...none,
    input_digest: null,
    preview_digest: null,
  },
  {
    action: 'other.token',
    resource: 'r',
    scope: {},
    ...none,
    token_id: 'token_01h2xcejqtf2nbrexx3vqjhp42',
    input_digest: 'sha-256:x',
    preview_digest: null,
  },
];

it.each(DETAILS)(
  'the details of an entry are the same text after they were stored: $action',
  (details) => {
    const stored = storedDetails({ permission, details });
    expect(JSON.parse(stored)).not.toHaveProperty('action');
    const subject = { action: details.action, permission };
    expect(detailsText(subject, stored)).toBe(JSON.stringify(details));
    expect(JSON.stringify(readDetails(subject, stored))).toBe(JSON.stringify(details));
  },
);

it('details that were stored in full are read as they are', () => {
  const details: EntryDetails = { action: 'a', resource: 'r', scope: null, ...none, token_id };
  const { action, ...stored } = details;
  const text = detailsText({ action, permission }, JSON.stringify(stored));
  expect(text).toBe(JSON.stringify(details));
});

it('an entry is stored with its action and without what does not apply', async () => {
  const world = new World();
  await (await (await world.account()).agent()).request({ action: 'x.other' });
  const account = await world.account();
  const { id } = await (await account.agent()).request({ action: 'x.twice' });
  const { body } = await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
  const entries = await account.log();
  const names = ['action', 'resource', 'scope', 'decided_by', 'decision_reason', 'policy_id'];
  for (const entry of entries) {
    expect(Object.keys(entry.details).slice(0, 6)).toEqual(names);
    expect(entry.details).toMatchObject({ action: 'x.twice', policy_id: null, input_digest: null });
  }
  expect(entries[1]?.details.token_id).toBe(body.token.id);
  const { results } = await env.DB.prepare(
    'select * from audit_entries order by pos desc limit 2',
  ).all<{ details: string }>();
  for (const row of results) {
    expect(JSON.stringify(row).split('x.twice')).toHaveLength(2);
    expect(row.details).not.toMatch(/null|token_/);
  }
});
