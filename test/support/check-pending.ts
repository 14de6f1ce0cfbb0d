/**
 * A check that finds counters of pending permissions that differ from the permissions: the fault,
 * and a query for it.
 */
export const PENDING_CHECK: [fault: string, sql: string] = [
  'a count of pending permissions that differs from them',
  `select account as subject from pending_permissions as counted where count <> (
     select count(*) from permissions as there where there.status = 0 and there.account = counted.account
   )
   union select account from permissions where status = 0 and account in (select number from accounts)
     and account not in (select account from pending_permissions)`,
];
