import { isDeepStrictEqual } from 'node:util';
import type { Findings } from '../findings.ts';
import { markOfRequest } from '../load/permissions.ts';
import { ACT } from '../load/series-terms.ts';
import type { Memory } from '../memory.ts';
import type { StoredAccount, StoredEntry } from '../stored.ts';

interface Given {
  requests: number;
  expires_in: number;
}

/**
 * Checks that each approval by a series names the series and who gave it, is of an act that belongs
 * to it, in its time and number and before it was ended, and that the count of each series is that
 * of the log.
 * @returns how many approvals by series there are
 */
export function checkSeries(findings: Findings, memory: Memory, account: StoredAccount): number {
  const approvals = account.entries.filter(({ event }) => event === 'approve');
  const first = new Map(approvals.map((entry) => [entry.permission, entry]));
  const acts = Map.groupBy(
    approvals.filter(({ details }) => details.decided_via === 'series'),
    ({ details }) => String(details.decided_by),
  );
  const known = new Map(memory.permissions.map(({ id, series }) => [id, series]));
  const sentAt = new Map(
    [...memory.steps].map(([mark, step]) => [mark, step.event === 'request' ? step.sentAt : 0]),
  );
  for (const [id, entries] of acts) {
    const giving = first.get(id);
    findings.check(giving !== undefined, 'series', () => `${id} approved, and gave no series`);
    if (!giving) continue;
    const given = giving.details.granted_series as Given | undefined;
    const tell = () => `${id} gave ${JSON.stringify(given)}: ${entries.length} acts`;
    findings.check(given !== undefined && entries.length < given.requests, 'series', tell);
    for (const entry of entries) {
      findings.check(isOfSeries(entry, giving), 'series', () => `${id}: not ${entry.permission}`);
      const endedAt = known.get(id)?.endedAt ?? Number.POSITIVE_INFINITY;
      const sent = sentAt.get(markOfRequest(entry.details)) ?? 0;
      findings.check(sent <= endedAt, 'series', () => `${id}: ${entry.permission} after its end`);
    }
  }
  for (const { permission, used, requests } of account.series) {
    const counted = acts.get(permission)?.length ?? 0;
    findings.check(
      used === counted + 1 && used <= requests,
      'series and the log',
      () => `${permission}: counted ${used} of ${requests}, in the log ${counted + 1}`,
    );
  }
  return [...acts.values()].flat().length;
}

/** Whether an approval says which series approved it, and is of an act that belongs to it. */
function isOfSeries({ agent, createdAt, details }: StoredEntry, giving: StoredEntry): boolean {
  const granted = giving.details.granted_series as Given;
  const { [ACT]: number, ...scope } = details.scope as { [ACT]: number };
  const { [ACT]: most, ...limits } = giving.details.scope as { [ACT]: number };
  const series = { permission_id: giving.permission, given_by: [giving.details.decided_by] };
  return (
    agent === giving.agent &&
    details.policy_id === null &&
    details.action === giving.details.action &&
    details.resource === giving.details.resource &&
    number <= most &&
    isDeepStrictEqual(scope, limits) &&
    isDeepStrictEqual(details.series, series) &&
    createdAt <= giving.createdAt + granted.expires_in * 1_000
  );
}
