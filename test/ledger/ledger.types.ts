// Type tests: compiled, never run. `npm run check` fails if a marked line compiles.

import type { Database } from '../../src/db/database';
import { permissionOutcomes } from '../../src/db/permission-outcomes';
import { accounts, agentStatistics, agents, auditEntries, permissions } from '../../src/db/schema';
import type { UserContext } from '../../src/http/context';
import type { Entry } from '../../src/ledger/entry';
import type { ActivityRecord } from '../../src/ledger/insert-records';
import { type InternalWriter, Ledger } from '../../src/ledger/ledger';

/** Ways to change a state without its entry. */
export async function forbidden(
  { reader, ledger }: UserContext,
  entry: Entry,
  record: ActivityRecord,
): Promise<void> {
  const answer = null;
  const approve = { status: 'approved' } as const;
  // @ts-expect-error a reader cannot update
  reader.update(permissions);
  // @ts-expect-error a reader cannot insert
  reader.insert(accounts);
  // @ts-expect-error a reader cannot run raw statements
  reader.run('delete from permissions');
  // @ts-expect-error permissions are no records
  await ledger.change({ record, answer, changes: (w) => [w.update(permissions).set(approve)] });
  // @ts-expect-error audit entries are no records
  await ledger.change({ record, answer, changes: (write) => [write.delete(auditEntries)] });
  // @ts-expect-error counters are no records
  await ledger.change({ record, answer, changes: (write) => [write.delete(agentStatistics)] });
  // @ts-expect-error permissions are no internal records
  await ledger.write({ changes: (write) => [write.update(permissions).set(approve)] });
  await ledger.write({
    changes: (write) => [write.update(permissionOutcomes).set({ state: 'failed' })],
  });
  const outcomes = (write: InternalWriter) => write.update(permissionOutcomes);
  // @ts-expect-error a report changes nothing but the outcome
  await ledger.write({ changes: (write) => [outcomes(write).set({ status: 'approved' })] });
  // @ts-expect-error a permission is not deleted with its outcome
  await ledger.write({ changes: (write) => [write.delete(permissionOutcomes)] });
  // @ts-expect-error an account's settings cannot change without an activity record
  await ledger.write({ changes: (write) => [write.update(accounts).set({ name: 'x' })] });
  // @ts-expect-error an agent cannot be deleted without an activity record
  await ledger.write({ changes: (write) => [write.delete(agents)] });
  // @ts-expect-error a change of a record without its activity record
  await ledger.change({ answer, changes: (write) => [write.update(accounts).set({ name: 'x' })] });
  // @ts-expect-error a change of a record without the answer to the client
  await ledger.change({ record, changes: (write) => [write.update(accounts).set({ name: 'x' })] });
  await ledger.change({
    record,
    answer,
    changes: (write) => [write.update(accounts).set({ name: 'x' })],
  });
  const changes = (write: Parameters<Parameters<typeof ledger.commit>[0]['changes']>[0]) =>
    [write.update(permissions).set({ status: 'approved', lastEntry: 1 })] as const;
  // @ts-expect-error a state change without an entry
  await ledger.commit({ answer, changes });
  // @ts-expect-error a state change with no entry in its list
  await ledger.commit({ answer, changes, entries: [] });
  const entries = [entry] as const;
  // @ts-expect-error a transition changes nothing but permissions and tokens
  await ledger.commit({ answer, entries, changes: (w) => [w.update(accounts).set({ name: 'x' })] });
  // @ts-expect-error a state change without the answer to the client
  await ledger.commit({ changes, entries });
  await ledger.commit({ answer, changes, entries });
  // @ts-expect-error a ledger without the authority for its writes
  new Ledger({} as Database);
}
