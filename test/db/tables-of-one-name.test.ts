import { getTableColumns } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { connectionRequests } from '../../src/db/connection-requests';
import { permissionOutcomes } from '../../src/db/permission-outcomes';
import { permissions } from '../../src/db/schema';

// Drizzle remembers the columns without a name of their own by the name of their table, and knows
// only those of the table that it sees first.
it.each([
  ['permissions', permissions],
  ['permissionOutcomes', permissionOutcomes],
  ['connectionRequests', connectionRequests],
] as const)('every column of %s has a name of its own', (_, table) => {
  const unnamed = Object.values<{ name: string; keyAsName: boolean }>(getTableColumns(table))
    .filter(({ keyAsName }) => keyAsName)
    .map(({ name }) => name);
  expect(unnamed).toEqual([]);
});
