import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '../support/local/restartable-service.ts';
import type { Client } from './client.ts';
import type { Memory } from './memory.ts';
import { Stored } from './stored.ts';

const ROUND = 20_000;
const LIMIT = 12 * 60_000;

/**
 * Queries that count pending background work, by its name; work that is due only later does not
 * count.
 */
const DUE: Record<string, string> = {
  requests: 'select count(*) as due from permissions where status = 0 and expires_at <= ?1',
  tokens:
    'select count(*) as due from permissions where token_status = 0 and token_uses = 0 and token_expires_at <= ?1',
  outcomes:
    'select count(*) as due from permissions where outcome_state = 1 and outcome_due_at <= ?1',
  // Heads are stored in the bucket once an hour, so `published_size` does not count.
  trees: 'select count(*) as due from trees where due_at <= ?1',
  'logs to count': 'select count(*) as due from trees where count_due_at <= ?1',
  erasures: 'select count(*) as due from erasures where ?1 > 0',
  moves: 'select count(*) as due from moves where ?1 > 0',
  retention: 'select count(*) as due from accounts where retention_due_at <= ?1 + 600000',
  'unfinished files': 'select count(*) as due from files where status = 0 and ?1 > 0',
  'files to clean': 'select count(*) as due from files where due_at <= ?1',
  feeds: 'select count(*) as due from event_feeds where due_at is not null and ?1 > 0',
  deliveries: `select count(*) as due from deliveries join receivers on number = receiver
    where deliveries.status = 0 and deliveries.due_at is not null and deliveries.disable_count = receivers.disable_count and ?1 > 0`,
};

/**
 * Runs the service until no background work is due, and stops it.
 * @returns what is still due when the time limit is over
 */
export async function settle(
  service: Service,
  state: string,
  memories: Memory[],
  operator: Client,
): Promise<string[]> {
  for (const deadline = Date.now() + LIMIT; ; await service.start()) {
    for (const memory of memories) await lookAtRetention(memory, operator);
    for (const end = Date.now() + ROUND; Date.now() < end; await sleep(2_000))
      await service.triggerCrons();
    await service.stop();
    const due = findDue(state);
    hurry(state);
    if (due.length === 0 || Date.now() > deadline) return due;
    console.log(`still due: ${due.join(', ')}`);
  }
}

/**
 * Sets the plan again, which makes the service check retention immediately instead of after five
 * minutes.
 */
async function lookAtRetention({ id, traits }: Memory, operator: Client): Promise<void> {
  if (!traits.isOld) return;
  const account = await operator.ask<{ plan: string }>('GET', `/v1/admin/users/${id}`);
  if (account) await operator.ask('PATCH', `/v1/admin/users/${id}`, { plan: account.body.plan });
}

/**
 * Makes erasures due that wait for workers to end, and outcomes of connections that wait for the
 * service: while the service is stopped, there are none.
 */
function hurry(state: string): void {
  const stored = new Stored(state);
  try {
    stored.all('update erasures set due_at = 0 returning id');
    stored.all(`update permissions set outcome_due_at = 0
      where outcome_state = 1 and connection_id is not null returning id`);
  } finally {
    stored.close();
  }
}

function findDue(state: string): string[] {
  const stored = new Stored(state);
  try {
    return Object.entries(DUE).flatMap(([name, sql]) => {
      const due = stored.count(sql, Date.now());
      return due > 0 ? [`${due} ${name}`] : [];
    });
  } finally {
    stored.close();
  }
}
