import { expect, it } from 'vitest';
import type { Browser } from '../../support/browser';
import { readHiddenFields } from '../../support/html';
import type { Json, TestAccount } from '../../support/world';
import { makePayouts, shown } from './scene';

/** Sends the export form of a page. */
async function exportShown(account: TestAccount, browser: Browser, query: string): Promise<Json> {
  const page = await browser.get(`/console/audit?${query}`);
  const hidden = readHiddenFields(page.text, '/console/audit/export');
  const started = await browser.submit('/console/audit/export', { ...hidden, format: 'json' });
  expect([started.status, started.headers.get('Location')]).toEqual([303, '/console/exports']);
  await account.world.work();
  account.world.advance(1);
  const { body } = await account.must(200, 'GET', '/v1/audit/export?limit=1');
  return { ...body.data[0], shown: shown(page).length };
}

it('exports exactly what is shown, with every filter', async () => {
  const { account, auditor, bea } = await makePayouts();
  for (const query of [
    'action=payout.send&scope_min=500&scope_max=5000',
    `resource=account:supplier-*&decided_by=${bea.id}&event_type=approve&scope_min=1`,
    'period=today&zone=Asia%2FTokyo&action=payout.send',
    'period=week&resource=account:supplier-1',
    'scope_max=-1',
  ]) {
    const made = await exportShown(account, auditor.browser, query);
    expect([query, made.status, made.row_count]).toEqual([query, 'completed', made.shown]);
  }
  const made = await exportShown(account, auditor.browser, 'scope_min=500&action=payout.send');
  expect(made).toMatchObject({ scope_key: 'amount', scope_min: 500, action: 'payout.send' });
  // A form that somebody wrote by hand gets no more than it says.
  const forged = { permission_id: 'perm_x', format: 'json' };
  const refused = await auditor.browser.submit('/console/audit/export', forged);
  expect(refused.status).toBe(400);
});
