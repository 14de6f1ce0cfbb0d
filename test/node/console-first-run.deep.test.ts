import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  addAuthenticator,
  CHROMIUM,
  type LocalConsole,
  startConsole,
} from '../support/local/console';

/** A folder for pictures of the pages, to look at; without it none are made. */
const PICTURES = process.env.PICTURES ?? '';

describe.skipIf(!CHROMIUM)('the first run in Chromium', () => {
  let local: LocalConsole;
  let page: Page;

  beforeAll(async () => {
    local = await startConsole();
    if (PICTURES) mkdirSync(PICTURES, { recursive: true });
    const context = await local.browser.newContext({ reducedMotion: 'reduce' });
    page = await context.newPage();
    await addAuthenticator(page);
  });

  afterAll(() => local.stop());

  /** Makes pictures of the page in both schemes, narrow and wide. */
  async function picture(name: string): Promise<void> {
    if (!PICTURES) return;
    for (const scheme of ['light', 'dark'] as const) {
      for (const width of [390, 1280]) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize({ width, height: 844 });
        const path = join(PICTURES, `${name}-${scheme}-${width}.png`);
        await page.screenshot({ path, fullPage: true });
      }
    }
  }

  it('leads from the invitation to the first request, which the page of the key announces', async () => {
    await page.goto(await local.inviteOwner());
    await picture('invitation');
    await page.getByLabel('Your name').fill('Ada Lovelace');
    await page.click('text=Make a passkey and join');
    await page.waitForURL('**/console');
    await picture('first-page');
    expect(await page.textContent('.who bdi')).toBe('Ada Lovelace');
    await page.click('.checklist >> text=Register an agent');
    await page.fill('input[name=name]', 'Greeter');
    await page.click('button:has-text("Register it")');
    await page.getByText('Waiting for the first request…').waitFor();
    await picture('key');
    const shown = () => page.locator('.code-tabs pre:visible').allTextContents();
    expect((await shown())[0]).toMatch(/^curl /);
    for (const [tab, start] of [
      ['JavaScript', 'const response'],
      ['Python', 'import urllib'],
      ['guard()', 'import { Countersign }'],
    ] as const) {
      await page.getByText(tab, { exact: true }).first().click();
      const codes = await shown();
      expect([codes.length, codes[0]?.startsWith(start)]).toEqual([1, true]);
    }
    await picture('key-guard');
    const code = (await page.textContent('#python')) ?? '';
    execFileSync('python3', ['-c', code]);
    execFileSync('sh', ['-c', (await page.textContent('#curl')) ?? ''], { stdio: 'ignore' });
    execFileSync(process.execPath, [
      '--input-type=module',
      '-e',
      (await page.textContent('#javascript')) ?? '',
    ]);
    await page.getByText('The first request has arrived.').waitFor({ timeout: 30_000 });
    await picture('key-arrived');
    await page.click('text=Open the request');
    expect(await page.textContent('h1')).toContain('demo:first');
    await page.goto(`${local.origin}/console`);
    await picture('inbox');
  }, 120_000);

  it('says above the form of a policy what the form says, while it is filled in', async () => {
    await page.goto(`${local.origin}/console/policies/new`);
    const sentence = page.locator('.in-words');
    await page.getByLabel('Actions').fill('email.*');
    await page.locator('[name=effect][value=approve]').check();
    await page.getByLabel('Resources').fill('*');
    await sentence.getByText('Approves email.* on every resource by every agent').waitFor();
    await picture('policy');
    await page.getByText('More: priority').click();
    await page.getByLabel('Token lifetime', { exact: true }).fill('2');
    await page.getByLabel('Token lifetime: unit').selectOption('hour');
    await sentence.getByText('The token is valid for at most 2 h.').waitFor();
    await page.locator('[name=effect][value=review]').check();
    await picture('policy-review');
    await sentence.getByText('1 person who may decide has to approve').waitFor();
  }, 60_000);

  /** Invites a person in the console. Returns the address of the invitation. */
  async function invite(email: string, role: string): Promise<string> {
    await page.getByLabel('E-mail').fill(email);
    await page.locator(`[name=role][value=${role}]`).check();
    await page.click('text=Make the invitation');
    return (await page.textContent('#secret')) ?? '';
  }

  it('says who is missing when a reviewer is removed, and marks the policy that falls short', async () => {
    await page.goto(`${local.origin}/console/members/new`);
    const invitation = await invite('bea@example.com', 'approver');
    await picture('invited');
    await page.click('text=Invite another');
    await invite('cem@example.com', 'approver');
    const other = await (await local.browser.newContext()).newPage();
    await addAuthenticator(other);
    await other.goto(invitation);
    await other.click('text=Make a passkey and join');
    await other.waitForURL('**/console');
    await page.goto(`${local.origin}/console/policies/new`);
    await page.getByLabel('Name').fill('Large payouts');
    await page.getByLabel('Actions').fill('payout.*');
    await page.getByLabel('Resources').fill('*');
    await page.getByLabel('How many have to approve').fill('2');
    for (const name of ['Ada Lovelace', 'bea@example.com']) {
      await page.locator('.only-review .choices').first().getByText(name).check();
    }
    await page.getByText('2 of these have to approve: bea@example.com and Ada Lovelace').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL('**/console/policies');
    await page.goto(`${local.origin}/console/members`);
    await page.click('text=bea@example.com');
    const asked = page.locator('[name=change_replacement]');
    for (const [role, isAsked] of [
      ['approver', false],
      ['developer', true],
      ['admin', false],
      ['owner', false],
      ['auditor', true],
    ] as const) {
      await page.locator(`[name=role][value=${role}]`).check();
      expect([role, await asked.isVisible()]).toEqual([role, isAsked]);
    }
    await picture('reviewer-role');
    await page.locator('[name=role][value=approver]').check();
    await page.click('text=Remove from the account');
    await picture('reviewer');
    await page
      .getByLabel('Who reviews instead')
      .last()
      .selectOption({ label: 'cem@example.com (invited)' });
    await page.getByLabel('To confirm').fill('bea@example.com');
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('leaves “Large payouts” with too few reviewers').waitFor();
    await picture('reviewer-refused');
    await page.getByLabel('Who reviews instead').last().selectOption('');
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('cannot sign in').or(page.getByText('removed')).first().waitFor();
    await page.goto(`${local.origin}/console/policies`);
    await page.getByText('too few reviewers').waitFor();
    await picture('policies');
    await page.click('text=Large payouts');
    await page.getByText('Too few reviewers:').waitFor();
    await picture('policy-short');
    await page.goto(`${local.origin}/console/me`);
    await picture('me');
    await other.context().close();
  }, 120_000);
});
