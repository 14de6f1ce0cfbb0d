import { isNotNeighbour } from './neighbour';

/**
 * Compares the remaining entries of every log with the records of what was erased from it. Reads
 * the tables, not the service.
 * @param now the time; permissions whose token lives on may lack their entries
 * @returns the faults, in words
 */
export async function checkErasure(
  database: D1Database,
  now = Number.MAX_SAFE_INTEGER,
): Promise<string[]> {
  const faults: string[] = [];
  const { results: accounts } = await database
    .prepare(
      `select number, erased_sequence as erased, coalesce(size, 0) as sealed from accounts
       left join trees on trees.account = accounts.number where ${isNotNeighbour('accounts')}`,
    )
    .all<{ number: number; erased: number; sealed: number }>();
  for (const { number, erased, sealed } of accounts) {
    const left = new Set(await readSequences(database, number));
    const records = await readRecords(database, number);
    const gone = new Set<number>();
    for (const { reason, ranges } of records) {
      const own = new Set<number>();
      for (const [first, last] of ranges) {
        if (first < 1 || first > last)
          faults.push(`account ${number}: a range [${first}, ${last}]`);
        for (let sequence = first; sequence <= last; sequence++) {
          if (own.has(sequence)) faults.push(`account ${number}: ${sequence} is twice in a record`);
          own.add(sequence);
          gone.add(sequence);
        }
      }
      if (reason === RETENTION && (ranges.length !== 1 || ranges[0]?.[0] !== 1)) {
        faults.push(
          `account ${number}: what retention erased is no beginning: ${JSON.stringify(ranges)}`,
        );
      }
    }
    if (records.filter(({ reason }) => reason === RETENTION).length > 1) {
      faults.push(`account ${number}: several records of retention`);
    }
    const head = Math.max(0, erased, ...left);
    for (let sequence = 1; sequence <= head; sequence++) {
      if (left.has(sequence) === gone.has(sequence)) {
        faults.push(
          `account ${number}: ${sequence} is ${left.has(sequence) ? 'there, and' : 'neither there nor'} erased`,
        );
      }
    }
    for (const sequence of gone) {
      if (sequence > sealed)
        faults.push(`account ${number}: ${sequence} was erased and never sealed`);
      if (sequence > erased)
        faults.push(`account ${number}: ${sequence} was erased, and could be used again`);
    }
  }
  const { results: orphans } = await database
    .prepare(
      `select hex(id) as id from permissions where account * 4294967296 + last_entry not in (select pos from audit_entries)
       and not (status = 0 or (token_status = 0 and (token_uses = 0 or token_expires_at > ?))) and agent in (select number from agents)
       union all
       select pos from audit_entries where (pos / 4294967296, permission) not in (select account, id from permissions)
       and agent in (select number from agents)
       union all
       select hex(id) from permissions where account * 4294967296 + last_entry not in (select pos from audit_entries)
       and erase_at is null and account in (select number from accounts) and account not in (select account from moves)
       union all
       select ranges from erased_entries where account not in (select number from accounts)`,
    )
    .bind(now)
    .all<{ id: string }>();
  for (const { id } of orphans)
    faults.push(`a permission outlived its entries settled or unmarked, or an entry it: ${id}`);
  return faults;
}

const RETENTION = 1;

async function readSequences(database: D1Database, account: number): Promise<number[]> {
  const { results } = await database
    .prepare('select pos % 4294967296 as sequence from audit_entries where pos / 4294967296 = ?')
    .bind(account)
    .all<{ sequence: number }>();
  return results.map(({ sequence }) => sequence);
}

async function readRecords(database: D1Database, account: number) {
  const { results } = await database
    .prepare('select reason, ranges from erased_entries where account = ? order by id')
    .bind(account)
    .all<{ reason: number; ranges: string }>();
  return results.map(({ reason, ranges }) => ({
    reason,
    ranges: JSON.parse(ranges) as [number, number][],
  }));
}
