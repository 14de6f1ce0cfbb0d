import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf, UserError } from '../../user-error.ts';
import type { Deployment, Step } from '../deployment.ts';

/** Milliseconds between two requests. */
const PAUSE = 2_000;
/** The timeout of one request, in milliseconds. */
const REQUEST_TIMEOUT = 15_000;

/** Waits until the service answers that it works, after reading from every database. */
export function healthStep({
  address: { origin },
  configuration,
  options,
  signal,
}: Deployment): Step {
  const path = `${origin}/healthz`;
  return {
    kind: 'health',
    name: path,
    isDone: false,
    run: async () => {
      const deadline = Date.now() + options.healthTimeoutSeconds * 1_000;
      for (;;) {
        const fault = await findFault(path, signal);
        if (fault === null) return { isUnchanged: true };
        if (Date.now() + PAUSE > deadline) throw new UserError(`GET ${path} ${fault}.`);
        await sleep(PAUSE, undefined, { signal });
      }
    },
    hint:
      `What is wrong stands in the log: npx wrangler tail ${configuration.name}\n` +
      'A new domain can take some minutes until it answers.',
  };
}

/** Asks once. Null if the service works, or else what it does instead. */
async function findFault(path: string, signal: AbortSignal): Promise<string | null> {
  const request = {
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT)]),
  } as const;
  try {
    const response = await fetch(path, request);
    const body = (await response.json().catch(() => null)) as { status?: unknown } | null;
    if (response.status === 200 && body?.status === 'ok') return null;
    return `was answered ${response.status}`;
  } catch (error) {
    signal.throwIfAborted();
    return `was not answered (${reasonOf(error)})`;
  }
}
