import { setTimeout as sleep } from 'node:timers/promises';
import { HOST, localOrigin } from './address.ts';
import type { Deployment } from './project.ts';
import { UserError } from './user-error.ts';
import { runWrangler } from './wrangler.ts';

/** Milliseconds within which the service must answer. */
const START_LIMIT = 60_000;
/** Milliseconds for which the service may answer without being healthy. */
const UNHEALTHY_LIMIT = 3_000;

/**
 * Starts the service on a port of this machine and waits until it is healthy. Output before that is
 * shown only if it fails, because wrangler prints hints that `npm start` already follows.
 * @param variables override those in .dev.vars
 * @returns the origin of the service, and a promise that resolves to its exit code when it ends
 * @throws UserError if it ends, or does not become healthy
 */
export async function startServer(
  { config }: Deployment,
  port: number,
  variables: Record<string, string>,
  signal: AbortSignal,
) {
  const { output, exit } = runWrangler(
    [
      ...[
        'dev',
        '--config',
        config,
        '--ip',
        HOST,
        '--port',
        String(port),
        // Any free port: two services that start at once would both choose the default.
        '--inspector-port',
        '0',
        '--show-interactive-dev-session=false',
      ],
      ...Object.entries(variables).flatMap(([name, value]) => ['--var', `${name}:${value}`]),
    ],
    signal,
  );
  let held: string | null = '';
  for (const stream of output) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      if (held === null) process.stderr.write(text);
      else held += text;
    });
  }
  const origin = localOrigin(port);
  const ended = new AbortController();
  const end = exit.then((code) => {
    ended.abort();
    return `ended (exit code ${code})`;
  });
  const fault = await Promise.race([waitUntilHealthy(origin, ended.signal), end]);
  if (fault !== null && !signal.aborted) throw new UserError(`${held}The service ${fault}.`);
  held = null;
  return { origin, exit };
}

/** Returns null as soon as the service is healthy, or else what it does instead. */
async function waitUntilHealthy(origin: string, ended: AbortSignal): Promise<string | null> {
  let deadline = Date.now() + START_LIMIT;
  let fault = 'does not answer';
  while (Date.now() < deadline && !ended.aborted) {
    const signal = AbortSignal.timeout(START_LIMIT);
    const response = await fetch(`${origin}/healthz`, { signal }).catch(() => null);
    if (response?.ok) return null;
    if (response) {
      fault = `runs but is not healthy: GET /healthz is answered ${response.status}`;
      deadline = Math.min(deadline, Date.now() + UNHEALTHY_LIMIT);
    }
    await sleep(response ? UNHEALTHY_LIMIT / 2 : 100);
  }
  return fault;
}
