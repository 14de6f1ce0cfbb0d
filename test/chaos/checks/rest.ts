import type { Findings } from '../findings.ts';
import type { Stored } from '../stored.ts';

const OF_AGENTS = ['agent_keys', 'permissions', 'audit_entries', 'agent_statistics', 'deliveries'];

/** What deleted agents and webhooks leave behind: nothing. */
export function checkRest(findings: Findings, stored: Stored): void {
  for (const table of OF_AGENTS) {
    const [{ rows }] = stored.all<{ rows: number }>(
      `select count(*) as rows from ${table} where agent is not null and agent not in (select number from agents)`,
    ) as [{ rows: number }];
    findings.check(rows === 0, 'left of deleted agents', () => `${rows} rows of ${table}`);
  }
  const [{ rows }] = stored.all<{ rows: number }>(
    `select count(*) as rows from stored_answers
     where subject not in (select id from agents) and subject not in (select id from accounts)`,
  ) as [{ rows: number }];
  findings.check(rows === 0, 'left of deleted agents', () => `${rows} stored answers`);
  const [{ lost }] = stored.all<{ lost: number }>(
    'select count(*) as lost from deliveries where webhook not in (select number from webhooks)',
  ) as [{ lost: number }];
  findings.check(lost === 0, 'left of deleted webhooks', () => `${lost} deliveries`);
}
