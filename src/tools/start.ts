import { DEFAULT_PORT, localOrigin, readPort, requireFreePort } from './address.ts';
import { requireSupportedCrons, triggerCrons } from './crons.ts';
import { applyMigrations } from './database.ts';
import {
  type ConsoleEntry,
  type DemoAccount,
  ensureDemoAccount,
  findConsole,
} from './demo-account.ts';
import { claimFolder } from './instance.ts';
import { ensureLocalSettings } from './local-settings.ts';
import { prepareLocalDeployment } from './local-shards.ts';
import { startServer } from './server.ts';
import { runProgram, UserError } from './user-error.ts';

/**
 * Runs the service on this machine until `signal` is aborted.
 * @throws UserError if it cannot start, or ends by itself
 */
async function start(signal: AbortSignal): Promise<void> {
  const port = readPort();
  const release = claimFolder(localOrigin(port));
  try {
    await serve(port, signal);
  } finally {
    release();
  }
}

async function serve(port: number, signal: AbortSignal): Promise<void> {
  await requireFreePort(port);
  const settings = ensureLocalSettings();
  const deployment = await prepareLocalDeployment(signal);
  const { databases, crons } = deployment;
  requireSupportedCrons(crons);

  console.log(
    databases.length === 1
      ? 'Preparing the database …'
      : `Preparing ${databases.length} databases …`,
  );
  for (const { binding } of databases) {
    await applyMigrations(deployment, binding, signal);
    if (signal.aborted) return;
  }

  console.log('Starting the service …');
  const server = await startServer(
    deployment,
    port,
    chooseVariables(port, settings.PUBLIC_URL),
    signal,
  );
  if (signal.aborted) return;
  const account = await ensureDemoAccount(server.origin, settings.ADMIN_TOKEN);
  void triggerCrons(server.origin, crons, signal);
  printWelcome(
    server.origin,
    account,
    await findConsole(server.origin, settings.ADMIN_TOKEN, account),
  );

  await server.exit;
  if (!signal.aborted)
    throw new UserError('The service ended by itself. Start it again: npm start');
}

/**
 * Aborts on the usual signals, and when npm has ended: npm sends a signal to its shell, which may
 * not forward it.
 */
function listenForStop(): AbortController {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop);
  if (process.env.npm_lifecycle_event) {
    const parent = process.ppid;
    setInterval(() => process.ppid !== parent && stop(), 500).unref();
  }
  return stopping;
}

/**
 * Variables that override .dev.vars: `PUBLIC_URL` for the port, unless .dev.vars has another value
 * than the default.
 */
function chooseVariables(port: number, publicUrl: string): Record<string, string> {
  return publicUrl === localOrigin(DEFAULT_PORT) ? { PUBLIC_URL: localOrigin(port) } : {};
}

const JOINING = `Open the console in a browser: the link works once, and makes the passkey with which you sign in from then on at
/console/sign-in. There you can also sign in with the user token, for the account instead of as a member.`;

const SIGNING_IN = `Open the console in a browser and sign in with the passkey that you made, or with the user token: then you act for
the account instead of as a member.`;

function printWelcome(
  origin: string,
  { email, token }: DemoAccount,
  { address, isInvitation }: ConsoleEntry,
): void {
  console.log(`
Countersign runs on ${origin}

  API reference ${origin}/docs
  Demo account  ${email}
  User token    ${token}
  Console       ${address}

${isInvitation ? JOINING : SIGNING_IN}

Create a first agent, in a second terminal:

  export COUNTERSIGN_URL=${origin} COUNTERSIGN_API_KEY=${token}
  npm run countersign -- agents create "My first agent"

To see a demo, run there:  npm run demo
Stop with Ctrl-C. Data stays in .wrangler/state, secrets in .dev.vars.
`);
}

const stopping = listenForStop();
await runProgram(async () => {
  try {
    await start(stopping.signal);
  } catch (error) {
    // Errors that are caused by the stop are not shown.
    if (!stopping.signal.aborted) throw error;
  } finally {
    stopping.abort();
  }
});
