import type { Findings } from '../findings.ts';
import type { Memory } from '../memory.ts';
import type { StoredAccount, StoredEntry, StoredPermission } from '../stored.ts';

const HOUR = 60 * 60 * 1_000;

/** Compares the stored state with the entries that led to it. */
export function checkState(findings: Findings, memory: Memory, account: StoredAccount): void {
  const histories = Map.groupBy(account.entries, ({ permission }) => permission);
  for (const permission of account.permissions) {
    const history = histories.get(permission.id) ?? [];
    histories.delete(permission.id);
    // A history that does not begin with the request has lost erased entries.
    if (history[0]?.event === 'request') checkPermission(findings, permission, history);
    findings.check(history.length > 0, 'a permission without entries', () => permission.id);
  }
  for (const [id, history] of histories) {
    const isOld = history.every(({ sequence }) => sequence <= memory.pastEntries);
    findings.check(isOld, 'entries without a permission', () => id);
  }
  checkStatistics(findings, memory, account);
  for (const { id, alive } of memory.policies) {
    findings.check(!alive || account.policies.has(id), 'policies', () => `${id} is gone`);
  }
  for (const { id, alive } of memory.agents) {
    const isThere = account.agents.has(id);
    findings.check(
      alive === 'maybe' || isThere === (alive === 'yes'),
      'agents',
      () => `${id}: ${alive}, ${isThere}`,
    );
  }
}

function checkPermission(
  findings: Findings,
  permission: StoredPermission,
  history: StoredEntry[],
): void {
  const count = (event: string) => history.filter((entry) => entry.event === event).length;
  const [approvals, denials, revocations] = [count('approve'), count('deny'), count('revoke')];
  const expiries = history.filter(({ event }) => event === 'expire');
  const expired = expiries.filter(({ details }) => details.expired !== 'token').length;
  const unused = expiries.length - expired;
  const uses = count('use');
  const now = Date.now();
  const tell = () =>
    `${permission.id} ${permission.status} ${permission.tokenStatus}: ${history.map(({ event }) => event)}`;
  const hold = (holds: boolean) => findings.check(holds, 'state and entries', tell);

  hold(count('request') === 1 && approvals + denials + expired <= 1 && revocations + unused <= 1);
  const status = approvals ? 'approved' : denials ? 'denied' : expired ? 'expired' : 'pending';
  hold(permission.status === status && permission.lastEntry === history.at(-1)?.sequence);
  hold(status !== 'pending' || permission.expiresAt > now);
  for (const { createdAt, details } of expiries) {
    hold(
      createdAt >= (details.expired !== 'token' ? permission.expiresAt : permission.tokenExpiresAt),
    );
  }
  if (status !== 'approved') {
    hold(permission.tokenStatus === null && uses + revocations + unused === 0);
    return;
  }
  const isUsedUp = uses === permission.tokenMaxUses;
  const token = revocations ? 'revoked' : unused ? 'expired' : isUsedUp ? 'used' : 'active';
  hold(
    permission.tokenStatus === token &&
      permission.tokenUses === uses &&
      uses <= permission.tokenMaxUses,
  );
  hold(unused === 0 || uses === 0);
  hold(token !== 'active' || uses > 0 || permission.tokenExpiresAt > now);
}

const COUNTERS = ['requests', 'approved', 'denied', 'expired', 'approval_time'] as const;
const TOKEN_COUNTERS = ['tokens_issued', 'tokens_used', 'tokens_revoked'] as const;
type Counters = Record<(typeof COUNTERS)[number] | (typeof TOKEN_COUNTERS)[number], number>;

/**
 * Compares the hourly counters of every agent without erased entries. No hour of a run is old enough
 * to be folded.
 */
function checkStatistics(findings: Findings, memory: Memory, account: StoredAccount): void {
  const permissions = new Map(account.permissions.map((permission) => [permission.id, permission]));
  for (const [id, number] of account.agents) {
    if (memory.oldAgents.has(id)) continue;
    const entries = account.entries.filter(({ agent }) => agent === number);
    const expected = countEntries(entries, permissions);
    const rows = account.rows<Counters & { unit: number; bucket: number }>(
      'select * from agent_statistics where agent = ?',
      number,
    );
    const actual = new Map(rows.map(({ unit, bucket, ...row }) => [bucket, pickCounters(row)]));
    const [told, counted] = [expected, actual].map((counters) =>
      JSON.stringify([...counters].sort(([a], [b]) => a - b)),
    );
    const areHours = rows.every(({ unit }) => unit === 1);
    findings.check(
      areHours && told === counted,
      'statistics',
      () => `${id}: entries say ${told}, counters ${counted}`,
    );
  }
}

function countEntries(entries: StoredEntry[], permissions: Map<string, StoredPermission>) {
  const buckets = new Map<number, Counters>();
  const at = (time: number) => {
    const bucket = Math.floor(time / HOUR);
    const counters = buckets.get(bucket) ?? pickCounters({});
    buckets.set(bucket, counters);
    return counters;
  };
  const used = new Set<string>();
  for (const { event, permission: id, createdAt, details } of entries) {
    const permission = permissions.get(id);
    if (!permission) continue;
    const requested = at(permission.createdAt);
    if (event === 'request') requested.requests += 1;
    if (event === 'deny') requested.denied += 1;
    if (event === 'expire' && details.expired !== 'token') requested.expired += 1;
    if (event === 'approve') {
      requested.approved += 1;
      requested.approval_time += Math.max(0, createdAt - permission.createdAt);
      at(createdAt).tokens_issued += 1;
    }
    if (event === 'use' && !used.has(id)) {
      used.add(id);
      at(createdAt).tokens_used += 1;
    }
    if (event === 'revoke') at(createdAt).tokens_revoked += 1;
  }
  return buckets;
}

function pickCounters(row: Partial<Counters>): Counters {
  return Object.fromEntries(
    [...COUNTERS, ...TOKEN_COUNTERS].map((name) => [name, row[name] ?? 0]),
  ) as Counters;
}
