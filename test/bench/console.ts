import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CHROMIUM, type LocalConsole, startConsole } from '../support/local/console.ts';
import type { Report } from './report.ts';

/** Downloaded when it is needed: a dependency would make everybody's installation larger. */
const LIGHTHOUSE = 'lighthouse@13.5.0';
const LEAST = { performance: 95, accessibility: 100, 'best-practices': 100 };
const MAX_LOAD = 100;

/** What the measurement reads of a result of Lighthouse. */
interface Result {
  categories: Record<keyof typeof LEAST, { score: number }>;
  audits: { 'total-byte-weight': { numericValue: number } };
}

/**
 * Measures the inbox, a decision card and the audit explorer with Lighthouse, as a desktop and as a
 * phone.
 */
export async function measureConsole(report: Report, state: string): Promise<void> {
  report.heading('The console in Chromium');
  if (!CHROMIUM) {
    report.note('not measured: Chromium is not installed');
    return;
  }
  const local = await startConsole();
  try {
    const { cookie, card } = await prepare(local);
    for (const path of ['/console', card, '/console/audit']) {
      for (const device of ['desktop', 'phone']) {
        const result = await runLighthouse(
          local.origin + path,
          cookie,
          device,
          join(state, 'lighthouse.json'),
        );
        const name = `${path.replace(/perm_.*/, ':id')} (${device})`;
        for (const [category, least] of Object.entries(LEAST)) {
          const score = Math.round(result.categories[category as keyof typeof LEAST].score * 100);
          report.verdict(score >= least, `${name}, ${category}: ${score} (at least ${least})`);
        }
        const load = Math.ceil(result.audits['total-byte-weight'].numericValue / 1024);
        report.atMost(MAX_LOAD, load, `${name}, first load, KiB`);
      }
    }
  } finally {
    await local.stop();
  }
}

/** Makes an account with requests, and signs in with its user token. */
async function prepare({ origin, operator }: LocalConsole) {
  const call = async (path: string, credential: string, body: object) => {
    const headers = { Authorization: `Bearer ${credential}`, 'Content-Type': 'application/json' };
    const answer = await fetch(origin + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!answer.ok)
      throw new Error(`POST ${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.json() as Promise<{ id: string; api_key: string; token: { token: string } }>;
  };
  const { token } = await call('/v1/admin/users', operator, {
    email: 'bench@example.com',
    plan: 'enterprise',
  });
  const { api_key } = await call('/v1/agents', token.token, { name: 'Mail assistant' });
  let card = '';
  for (let i = 0; i < 20; i++) {
    const { id } = await call('/v1/permissions', api_key, {
      action: 'mail.send',
      resource: 'mailbox:support',
      scope: { max_amount: 250, recipients: ['ada@example.com', 'grace@example.com'] },
      reason: 'The customer asked for it',
      input: { to: 'ada@example.com', amount: 240 },
      preview: {
        title: `Send invoice ${i}`,
        fields: [{ label: 'Amount', value: '240 EUR', kind: 'money' }],
      },
    });
    card = `/console/permissions/${id}`;
  }
  const signedIn = await fetch(`${origin}/console/sign-in/token`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Origin: origin },
    body: new URLSearchParams({ token: token.token }),
  });
  const [cookie = ''] = (signedIn.headers.get('Set-Cookie') ?? '').split(';');
  return { cookie, card };
}

async function runLighthouse(
  address: string,
  cookie: string,
  device: string,
  file: string,
): Promise<Result> {
  const args = [
    ...['--yes', LIGHTHOUSE, address, '--quiet', '--output=json', `--output-path=${file}`],
    ...[
      '--chrome-flags=--headless=new --no-sandbox',
      `--extra-headers=${JSON.stringify({ Cookie: cookie })}`,
    ],
    ...(device === 'desktop' ? ['--preset=desktop'] : []),
  ];
  const run = () =>
    promisify(execFile)('npx', args, { env: { ...process.env, CHROME_PATH: CHROMIUM } });
  // Now and then Lighthouse misses the beginning of a page's load, and asks to be run again.
  await run().catch(run);
  return JSON.parse(readFileSync(file, 'utf8')) as Result;
}
