import { setTimeout as sleep } from 'node:timers/promises';
import { Api, type ProblemDocument, UnexpectedAnswer } from './api.ts';
import { findInstance } from './instance.ts';
import { ensureLocalSettings } from './local-settings.ts';
import { runProgram, UserError } from './user-error.ts';

const USAGE = `Usage: npm run continue-logs -- [address of the service] <shard> <moment> [user id …]

After the database of a shard (00 for the first) was restored to a moment (2026-01-31T12:00:00Z): makes the service sign
the logs of its accounts again. Sets aside what R2 has of these logs from after the moment. Does so for the given accounts,
or for all. Logs that R2 does not contradict, and logs on other shards, stay as they are. May be stopped and run again.

Uses the service that runs from this folder, or the one at the address, with the operator's token in the variable
ADMIN_TOKEN.`;

const MAX_CONCURRENT_ACCOUNTS = 5;

type Outcome = 'nothing to set aside' | 'continues' | 'stays refused';

/** @returns whether no log stays refused */
async function continueLogs(words: string[]): Promise<boolean> {
  const address = words[0]?.match(/^https?:\/\//) ? words[0] : null;
  const [shard, moment, ...ids] = address === null ? words : words.slice(1);
  if (shard === undefined || moment === undefined || Number.isNaN(Date.parse(moment))) throw new UserError(USAGE);
  const operator = signIn(address);
  const counts: Record<Outcome, number> = { 'nothing to set aside': 0, continues: 0, 'stays refused': 0 };
  const accounts =
    ids.length > 0 ? ids.map((id) => ({ id })).values() : operator.list<{ id: string }>('/v1/admin/users');
  const work = async () => {
    for (let next = await accounts.next(); !next.done; next = await accounts.next()) {
      counts[await continueLog(operator, next.value.id, { shard, restored_to: moment })] += 1;
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
function signIn(address: string | null): Api {
  const token = process.env.ADMIN_TOKEN;
  if (address !== null) {
    if (!token) throw new UserError('Set ADMIN_TOKEN to the token of the operator.');
    return new Api(new URL(address).origin, token);
  }
  const instance = findInstance();
  if (!instance) throw new UserError('No service runs from this folder. Start it with npm start, or name an address.');
  return new Api(instance.origin, token || ensureLocalSettings().ADMIN_TOKEN);
}

async function continueLog(operator: Api, id: string, restoration: object): Promise<Outcome> {
  type Continuation = { set_aside: number; has_more: boolean };
  const path = `/v1/admin/users/${id}/log/restoration`;
  for (let moved = 0; ; ) {
    const answer = await operator.ask<Continuation & InvalidRequest>('PUT', path, restoration);
    const { status, body } = answer;
    if (status === 404 || status === 409 || status === 503) {
      console.log(`${id}: ${body.detail}`);
      return 'stays refused';
    }
    if (status === 400) throw new UserError(describe(body));
    if (status !== 200) throw new UnexpectedAnswer('PUT', path, answer);
    moved += body.set_aside;
    if (!body.has_more) {
      if (moved > 0) console.log(`${id}: ${moved} objects set aside`);
      return moved > 0 ? 'continues' : 'nothing to set aside';
    }
    // R2 is slow: nothing was done in time.
    if (body.set_aside === 0) await sleep(1_000);
  }
}

type InvalidRequest = ProblemDocument & { errors?: { path: string; message: string }[] };

function describe({ errors = [], detail }: InvalidRequest): string {
  return errors.map(({ path, message }) => `${path} ${message}`).join('\n') || detail;
}

await runProgram(async () => {
  if (!(await continueLogs(process.argv.slice(2)))) process.exitCode = 1;
});
