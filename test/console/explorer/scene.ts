import { approve, makeReview } from '../../support/reviews';
import { type Answer, World } from '../../support/world';

const HOUR = 3_600_000;

/** The sequences of the entries that a page lists. */
export const shown = ({ text }: Answer) =>
  [...text.matchAll(/>#(\d+)<\/a><\/th>/g)].map(([, sequence]) => Number(sequence));

/** The addresses that the cells of the first row lead to, by the name of the column. */
export function cellsOf({ text }: Answer): Map<string, string> {
  const [, table = ''] = text.split('<caption class="hidden">Entries</caption>');
  const names = [...table.matchAll(/<th scope="col"[^>]*>([^<]*)<\/th>/g)].map(([, name]) => name);
  const [, row = ''] = /<tbody[^>]*>(.*?)<\/tr>/s.exec(table) ?? [];
  const cells = row.split(/<t[hd] /).slice(1);
  const links = cells.map((cell) => /href="([^"]+)"/.exec(cell)?.[1]?.replaceAll('&amp;', '&'));
  return new Map(links.map((link, index) => [names[index] ?? '', link ?? '']));
}

/**
 * An account whose payouts two of its people decide, over some days, and whose neighbour has a
 * history of its own.
 */
export async function makePayouts() {
  const world = new World();
  const neighbour = await makeReview({ approvals: 1 }, ['approver'], { world });
  await neighbour.agent.request({ resource: 'account:supplier-3', scope: { amount: 4_000 } });
  const scene = await makeReview({ approvals: 1 }, ['approver', 'approver', 'auditor'], { world });
  const [ada, bea, auditor] = scene.people;
  for (let i = 0; i < 12; i++) {
    const { id } = await scene.agent.request({
      action: i % 4 ? 'payout.send' : 'payout.plan',
      resource: `account:supplier-${i % 5}`,
      scope: { amount: i * 500, currency: 'EUR', nested: { amount: 1 } },
    });
    await approve(scene, i % 3 ? ada : bea, id);
    world.advance(8 * HOUR);
  }
  for (const { browser } of [ada, bea, auditor]) await browser.signIn();
  const log = (await scene.account.log()).reverse();
  return { ...scene, ada, bea, auditor, log };
}
