import { setTimeout as sleep } from 'node:timers/promises';
import type { LogContinuation, LogRestoration } from '../packages/client/api.ts';
import type { Countersign } from '../packages/client/countersign.ts';
import { ApiError } from '../packages/client/errors.ts';
import { connect } from './api.ts';
import { findInstance } from './instance.ts';
import { ensureLocalSettings } from './local-settings.ts';
import { runProgram, UserError } from './user-error.ts';

const USAGE = `Usage: npm run continue-logs -- [address of the service] <shard> <time> [user id …]

Run it after the database of a shard (00 for the first) was restored to a time (2026-01-31T12:00:00Z). R2 then has parts of
the logs that are newer than the database, so the service does not sign these logs. The program moves the newer parts out of
the way, for the given accounts or for all, so that the service signs again. It leaves logs that R2 does not contradict, and
logs on other shards, as they are. It can be stopped and run again.

Uses the service that runs from this folder, or the one at the address, with the operator's token in the variable
ADMIN_TOKEN.`;

const MAX_CONCURRENT_ACCOUNTS = 5;

type Outcome = 'nothing to set aside' | 'continues' | 'stays refused';

/** @returns whether no log stays refused */
async function continueLogs(words: string[]): Promise<boolean> {
  const address = words[0]?.match(/^https?:\/\//) ? words[0] : null;
  const [shard, restoredTo, ...ids] = address === null ? words : words.slice(1);
  if (shard === undefined || restoredTo === undefined || Number.isNaN(Date.parse(restoredTo)))
    throw new UserError(USAGE);
  const operator = connectAsOperator(address);
  const counts: Record<Outcome, number> = {
    'nothing to set aside': 0,
    continues: 0,
    'stays refused': 0,
  };
  const accounts =
    ids.length > 0
      ? ids.map((id) => ({ id })).values()
      : operator.listAccounts()[Symbol.asyncIterator]();
  const work = async () => {
    for (let next = await accounts.next(); !next.done; next = await accounts.next()) {
      counts[
        await continueLog(operator, next.value.id, {
          shard,
          restored_to: restoredTo,
        })
      ] += 1;
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_ACCOUNTS }, work));
  console.log(
    `${counts.continues} logs continue within three minutes, ${counts['nothing to set aside']} had nothing to set aside, ` +
      `${counts['stays refused']} could not be continued.`,
  );
  return counts['stays refused'] === 0;
}

/** An operator's client of the service at an address, or of the one that runs from this folder. */
function connectAsOperator(address: string | null): Countersign {
  const token = process.env.ADMIN_TOKEN;
  if (address !== null) {
    if (!token) throw new UserError('Set ADMIN_TOKEN to the token of the operator.');
    return connect(new URL(address).origin, token);
  }
  const instance = findInstance();
  if (!instance)
    throw new UserError(
      'No service runs from this folder. Start it with npm start, or name an address.',
    );
  return connect(instance.origin, token || ensureLocalSettings().ADMIN_TOKEN);
}

async function continueLog(
  operator: Countersign,
  id: string,
  restoration: LogRestoration,
): Promise<Outcome> {
  for (let moved = 0; ; ) {
    let step: LogContinuation;
    try {
      step = await operator.continueRestoredLog(id, restoration);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 400) throw new UserError(describe(error));
      if (![404, 409, 503].includes(error.status)) throw error;
      console.log(`${id}: ${error.detail}`);
      return 'stays refused';
    }
    moved += step.set_aside;
    if (!step.has_more) {
      if (moved > 0) console.log(`${id}: ${moved} objects set aside`);
      return moved > 0 ? 'continues' : 'nothing to set aside';
    }
    // R2 is slow: nothing was done in time.
    if (step.set_aside === 0) await sleep(1_000);
  }
}

function describe({ errors, detail }: ApiError): string {
  return errors.map(({ path, message }) => `${path} ${message}`).join('\n') || detail;
}

await runProgram(async () => {
  if (!(await continueLogs(process.argv.slice(2)))) process.exitCode = 1;
});
