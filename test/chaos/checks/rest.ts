import type { Findings } from '../findings.ts';
import type { Stored } from '../stored.ts';

const OF_AGENTS = [
  ...['agent_keys', 'permissions', 'audit_entries', 'agent_statistics', 'deliveries'],
  ...['connection_calls', 'connection_reads'],
];
const OF_ACCOUNTS = [
  ...[
    'user_tokens',
    'agents',
    'permissions',
    'policies',
    'trees',
    'erased_entries',
    'activity',
    'receivers',
  ],
  ...['event_feeds', 'file_results', 'connections', 'connection_calls', 'connection_reads'],
];

/**
 * Checks that deleted agents, receivers and accounts, and moved accounts on their old shard, leave
 * no rows, and that every permission has its own contents.
 */
export function checkRest(findings: Findings, stored: Stored): void {
  const demandNone = (about: string, table: string, which: string) => {
    const rows = stored.count(`select count(*) as rows from ${table} where ${which}`);
    findings.check(rows === 0, `left of deleted ${about}`, () => `${rows} rows in ${table}`);
  };
  for (const table of OF_AGENTS) {
    demandNone('agents', table, 'agent is not null and agent not in (select number from agents)');
  }
  demandNone('receivers', 'deliveries', 'receiver not in (select number from receivers)');
  demandNone(
    'permissions',
    'permission_contents',
    '(account, id) not in (select account, id from permissions)',
  );
  demandNone(
    'contents',
    'permissions',
    `input_digest is not null and connection_id is null and not exists (select 1 from permission_contents as stored
      where stored.account = permissions.account and stored.id = permissions.id and instr(resource, input ->> 'mark') > 0)`,
  );
  for (const table of OF_ACCOUNTS)
    demandNone('accounts', table, 'account not in (select number from accounts)');
  demandNone('accounts', 'audit_entries', 'pos >> 32 not in (select number from accounts)');
  // The row of a file with a worker stays for some minutes, until the worker must have ended.
  demandNone(
    'accounts',
    'files',
    'due_at is null and account not in (select number from accounts)',
  );
  const answers = stored.strangers('stored_answers', 'subject', ['agents', 'accounts']);
  findings.check(answers === 0, 'left of deleted agents', () => `${answers} stored answers`);
  const accounts = stored.accounts();
  findings.check(
    new Set(accounts).size === accounts.length,
    'accounts',
    () => 'an account is on two shards',
  );
  for (const [table, column] of Object.entries({
    moved_accounts: 'id',
    moved_credentials: 'account',
  })) {
    const rows = stored.strangers(table, column, ['accounts']);
    findings.check(rows === 0, 'left of deleted accounts', () => `${rows} rows in ${table}`);
  }
}
