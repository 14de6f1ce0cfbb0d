import { and, eq, inArray, sql } from 'drizzle-orm';
import { aliased, idList } from '../db/columns';
import type { Reader } from '../db/database';
import { isAgentOfPermission } from '../db/permission-joins';
import { agents, type EventNames, members, permissions, policies } from '../db/schema';
import { type Id, parseId } from '../lib/typeid';
import { reviewedColumns } from './find-permission';
import { type Permission, presentPermission, type ReviewedPermission } from './permission';

/** A permission as messages about its events need it. */
export interface PermissionSnapshot {
  row: ReviewedPermission;
  /** As the API shows it to people, without input and preview. */
  shown: Permission;
  names: EventNames;
}

/**
 * Reads permissions of an account for messages about their events. Those of deleted agents are left
 * out.
 */
export async function loadPermissionSnapshots(
  reader: Reader,
  account: { number: number; id: Id<'user'> },
  ids: readonly Id<'perm'>[],
  now: number,
): Promise<Map<Id<'perm'>, PermissionSnapshot>> {
  const wanted = idList(ids);
  const [rows] = await reader.load([
    reader
      .select({ ...reviewedColumns(now), agentName: aliased(agents.name, 'agent_name') })
      .from(permissions)
      .innerJoin(agents, isAgentOfPermission)
      .where(and(eq(permissions.account, account.number), sql`${permissions.id} in ${wanted}`)),
  ]);
  const names = await loadDeciders(
    reader,
    account,
    rows.flatMap(({ decidedBy }) => decidedBy ?? []),
  );
  return new Map(
    rows.map(({ agentName, ...row }) => {
      const decidedBy = row.decidedBy && (names.get(row.decidedBy) ?? nameOfOther(row.decidedBy));
      const shown = presentPermission(row, now, { kind: 'user' });
      return [row.id, { row, shown, names: { agent: agentName, decidedBy } }];
    }),
  );
}

/** The words for a decider without a name. An approval by a series names its first permission. */
function nameOfOther(id: string): string {
  return parseId('perm', id) ? 'a series' : id;
}

/**
 * The names of members and policies that decided, by their ids, and what stands for a token of the
 * account.
 */
async function loadDeciders(
  reader: Reader,
  account: { number: number; id: Id<'user'> },
  ids: readonly string[],
) {
  const memberIds = [...new Set(ids.flatMap((id) => parseId('member', id) ?? []))];
  const policyIds = [...new Set(ids.flatMap((id) => parseId('policy', id) ?? []))];
  const names = new Map<string, string>([[account.id, 'a token of the account']]);
  if (memberIds.length + policyIds.length === 0) return names;
  const [people, rules] = await reader.load([
    reader
      .select({ id: members.id, name: members.name, email: members.email })
      .from(members)
      .where(and(eq(members.account, account.number), inArray(members.id, memberIds))),
    reader
      .select({ id: policies.id, name: policies.name })
      .from(policies)
      .where(and(eq(policies.account, account.number), inArray(policies.id, policyIds))),
  ]);
  for (const { id, name, email } of people) names.set(id, name ?? email ?? id);
  for (const { id, name } of rules) names.set(id, name);
  return names;
}
