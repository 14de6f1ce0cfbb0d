import { escapeText } from '../packages/client/cli/terminal/escape.ts';
import { CloudflareError } from './deploy/cloudflare.ts';
import { readTargetAccount } from './deploy/configuration.ts';
import { hasLogin, login } from './deploy/login.ts';
import { HELP, type Options, readOptions } from './deploy/options.ts';
import { prepareDeployment, prepareForEmptyAccount } from './deploy/prepare.ts';
import { ask, choose, isInteractive, printStep } from './deploy/report.ts';
import { runSteps } from './deploy/run-steps.ts';
import type { Invitation } from './deploy/steps/first-account.ts';
import { SECRETS_FILE } from './deploy/steps/secrets.ts';
import { runStoppable, UserError } from './user-error.ts';

const REFUSED_LOGIN = `The Cloudflare login is invalid, has expired or lacks a right. Sign in again: npx wrangler login
A token in CLOUDFLARE_API_TOKEN needs to edit Workers Scripts, Workers Routes, D1, Workers R2 Storage and Queues, and to
read Account Settings and Zones.`;

/** Takes a Cloudflare login to a running service of this version. Safe to repeat. */
async function deploy(given: Options, signal: AbortSignal): Promise<void> {
  if (given.isDryRun && !(await hasLogin(signal))) return planWithoutLogin(given);
  const asked = isInteractive()
    ? (question: string, answers: string[]) => choose(question, answers, signal)
    : null;
  const account = await login(readTargetAccount(), asked, signal).catch(
    failFirst('Cloudflare', 'login'),
  );
  const prepared = await prepareDeployment(account, given, signal).catch(
    failFirst('Cloudflare', account.accountName),
  );
  printStep('exists', 'Cloudflare', account.accountName);
  const isFirst = prepared.found.worker === null;
  const email =
    given.email ??
    (isFirst && !given.isDryRun && isInteractive() ? await askForEmail(signal) : null);
  const deployment = { ...prepared, options: { ...given, email } };
  await runSteps(deployment, printInvitation);
  if (given.isDryRun) return console.log('\nNothing was changed. + is what would be made.');
  console.log(`\nCountersign runs on ${deployment.address.origin}`);
  if (!isFirst) return;
  console.log(
    `\n${SECRETS_FILE} holds the operator's token and the root secret. Keep a copy where you keep what opens everything:\n` +
      'Cloudflare does not show them, and without the root secret all credentials end.',
  );
  if (email === null)
    console.log('\nMake the first account: npm run deploy -- --email owner@example.com');
}

/** Shows what a deployment to an empty account would make. */
async function planWithoutLogin(options: Options): Promise<void> {
  printStep('waits', 'Cloudflare', 'no login: the plan for an account in which nothing exists');
  await runSteps(prepareForEmptyAccount(options), printInvitation);
  console.log(
    '\nNothing was changed. + is what would be made. Sign in to see what exists: npx wrangler login',
  );
}

async function askForEmail(signal: AbortSignal): Promise<string | null> {
  const email = await ask('E-mail address of the first owner (empty: later): ', signal);
  return email === '' ? null : (readOptions(['--email', email])?.email ?? null);
}

function printInvitation({ email, url, expiresAt }: Invitation): void {
  console.log(
    `\nInvitation for ${email}, who becomes the owner of the account. It works once, until ${escapeText(expiresAt)}:\n\n` +
      `  ${escapeText(url)}\n`,
  );
}

/** Rethrows what happened before the first step, with a line that says so. */
function failFirst(kind: string, name: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof UserError)) throw error;
    printStep('failed', kind, name);
    const isRefused = error instanceof CloudflareError && error.isRefusedLogin;
    throw new UserError(
      [error.message, ...(isRefused ? [REFUSED_LOGIN] : []), 'Nothing was changed.'].join('\n\n'),
    );
  };
}

await runStoppable(async (signal) => {
  const options = readOptions(process.argv.slice(2));
  if (options) await deploy(options, signal);
  else console.log(HELP);
}, 'Stopped. Run the same command again: it continues here.');
