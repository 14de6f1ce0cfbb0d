import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import type { EntryDetails } from '../../src/ledger/entry';
import { detailsText, readDetails, storedDetails } from '../../src/ledger/stored-details';
import { World } from '../support/world';

const DETAILS: EntryDetails[] = [
  {
    action: 'mail.send',
    resource: 'mailbox:"\\u0000é',
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
    policy_id: 'policy_x',
    expired: 'request',
  },
];

it.each(DETAILS)(
  'the details of an entry are the same text after they were stored: $action',
  (details) => {
    const stored = storedDetails(details);
    expect(JSON.parse(stored)).not.toHaveProperty('action');
    expect(detailsText(details.action, stored)).toBe(JSON.stringify(details));
    expect(JSON.stringify(readDetails(details.action, JSON.parse(stored)))).toBe(
      JSON.stringify(details),
    );
  },
);

it('an entry is stored with its action once', async () => {
  const world = new World();
  await (await (await world.account()).agent()).request({ action: 'x.other' });
  const account = await world.account();
  await (await account.agent()).request({ action: 'x.twice' });
  const [entry] = await account.log();
  expect(Object.keys(entry?.details).slice(0, 2)).toEqual(['action', 'resource']);
  expect(entry?.details.action).toBe('x.twice');
  const stored = await env.DB.prepare('select * from audit_entries order by pos desc').first();
  expect(JSON.stringify(stored).split('x.twice')).toHaveLength(2);
});
