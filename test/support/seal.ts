/** Seals every account's log as far as it goes: only then may its entries be erased. */
export async function sealLogs(database: D1Database): Promise<void> {
  await database
    .prepare(
      `update trees set size = max(size, coalesce((
         select max(pos) % 4294967296 from audit_entries
         where pos > trees.account * 4294967296 and pos < (trees.account + 1) * 4294967296
       ), 0))`,
    )
    .run();
}
