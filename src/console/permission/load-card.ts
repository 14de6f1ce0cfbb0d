import type { AuditEntry } from '../../audit/entry';
import { listAuditEntries } from '../../audit/list';
import type { LoadedRows } from '../../http/preload';
import type { Json } from '../../lib/json';
import { amountOf } from '../../permissions/amount';
import { presentContents } from '../../permissions/contents';
import { requirePermission } from '../../permissions/find-permission';
import type { WaitingRequest } from '../../permissions/list-waiting';
import { hasNotifiedNobody } from '../../permissions/notified-nobody';
import {
  type Permission,
  presentPermission,
  type ReviewedPermission,
} from '../../permissions/permission';
import type { preloadCard } from '../../permissions/preload-card';
import type { Preview } from '../../permissions/preview';
import { type Standing, standingOf } from '../../permissions/reviews/voter';
import type { SeriesUsage } from '../../permissions/series/usage';
import { type PolicyRow, selectActivePolicies } from '../../policies/policy';
import { listNotifications } from '../../receivers/channels/notifications';
import { loadNames, type Names } from '../frame/names';
import { numbersOf } from '../frame/page';
import type { SignedInRequest } from '../session/access';
import { findNext } from './next-request';
import { listSimilar } from './similar-requests';

/**
 * Maximum number of entries of the log that a card shows. A permission has few: its request, the
 * decision, and the uses and the end of its token.
 */
const MAX_ENTRIES = 100;
/** Maximum number of messages about the request that a card shows. */
const MAX_NOTIFICATIONS = 100;

/** The rows that are preloaded for a card. */
export type PreloadedCard = LoadedRows<Awaited<ReturnType<typeof preloadCard>>>;

/** A permission with everything that its page shows to one reader. */
export interface Card {
  row: ReviewedPermission;
  permission: Permission;
  /** How much is asked for, or the action. */
  name: string;
  /** The name of the agent, or its id. */
  agentName: string;
  names: Names;
  isPending: boolean;
  isOfConnection: boolean;
  /** The arguments; undefined if the service does not have them. */
  input: Json | undefined;
  preview: Preview | null;
  seriesUsage: SeriesUsage | undefined;
  /** How the reader can act on the request. */
  standing: Standing;
  hasPasskey: boolean;
  /** Past decisions on requests like this one. */
  similar: Permission[];
  notifications: Awaited<ReturnType<typeof listNotifications>>;
  /** Whether the request waits, and every message about it has failed. */
  hasNotifiedNobody: boolean;
  /** The request that the reader can decide next; undefined where the page does not offer one. */
  next: WaitingRequest | undefined;
  /** The log of the permission, oldest entry first; null for a reader who may not see the log. */
  entries: AuditEntry[] | null;
  /** The active policies; null for a reader who may not see policies. */
  policies: PolicyRow[] | null;
}

/**
 * Loads everything that the page of a permission shows to the caller.
 * @throws Problem `not_found` if there is no such permission, or it is not visible to the caller
 */
export async function loadCard(c: SignedInRequest, loaded: PreloadedCard): Promise<Card> {
  const { context, flash } = c.var.signedIn;
  const { principal, runtime } = context;
  const row = requirePermission(principal, loaded.permission?.[0]);
  const permission = presentPermission(row, runtime.now(), principal);
  const { input, preview, series_usage } = presentContents(row);

  const isPending = permission.status === 'pending';
  const mayDecide = principal.scopes.includes('permissions:decide');
  const offersNext = mayDecide && (flash !== null || !isPending);
  const [names, similar, entries, notifications, notifiedNobody, next, policies] =
    await Promise.all([
      loadNames(context, ['people', 'agents', 'policies']),
      listSimilar(context, permission),
      loadEntries(c, permission),
      listNotifications(context, { id: row.id, limit: MAX_NOTIFICATIONS }),
      isPending && hasNotifiedNobody(context, row.id),
      offersNext ? findNext(c, row.id) : undefined,
      loadPolicies(c),
    ]);

  return {
    row,
    permission,
    name: amountOf(permission, numbersOf(c)) ?? permission.action,
    agentName: names.get(permission.agent_id) ?? permission.agent_id,
    names,
    isPending,
    isOfConnection: permission.connection_id !== null,
    input: row.input === null ? undefined : input,
    preview,
    seriesUsage: series_usage,
    standing: standingOf(row.review, loaded.voter?.[0], principal.member?.id),
    hasPasskey: (loaded.passkeys ?? []).length > 0,
    similar,
    notifications,
    hasNotifiedNobody: notifiedNobody,
    next,
    entries,
    policies,
  };
}

async function loadEntries(c: SignedInRequest, { id }: Permission): Promise<AuditEntry[] | null> {
  const { context } = c.var.signedIn;
  if (!context.principal.scopes.includes('audit:read')) return null;
  const query = { permission_id: id, order: 'asc', limit: MAX_ENTRIES } as const;
  const { data } = await listAuditEntries(context, query);
  return data;
}

async function loadPolicies(c: SignedInRequest): Promise<PolicyRow[] | null> {
  const { principal, reader } = c.var.signedIn.context;
  if (!principal.scopes.includes('policies:read')) return null;
  const [policies] = await reader.load([selectActivePolicies(principal.account.number)]);
  return policies;
}
