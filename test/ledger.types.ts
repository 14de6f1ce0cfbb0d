// Compiled, never run: what must not compile. A line that compiles after all fails `npm run check`.
import { accounts, agentStatistics, auditEntries, permissions } from '../src/db/schema';
import type { UserContext } from '../src/http/context';
import type { Entry } from '../src/ledger/entry';

/** Ways to change a state without its entry. */
export async function forbidden({ reader, ledger }: UserContext, entry: Entry): Promise<void> {
  // @ts-expect-error a reader cannot update
  reader.update(permissions);
  // @ts-expect-error a reader cannot insert
  reader.insert(accounts);
  // @ts-expect-error a reader cannot run raw statements
  reader.run('delete from permissions');
  // @ts-expect-error permissions are no records
  await ledger.change(null, (write) => [write.update(permissions).set({ status: 'approved' })]);
  // @ts-expect-error audit entries are no records
  await ledger.change(null, (write) => [write.delete(auditEntries)]);
  // @ts-expect-error counters are no records
  await ledger.change(null, (write) => [write.delete(agentStatistics)]);
  // @ts-expect-error a change of a record without its note
  await ledger.change((write) => [write.update(accounts).set({ name: 'x' })]);
  const changes = (write: Parameters<Parameters<typeof ledger.commit>[0]['changes']>[0]) =>
    [write.update(permissions).set({ status: 'approved', lastEntry: entry.id })] as const;
  // @ts-expect-error a state change without an entry
  await ledger.commit({ changes });
  // @ts-expect-error a state change with no entry in its list
  await ledger.commit({ changes, entries: [] });
  // @ts-expect-error a transition changes nothing but permissions and tokens
  await ledger.commit({ changes: (write) => [write.update(accounts).set({ name: 'x' })], entries: [entry] });
  await ledger.commit({ changes, entries: [entry] });
}
