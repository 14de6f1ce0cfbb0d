import type { Child } from 'hono/jsx';
import { deciderKind } from '../../lib/decider';
import type { JsonObject } from '../../lib/json';
import { shorten } from '../../lib/text';
import { amountOf } from '../../permissions/amount';
import { limitTexts } from '../../permissions/limit-texts';
import { shortPathLabel } from '../../permissions/path-label';
import { isWithdrawn, type Permission } from '../../permissions/permission';
import { usePage } from '../frame/page-context';
import { Badge, Code, joinElements, Named, Written } from './inline';

/**
 * Maximum number of characters of a text in a list: one request may not push the others out of
 * sight.
 */
export const MAX_IN_LIST = 120;

/**
 * The name of a request in a list: the title, labelled as the agent's or as that of its
 * connection's rule, or without one `otherwise`.
 */
export function RequestTitle({
  title,
  otherwise,
  isOfConnection,
}: {
  title: string | null;
  otherwise: string;
  isOfConnection: boolean;
}) {
  if (title === null) return <Written text={shorten(otherwise, MAX_IN_LIST)} />;
  return (
    <>
      <span class="says">{isOfConnection ? 'By its rule: ' : 'Agent says: '}</span>
      <Written text={shorten(title, MAX_IN_LIST)} />
    </>
  );
}

/** Names a request in a list by what it binds: how much and on what, or which action on what. */
export function RequestName({ request }: { request: Permission }) {
  const { action, resource } = request;
  const amount = amountOf(request, usePage().formatNumber);
  if (amount === null) return <Written text={shorten(`${action} on ${resource}`, MAX_IN_LIST)} />;
  return (
    <>
      <span class="amount">
        <Written text={amount} />
      </span>{' '}
      · <Written text={shorten(resource, MAX_IN_LIST)} />
    </>
  );
}

/**
 * Marks a request whose words differ from its arguments. The card says which ones; a list shows no
 * arguments.
 */
export function Differs() {
  return (
    <span class="badge bad">
      differs<span class="wide"> from what is binding</span>
    </span>
  );
}

/** A limit in a list: its label as code, and its value. */
export function Limit({ label, value, number }: { label: string; value: string; number: number }) {
  return (
    <>
      <span class="soft">
        <Code text={shortPathLabel(label, number, MAX_IN_LIST)} />
      </span>{' '}
      <Written text={shorten(value, MAX_IN_LIST)} />
    </>
  );
}

/** How many limits a line shows. */
const MAX_LIMITS = 5;

/** The limits of a scope in one line. */
export function LimitsLine({ scope }: { scope: JsonObject }) {
  const limits = limitTexts(scope, usePage().formatNumber);
  const shown: Child[] = limits.slice(0, MAX_LIMITS).map(([label, value], index) => (
    <span>
      <Limit label={label} value={value} number={index + 1} />
    </span>
  ));
  const more = limits.length - shown.length;
  if (more > 0) shown.push(`${more} more`);
  return <>{joinElements(shown)}</>;
}

/** The state of a request, in which a withdrawn one differs from one that expired. */
export function StateBadge({ request }: { request: Permission }) {
  const { status } = request;
  return <Badge state={status} label={isWithdrawn(request) ? 'withdrawn' : status} />;
}

/**
 * Who decided, by the id: a member, a policy or a token of the account. For an approval by a
 * series, a link to the first request, whose approval gave it.
 */
export function ByWhom({ id, isShort = false }: { id: string; isShort?: boolean }) {
  if (deciderKind(id) !== 'series') return <Named id={id} isShort={isShort} />;
  return (
    <>
      a series (<a href={`/console/permissions/${id}`}>its first request</a>)
    </>
  );
}

/**
 * Everybody who decided: all members who voted for the decision, or the policy, the series or the
 * token of the account.
 */
export function Deciders({ permission }: { permission: Permission }) {
  const { review, status, decided_by, policy_id } = permission;
  if (policy_id !== null)
    return (
      <>
        the policy “<Named id={policy_id} />”
      </>
    );
  const decision = status === 'denied' ? 'deny' : 'approve';
  const votes = review?.votes?.filter((vote) => vote.decision === decision) ?? [];
  if (votes.length > 0) return <>{joinElements(votes.map(voterOf), ' and ')}</>;
  return decided_by !== null && <ByWhom id={decided_by} />;
}

/** Who voted, by the name that the vote has. */
export function voterOf({ by, name }: { by: string; name: string | null }): Child {
  return name === null ? <Named id={by} /> : <Written text={name} />;
}

/** Who asks for which action, as one line of a list. On a phone the agent gives way. */
export function AgentAndAction({ agent, action }: { agent?: Child; action: string }) {
  return (
    <>
      {agent && <span>{agent} · </span>}
      <Code text={action} />
    </>
  );
}

interface RequestRowProps {
  request: Permission;
  /** Who asked, where the list has requests of several agents. */
  agent?: Child;
  /** Stands in the place of the state. */
  badge?: Child;
  /** Stands below the state. */
  children: Child;
}

/** A request as a line of a list, with a link to its page. */
export function RequestRow({ request, agent, badge, children }: RequestRowProps) {
  const { id, title, action, connection_id } = request;
  return (
    <li class="request" data-row>
      <div class="what">
        <a href={`/console/permissions/${id}`}>
          <RequestName request={request} />
        </a>
        <p class="soft by">
          <AgentAndAction agent={agent} action={action} />
        </p>
        {title !== null && (
          <p class="soft title">
            <RequestTitle title={title} otherwise="" isOfConnection={connection_id !== null} />
          </p>
        )}
      </div>
      <div class="side dated">
        {badge ?? <StateBadge request={request} />}
        <p class="soft">{children}</p>
      </div>
    </li>
  );
}
