import { DatabaseSync } from 'node:sqlite';
import { databaseFiles } from '../../support/local/service.ts';
import type { Findings } from '../findings.ts';
import type { Memory } from '../memory.ts';
import type { Stored, StoredAccount } from '../stored.ts';

/** What a stopped account must not write. */
const STOPPED_EVENTS = ['request', 'approve', 'use'];

const NEWEST = `max(new.erased_sequence, coalesce((
  select max(pos) & 4294967295 from audit_entries
  where pos > new.number << 32 and pos < (new.number + 1) << 32
), 0))`;

/**
 * Has the databases of a stopped service record the place in the log of every stop and resume, in
 * the transaction that makes it.
 */
export function recordStops(state: string): void {
  for (const file of databaseFiles(state)) {
    const database = new DatabaseSync(file);
    database.exec(`
      create table _stops (account blob, is_stopped integer, sequence integer, at real);
      create trigger _record_stops after update of stopped_at on accounts
      when new.stopped_at is not old.stopped_at begin
        insert into _stops
        values (new.id, new.stopped_at is not null, ${NEWEST}, julianday('now'));
      end;`);
    database.close();
  }
}

/** Checks that no entry after a stop requests, approves or uses anything until the resume. */
export function checkStops(
  findings: Findings,
  stored: Stored,
  { traits }: Memory,
  account: StoredAccount,
): void {
  const changes = stored.stops(account.id);
  for (const [i, { isStopped, sequence }] of changes.entries()) {
    const next = changes[i + 1];
    findings.check(
      next === undefined || next.isStopped !== isStopped,
      'stops',
      () => `${traits.name}: two stops or two resumes in a row at ${sequence}`,
    );
    if (!isStopped) continue;
    const end = next?.sequence ?? Number.POSITIVE_INFINITY;
    const within = account.entries.filter(
      (entry) => entry.sequence > sequence && entry.sequence <= end,
    );
    const wrong = within.filter(({ event }) => STOPPED_EVENTS.includes(event));
    findings.check(
      wrong.length === 0,
      'stops',
      () => `${traits.name}: ${wrong.map(({ event, sequence: at }) => `${event} ${at}`)}`,
    );
  }
}
