import { setTimeout as sleep } from 'node:timers/promises';
import { HOST, localOrigin } from './address.ts';
import type { Deployment } from './project.ts';
import { UserError } from './user-error.ts';
import { runWrangler } from './wrangler.ts';

/**
 * Milliseconds within which the service must answer, and milliseconds for which it may answer without being healthy.
 */
const START_LIMIT = 60_000;
const UNHEALTHY_LIMIT = 3_000;

/** The local service. */
export interface Server {
  origin: string;
  /** Resolves to its exit code when it ends. */
  exit: Promise<number>;
}

/**
 * Starts the service on a port of this machine and waits until it is healthy. Output before that is shown only if it
 * fails, because wrangler prints hints that `npm start` already follows.
 * @param variables override those in .dev.vars
 * @throws UserError if it ends, or does not become healthy
 */
export async function startServer(
  { config }: Deployment,
  port: number,
  variables: Record<string, string>,
  signal: AbortSignal,
): Promise<Server> {
  const { output, exit } = runWrangler(
    [
      ...['dev', '--config', config, '--ip', HOST, '--port', String(port), '--show-interactive-dev-session=false'],
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
  const outcome = await Promise.race([waitUntilHealthy(origin, ended.signal), end]);
  if (outcome !== 'well' && !signal.aborted) throw new UserError(`${held}The service ${outcome}.`);
  held = null;
  return { origin, exit };
}

async function waitUntilHealthy(origin: string, ended: AbortSignal): Promise<string> {
  let deadline = Date.now() + START_LIMIT;
  let outcome = 'does not answer';
  while (Date.now() < deadline && !ended.aborted) {
    const signal = AbortSignal.timeout(START_LIMIT);
    const response = await fetch(`${origin}/healthz`, { signal }).catch(() => null);
    if (response?.ok) return 'well';
    if (response) {
      outcome = `runs but is not well: GET /healthz is answered ${response.status}`;
      deadline = Math.min(deadline, Date.now() + UNHEALTHY_LIMIT);
    }
    await sleep(response ? UNHEALTHY_LIMIT / 2 : 100);
  }
  return outcome;
}
