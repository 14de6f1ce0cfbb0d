import { DatabaseSync } from 'node:sqlite';
import { databaseFile } from './service.ts';

const LOG_SPAN = 2 ** 32;

/**
 * Writes entries of the newest agent directly into the database of a stopped service, and marks the
 * pending events of its webhooks as due.
 */
export function fillLog(state: string, entries: number): void {
  const database = new DatabaseSync(databaseFile(state));
  const account = Number(
    database.prepare('select max(number) as number from accounts').get()?.number,
  );
  const agent = Number(database.prepare('select max(number) as number from agents').get()?.number);
  const insert = database.prepare(
    'insert into audit_entries values (?, ?, randomblob(16), null, ?, ?, ?, ?, ?, ?, randomblob(22))',
  );
  const details = JSON.stringify({
    resource: 'mailbox:support',
    scope: { max_recipients: 10, folders: ['inbox', 'drafts'] },
    decided_by: null,
    decision_reason: 'as agreed with the owner of the mailbox',
    policy_id: null,
  });
  database.exec('begin');
  for (let i = 1; i <= entries; i++) {
    insert.run(
      account * LOG_SPAN + i,
      agent,
      i % 6,
      'mail.send',
      Date.now(),
      '2001:db8::17',
      'test',
      details,
    );
  }
  database.prepare('update event_feeds set due_at = 1 where account = ?').run(account);
  database.exec('commit; pragma wal_checkpoint(truncate)');
  database.close();
}
