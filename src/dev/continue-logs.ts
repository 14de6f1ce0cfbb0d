import { setTimeout as sleep } from 'node:timers/promises';
import { Api, type Refusal, UnexpectedAnswer } from './api.ts';
import { findInstance } from './instance.ts';
import { ensureLocalSettings } from './local-settings.ts';
import { runProgram, UserError } from './user-error.ts';

const USAGE = `Usage: npm run continue-logs -- [address of the service] <shard> <moment> [user id …]

Has the logs of accounts signed again whose database, that of a shard (00 for the first), was put back to a moment
(2026-01-31T12:00:00Z): sets aside what R2 keeps of them from after that. Without user ids it looks at every account; a log
that is as R2 knows it, or on another shard, stays as it is. May
be stopped and run again. The service is the one that runs from this folder, or the one at the address; its operator's
token is then in the variable ADMIN_TOKEN.`;

/** Accounts that are looked at at a time. */
const AT_ONCE = 5;

interface Work {
  operator: Api;
  shard: string;
  moment: string;
}

type Outcome = 'nothing to set aside' | 'goes on' | 'stays refused';

/** @returns whether no log stays refused */
async function continueLogs(words: string[]): Promise<boolean> {
  const address = words[0]?.match(/^https?:\/\//) ? words[0] : null;
  const [shard, moment, ...ids] = address === null ? words : words.slice(1);
  if (shard === undefined || moment === undefined || Number.isNaN(Date.parse(moment))) throw new UserError(USAGE);
  const work = { operator: signIn(address), shard, moment };
  const counts: Record<Outcome, number> = { 'nothing to set aside': 0, 'goes on': 0, 'stays refused': 0 };
  const accounts = ids.length > 0 ? ids.values() : listAccounts(work.operator);
  const next = async () => {
    for (let { done, value } = await accounts.next(); !done; { done, value } = await accounts.next()) {
      counts[await continueLog(work, value as string)] += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  console.log(
    `${counts['goes on']} logs go on within three minutes, ${counts['nothing to set aside']} had nothing to set aside, ` +
      `${counts['stays refused']} stay as they were.`,
  );
  return counts['stays refused'] === 0;
}

/** The operator's access to the service at an address, or to the one that runs from this folder. */
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

async function* listAccounts(operator: Api): AsyncGenerator<string> {
  type Page = { data: { id: string }[]; next_cursor: string | null };
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page = await operator.call('GET', `/v1/admin/users?limit=100${cursor && `&cursor=${cursor}`}`);
    for (const { id } of page.data) yield id;
    cursor = page.next_cursor;
  }
}

async function continueLog({ operator, shard, moment }: Work, id: string): Promise<Outcome> {
  type Continuation = { set_aside: number; has_more: boolean };
  const path = `/v1/admin/users/${id}/log/restoration`;
  let moved = 0;
  for (;;) {
    const answer = await operator.ask<Continuation & Refusal>('PUT', path, { shard, restored_to: moment });
    const { status, body } = answer;
    if (status === 200) {
      moved += body.set_aside;
      if (body.has_more) {
        // R2 is slow: nothing was done in time.
        if (body.set_aside === 0) await sleep(1_000);
        continue;
      }
      if (moved > 0) console.log(`${id}: ${moved} objects set aside`);
      return moved > 0 ? 'goes on' : 'nothing to set aside';
    }
    if (status === 404 || status === 409 || status === 503) {
      console.log(`${id}: ${body.detail}`);
      return 'stays refused';
    } else {
      throw status === 400 ? new UserError(describe(body)) : new UnexpectedAnswer('PUT', path, answer);
    }
  }
}

function describe(refusal: Refusal & { errors?: { path: string; message: string }[] }): string {
  return (refusal.errors ?? []).map(({ path, message }) => `${path} ${message}`).join('\n') || refusal.detail;
}

await runProgram(async () => {
  if (!(await continueLogs(process.argv.slice(2)))) process.exitCode = 1;
});
