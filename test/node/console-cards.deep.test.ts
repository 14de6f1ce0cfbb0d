import { writeFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CHROMIUM,
  callApi,
  joinByPasskey,
  type LocalConsole,
  makeUserToken,
  startConsole,
} from '../support/local/console';

/** The window of a phone. */
const PHONE = { width: 390, height: 844 };
/** A folder for pictures of the cards, and for what is true of each. */
const { PICTURES } = process.env;

/** What an agent asks for, and in which words. */
interface Planted {
  agent: string;
  amount: number;
  to: string;
  /** What the agent's words say instead. */
  said?: { amount?: number; to?: string };
}

const AGENTS = ['Accounts payable', 'Travel desk', 'Refund helper'];

/** In which of the cards the agent's words say another amount, and another recipient. */
const OTHER_AMOUNT = [3, 4, 11, 18, 26];
const OTHER_RECIPIENT = [1, 8, 9, 20, 29];

const CARDS = Array.from({ length: 30 }, (_, index): Planted => {
  const agent = AGENTS[(index * 5 + Math.floor(index / 4)) % AGENTS.length] ?? '';
  const amount = 120 + ((index * 7_919) % 9_000);
  const to = `supplier-${index + 1}`;
  if (OTHER_AMOUNT.includes(index))
    return { agent, amount, to, said: { amount: Math.round(amount / 10) } };
  if (OTHER_RECIPIENT.includes(index)) return { agent, amount, to, said: { to: 'supplier-99' } };
  return { agent, amount, to };
});

describe.skipIf(!CHROMIUM)('30 cards on a phone', () => {
  let local: LocalConsole;
  let page: Page;
  const ids: string[] = [];

  const call = (method: string, path: string, credential: string, body?: object) =>
    callApi(local.origin, { credential, method, path, body });

  beforeAll(async () => {
    local = await startConsole();
    const context = await local.browser.newContext({
      viewport: PHONE,
      hasTouch: true,
      isMobile: true,
      deviceScaleFactor: 2,
    });
    page = await context.newPage();
    await joinByPasskey(page, await local.inviteOwner());
    const token = await makeUserToken(page, local.origin);
    const keys = new Map<string, string>();
    for (const name of AGENTS)
      keys.set(name, (await call('POST', '/v1/agents', token, { name })).api_key);
    for (const { agent, amount, to, said } of CARDS) {
      const words = { amount, to, ...said };
      const { id } = await call('POST', '/v1/permissions', keys.get(agent) ?? '', {
        action: 'payout.send',
        resource: `account:${to}`,
        scope: { amount, currency: 'EUR' },
        input: { amount, currency: 'EUR', to },
        preview: {
          title: `Pay ${words.amount} EUR to ${words.to}`,
          fields: [
            { label: 'Amount', value: String(words.amount), kind: 'money', of: '/amount' },
            { label: 'To', value: words.to, of: '/to' },
          ],
        },
      });
      ids.push(id);
    }
  });

  afterAll(() => local?.stop());

  /** The text that the first screen shows of a card, without scrolling. */
  async function readFirstScreen(): Promise<string> {
    return (await page.evaluate(`
      [...document.querySelectorAll('main *')]
        .filter((part) => part.children.length === 0 || part.matches('p, li, h1'))
        .filter((part) => {
          const { top, bottom, height } = part.getBoundingClientRect();
          const bar = document.querySelector('.decision-bar').getBoundingClientRect().top;
          return height > 0 && top >= 0 && bottom <= bar && part.checkVisibility();
        })
        .map((part) => part.innerText)
        .join('\\n')`)) as string;
  }

  it('say in the first screen who asks for how much to whom, and what the words get wrong', async () => {
    for (const [index, { agent, amount, to, said }] of CARDS.entries()) {
      await page.goto(`${local.origin}/console/permissions/${ids[index]}`);
      const screen = await readFirstScreen();
      const number = amount.toLocaleString('en');
      for (const text of [agent, 'payout.send', `${number} EUR · account:${to}`])
        expect(screen).toContain(text);
      const warning = 'The agent’s words differ from what is binding.';
      expect([index, screen.includes(warning)]).toEqual([index, said !== undefined]);
      if (said?.amount)
        expect(screen).toContain(`said ${said.amount.toLocaleString('en')}, binding ${number}`);
      if (said?.to) expect(screen).toContain(`said ${said.to}, binding ${to}`);
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/five-seconds-${index + 1}.png` });
    }
    if (PICTURES) writeFileSync(`${PICTURES}/five-seconds.json`, JSON.stringify(CARDS, null, 2));
  });
});
