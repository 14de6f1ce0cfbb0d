import type { RequestContext, UserContext } from '../../http/context';
import type { NamedQueries } from '../../http/preload';
import { shorten } from '../../lib/text';
import { DAY } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { amountOf } from '../../permissions/amount';
import { type preloadPermission, requirePermission } from '../../permissions/find-permission';
import { listWaiting, type WaitingRequest } from '../../permissions/list-waiting';
import { type Permission, presentPermission } from '../../permissions/permission';
import { endOfQuietHours } from '../../receivers/channels/settings/quiet-hours';
import { selectSettings, storedSettings } from '../../receivers/channels/settings/settings';
import { readForm } from '../frame/form';
import { numbersOf } from '../frame/page';
import { MAX_IN_LIST } from '../parts/request';
import type { ConsoleContext, PreloadedContext, SignedInRequest } from '../session/access';
import { writeAside } from '../session/aside';
import { type FlashKind, redirectWithFlash } from '../session/flash';

type SkipContext = PreloadedContext<typeof preloadPermission>;

/**
 * The address of a request's page.
 * @param agentId the agent to whose requests the inbox was limited, and to whose the next one is
 */
export function cardAddress(id: string, agentId: string | undefined): string {
  return `/console/permissions/${id}${agentQuery(agentId)}`;
}

/** The address of the inbox, limited to one agent if it was before. */
export function inboxAddress(agentId: string | undefined): string {
  return `/console${agentQuery(agentId)}`;
}

function agentQuery(agentId: string | undefined): string {
  return agentId ? `?${new URLSearchParams({ agent_id: agentId })}` : '';
}

/** The agent to whose requests the inbox was limited, from which the page was opened. */
export function agentOfInbox({ req }: Pick<RequestContext, 'req'>): string | undefined {
  return req.query('agent_id') || undefined;
}

/**
 * The request after this one that waits most urgently for the caller; those that this browser has
 * set aside come last.
 */
export async function findNext(
  c: SignedInRequest,
  current: Id<'perm'>,
): Promise<WaitingRequest | undefined> {
  const { context, aside } = c.var.signedIn;
  const { data } = await listWaiting(context, {
    limit: aside.length + 2,
    waitsFor: 'caller',
    agent_id: agentOfInbox(c),
  });
  const others = data.filter(({ permission }) => permission.id !== current);
  return others.find(({ permission }) => !aside.includes(permission.id)) ?? others[0];
}

/**
 * Goes on to the next request, which says what was done with this one; to the inbox without one, or
 * if it cannot be read. What was done is committed, so no answer here is an error.
 */
export async function goToNext<Q extends NamedQueries>(
  c: ConsoleContext<Q>,
  permission: Permission,
  kind: FlashKind,
): Promise<Response> {
  const agentId = agentOfInbox(c);
  const { id, action, resource } = permission;
  const next = await findNext(c, id).catch(() => undefined);
  const isNew = next && !c.var.signedIn.aside.includes(next.permission.id);
  const address = isNew ? cardAddress(next.permission.id, agentId) : inboxAddress(agentId);
  const name = shorten(
    `${amountOf(permission, numbersOf(c)) ?? action} · ${resource}`,
    MAX_IN_LIST,
  );
  return redirectWithFlash(c, address, kind, { request: { id, name } });
}

/** Sets the request in the path aside until tomorrow, and goes on to the next one. */
export async function skip(c: SkipContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const row = requirePermission(context.principal, c.var.loaded.permission?.[0]);
  const now = context.runtime.now();
  const zone = (await readForm(c)).text('zone');
  writeAside(c, c.var.signedIn.sender, row.id, await endOfDay(context, now, zone));
  return goToNext(c, presentPermission(row, now, context.principal), 'skipped');
}

/**
 * When the day of the member ends, in the time zone of their quiet hours or else of the browser;
 * without one, in a day.
 */
async function endOfDay(
  { principal, reader }: UserContext,
  now: number,
  zone: string,
): Promise<number> {
  const { account, member } = principal;
  if (!member) return now + DAY;
  const [[row]] = await reader.load([selectSettings(reader, account.number, member.id)]);
  const time_zone = storedSettings(row)?.quiet_hours?.time_zone ?? zone;
  const day = { start: '00:01', end: '00:00', time_zone };
  return endOfQuietHours({ quiet_hours: day }, now) ?? now + DAY;
}
