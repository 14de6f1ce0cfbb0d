import { identities } from '../../db/schema';
import { Problem } from '../../errors';
import { SERVICE_AUTHORITY } from '../../ledger/authority';
import { Ledger } from '../../ledger/ledger';
import { type DirectoryEntry, isEntry } from './directory';
import type { Identity } from './identity';

/**
 * Changes the account that the directory names for a person.
 * @throws Problem `conflict` if the entry was changed since it was read
 */
export async function redirectIdentity(
  { key, directory, entry }: Identity,
  next: DirectoryEntry,
): Promise<void> {
  const [changed] = await new Ledger(directory, SERVICE_AUTHORITY).write({
    changes: (write) => [
      entry
        ? write
            .update(identities)
            .set(next)
            .where(isEntry(key, entry))
            .returning({ key: identities.key })
        : write
            .insert(identities)
            .values({ key, ...next })
            .onConflictDoNothing()
            .returning({ key: identities.key }),
    ],
  });
  if (changed.length > 0) return;
  throw new Problem(
    'conflict',
    'You signed in elsewhere at the same time. Open the invitation again.',
  );
}

/**
 * Removes the entry after the invitation was withdrawn, so that the person can sign in again at
 * once.
 */
export async function forgetEntry(
  { key, directory }: Identity,
  entry: DirectoryEntry,
): Promise<void> {
  await new Ledger(directory, SERVICE_AUTHORITY).write({
    changes: (write) => [write.delete(identities).where(isEntry(key, entry))],
  });
}
