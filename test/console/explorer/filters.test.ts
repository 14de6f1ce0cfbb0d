import { expect, it } from 'vitest';
import { readText } from '../../support/html';
import { makeMember } from '../../support/members';
import type { Answer, Json } from '../../support/world';
import { cellsOf, makePayouts, shown } from './scene';

/** What a form of the page that is sent to the explorer says, with some fields changed. */
function fill({ text }: Answer, fields: Record<string, string>): string {
  const [, form = ''] = text.split('<form method="get" action="/console/audit">');
  const inner = form.slice(0, form.indexOf('</form>'));
  const names = [...inner.matchAll(/<(?:input|select)[^>]* name="([^"]+)"/g)].map(
    ([, name]) => name,
  );
  for (const name of Object.keys(fields)) expect(names).toContain(name);
  const empty = Object.fromEntries(names.map((name) => [name, '']));
  return `/console/audit?${new URLSearchParams({ ...empty, ...fields })}`;
}

let scene: ReturnType<typeof makePayouts> | undefined;
function payouts() {
  scene ??= makePayouts();
  return scene;
}

const sequences = (log: Json[], matches: (entry: Json) => boolean) =>
  log.filter(matches).map(({ sequence }) => sequence);

it('answers who approved payouts of an amount to a supplier in one form', async () => {
  const { auditor, bea, log } = await payouts();
  const opened = await auditor.browser.get('/console/audit');
  const asked = {
    event_type: 'approve',
    resource: 'account:supplier-*',
    decided_by: bea.id,
    scope_min: '1500',
    scope_max: '4500',
    period: 'month',
  };
  const page = await auditor.browser.get(fill(opened, asked));
  const expected = sequences(
    log,
    ({ event_type, details }) =>
      event_type === 'approve' &&
      details.decided_by === bea.id &&
      details.scope.amount >= 1500 &&
      details.scope.amount <= 4500,
  );
  expect(expected).toHaveLength(3);
  expect([page.status, shown(page), page.cost.trips]).toEqual([200, expected, 2]);
  const text = readText(page.text);
  expect(text).toContain('Amount: amount at least 1,500, at most 4,500Remove');
  expect(text).toContain('When: This month, by the clocks of UTC');
  expect(text).toContain('3 entries match.');
  expect(text).toContain('1,500 EUR (amount) and 1 more');
  const [, removed = ''] =
    /href="([^"]+)" aria-label="Remove the filter Amount"/.exec(page.text) ?? [];
  expect(removed).not.toContain('scope_');
  // A name that the agent chose, instead of the usual one.
  const none = await auditor.browser.get('/console/audit?scope_key=max_amount&scope_min=0');
  expect(readText(none.text)).toContain('No entry matches these filters.');
  // The count of the timeline is not taken for what was found.
  expect(readText(none.text)).toMatch(/Without the filters: \d+ entries/);
  const all = readText((await auditor.browser.get('/console/audit')).text);
  expect(all).not.toMatch(/Without the filters|entries match/);
});

it('says at its field what is wrong with an amount', async () => {
  const { auditor } = await payouts();
  const query = 'scope_min=1%2C000&scope_max=2000&resource=account:*';
  const page = await auditor.browser.get(`/console/audit?${query}`);
  expect([page.status, page.text]).toEqual([
    400,
    expect.stringMatching(/value="1,000"[^>]*>.*field-scope_min-fault/s),
  ]);
  const reversed = await auditor.browser.get('/console/audit?scope_min=2&scope_max=1');
  expect([reversed.status, reversed.text]).toEqual([
    400,
    expect.stringContaining('must not be above scope_max'),
  ]);
  const unbounded = await auditor.browser.get('/console/audit?scope_key=amount');
  expect([unbounded.status, unbounded.text]).toEqual([
    400,
    expect.stringContaining('field-scope_key-fault'),
  ]);
});

it('shows the number that it read from an amount, in the language of the reader', async () => {
  const { auditor } = await payouts();
  const chipsIn = async (language: string, query: string) => {
    const headers = { 'Accept-Language': language };
    const { text } = await auditor.browser.send('GET', `/console/audit?${query}`, { headers });
    return readText(/<ul class="chips".*?<\/ul>/s.exec(text)?.[0] ?? '');
  };
  // A reader of German may mean one thousand five hundred.
  const typed = 'scope_max=1.500';
  expect(await chipsIn('de', typed)).toContain('Amount: amount at most 1,5Remove');
  expect(await chipsIn('en', typed)).toContain('Amount: amount at most 1.5Remove');
  const range = 'scope_min=1500.5&scope_max=2e3';
  expect(await chipsIn('de', range)).toContain('at least 1.500,5, at most 2.000Remove');
  expect(await chipsIn('de', 'scope_min=1500&scope_max=1500')).toContain('amount 1.500Remove');
  // What is no number is shown as it was typed.
  expect(await chipsIn('de', 'scope_min=1,000')).toContain('at least 1,000Remove');
  const { text } = await auditor.browser.get('/console/audit');
  for (const name of ['scope_min', 'scope_max'])
    expect(text).toContain(`id="field-${name}-hint">Without separators, such as 1500.5<`);
});

it('leads from every cell to the entries with the same', async () => {
  const { auditor, log } = await payouts();
  const page = await auditor.browser.get('/console/audit');
  const [first] = log;
  const cells = cellsOf(page);
  expect([...cells.keys()]).toEqual([
    ...['Entry', 'Time', 'Event', 'Agent', 'Action', 'Resource', 'Amount', 'Decided by'],
  ]);
  const same: Record<string, (entry: Json) => boolean> = {
    Time: ({ created_at }) => created_at.slice(0, 10) === first.created_at.slice(0, 10),
    Event: ({ event_type }) => event_type === first.event_type,
    Agent: ({ agent_id }) => agent_id === first.agent_id,
    Action: ({ details }) => details.action === first.details.action,
    Resource: ({ details }) => details.resource === first.details.resource,
    Amount: ({ details }) => details.scope.amount === first.details.scope.amount,
    'Decided by': ({ details }) => details.decided_by === first.details.decided_by,
  };
  for (const [name, isSame] of Object.entries(same)) {
    const filtered = await auditor.browser.get(cells.get(name) ?? '');
    expect([name, shown(filtered)]).toEqual([name, sequences(log, isSame)]);
  }
  expect(cells.get('Entry')).toBe(`/console/audit/${first.id}`);
  // A cell adds to the filters that are there.
  const narrowed = cellsOf(await auditor.browser.get('/console/audit?action=payout.send'));
  expect(narrowed.get('Amount')).toContain('action=payout.send&');
});

it('makes no filter of a number that cannot be one', async () => {
  const { world } = await payouts();
  const account = await world.account();
  const agent = await account.agent();
  const { browser } = await makeMember(account, 'auditor');
  for (const scope of [{ limits: { amount: 5 } }, { '': 5 }, { ' amount': 5 }, { name: 'five' }]) {
    await agent.request({ scope });
    expect(cellsOf(await browser.get('/console/audit')).get('Amount')).toBe('');
  }
  await agent.request({ scope: { amount: 1e21 } });
  const link = cellsOf(await browser.get('/console/audit')).get('Amount') ?? '';
  expect(shown(await browser.get(link))).toHaveLength(1);
});
