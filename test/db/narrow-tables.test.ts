import { getTableColumns } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { connectionRequests } from '../../src/db/connection-requests';
import { permissionOutcomes } from '../../src/db/permission-outcomes';

it.each([
  ['connectionRequests', connectionRequests],
  ['permissionOutcomes', permissionOutcomes],
])('%s names every column, or queries of `permissions` would fail after one of it', (_, table) => {
  const unnamed = Object.values(getTableColumns(table)).filter(({ keyAsName }) => keyAsName);
  expect(unnamed).toEqual([]);
});
