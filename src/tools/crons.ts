import { setTimeout as sleep } from 'node:timers/promises';
import { UserError } from './user-error.ts';

const MINUTE = 60_000;

/**
 * Checks that the cron expressions use only `*` and single numbers, which is what {@link isDue}
 * supports.
 * @throws UserError if one does not
 */
export function requireSupportedCrons(crons: string[]): void {
  const unknown = crons.find((cron) => !/^(\*|\d+)( (\*|\d+)){4}$/.test(cron));
  if (unknown)
    throw new UserError(
      `npm start does not support the cron "${unknown}": use only * and single numbers.`,
    );
}

/**
 * Triggers the crons of the local service, because wrangler does not: each once immediately, and
 * then whenever it is due and not still running, until `signal` is aborted.
 */
export async function triggerCrons(
  origin: string,
  crons: string[],
  signal: AbortSignal,
): Promise<void> {
  const running = new Set<string>();
  const fire = async (cron: string) => {
    if (running.has(cron)) return;
    running.add(cron);
    await triggerCron(origin, cron, signal);
    running.delete(cron);
  };
  for (const cron of crons) void fire(cron);
  while (!signal.aborted) {
    const next = (Math.floor(Date.now() / MINUTE) + 1) * MINUTE;
    await sleep(next - Date.now(), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    for (const cron of crons) if (isDue(cron, new Date(next))) void fire(cron);
  }
}

/** Whether a cron is due at a minute, in UTC. */
function isDue(cron: string, minute: Date): boolean {
  const parts = [
    minute.getUTCMinutes(),
    minute.getUTCHours(),
    minute.getUTCDate(),
    minute.getUTCMonth() + 1,
    // In Cloudflare's cron expressions, Sunday is 1.
    minute.getUTCDay() + 1,
  ];
  return cron.split(' ').every((field, place) => field === '*' || Number(field) === parts[place]);
}

async function triggerCron(origin: string, cron: string, signal: AbortSignal): Promise<void> {
  const address = `${origin}/cdn-cgi/local/scheduled?cron=${encodeURIComponent(cron)}`;
  try {
    const response = await fetch(address, { signal });
    if (!response.ok)
      console.error(`The cron ${cron} failed: ${response.status} ${await response.text()}`);
  } catch (error) {
    if (!signal.aborted) console.error(`The cron ${cron} could not be triggered: ${error}`);
  }
}
