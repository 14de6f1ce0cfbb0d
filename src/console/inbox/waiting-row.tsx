import type { Json, JsonObject } from '../../lib/json';
import { withScriptsMark } from '../../lib/scripts';
import { shorten } from '../../lib/text';
import type { Id } from '../../lib/typeid';
import { limitValues, valueText } from '../../permissions/limit-texts';
import type { WaitingRequest } from '../../permissions/list-waiting';
import { usePage } from '../frame/page-context';
import { Named, TimeLeft, toOneLine, Written } from '../parts/inline';
import {
  AgentAndAction,
  Differs,
  Limit,
  MAX_IN_LIST,
  RequestName,
  RequestTitle,
} from '../parts/request';
import { pluralOf } from '../parts/words';
import { fieldText } from '../permission/argument-text';
import { cardAddress } from '../permission/next-request';
import { DENY_FORM } from './deny-bar';

/** How many limits, and how many amounts of the preview, a line shows. */
const MAX_AMOUNTS = 3;

/** Who reads a list of waiting requests. */
export interface InboxReader {
  /** Null for a token of the account. */
  member: Id<'member'> | null;
  mayDecide: boolean;
  /** The ids of the requests that are checked. */
  checked: readonly string[];
  /** The requests that this browser has set aside. */
  aside: readonly string[];
  /** The agent to whose requests the list is limited. */
  agentId: string | undefined;
}

/** Whether the reader, whose role may decide, can deny the request. */
export function mayDeny({ standing }: WaitingRequest): boolean {
  return standing !== 'not_a_reviewer';
}

interface WaitingRowProps {
  request: WaitingRequest;
  reader: InboxReader;
}

/** A request that waits, as a line of the list, with what one needs to judge it. */
export function WaitingRow({ request, reader }: WaitingRowProps) {
  const { permission, agentName, preview, isContradictory, standing, notifiedNobody } = request;
  const { id, action, title, connection_id, scope, expires_at } = permission;
  const { formatNumber } = usePage();
  const limits = rankLimits(scope);
  const hidden = limits.length - MAX_AMOUNTS;
  const fields = preview?.fields ?? [];
  const amounts = fields.filter(({ kind }) => kind !== undefined && kind !== 'text');
  const side = standing === 'may_decide' ? '' : 'aside';
  return (
    <li id={id} class={`request ${side}`} data-row>
      <DenyBox request={request} reader={reader} />
      <div class="what">
        <a href={cardAddress(id, reader.agentId)}>
          {isContradictory && [<Differs />, ' ']}
          <RequestName request={permission} />
        </a>
        <p class="soft by">
          <AgentAndAction agent={<Asker name={agentName} />} action={action} />
        </p>
        {title !== null && (
          <p class="soft title">
            <RequestTitle title={title} otherwise="" isOfConnection={connection_id !== null} />
          </p>
        )}
        <ul class="amounts">
          {limits.slice(0, MAX_AMOUNTS).map(({ label, value, number }) => (
            <li>
              <Limit label={label} value={valueText(value, formatNumber)} number={number} />
            </li>
          ))}
          {hidden > 0 && (
            <li class="soft">
              and {hidden} more {pluralOf(hidden, 'limit')}
            </li>
          )}
          {amounts.slice(0, MAX_AMOUNTS).map((field) => (
            <li>
              <span class="soft">
                agent says: <Written text={shorten(field.label, MAX_IN_LIST)} />
              </span>{' '}
              <Written text={shorten(fieldText(field, undefined, formatNumber), MAX_IN_LIST)} />
            </li>
          ))}
        </ul>
      </div>
      <div class="side">
        <TimeLeft until={expires_at} />
        <p class="soft">
          <Why request={request} member={reader.member} />
        </p>
        {reader.aside.includes(id) && <p class="soft">Set aside until tomorrow</p>}
        {notifiedNobody && <p class="fault">Nobody has been notified of it</p>}
      </div>
    </li>
  );
}

/** The agent that asks, in a list of requests that wait. */
export function Asker({ name }: { name: string }) {
  return (
    <strong>
      <Written text={shorten(name, MAX_IN_LIST)} />
    </strong>
  );
}

/** The box that has a request denied with others; none for who cannot deny it. */
export function DenyBox({ request, reader }: WaitingRowProps) {
  const { id, title, action } = request.permission;
  if (!reader.mayDecide || !mayDeny(request)) return null;
  const called = shorten(title ?? action, MAX_IN_LIST);
  const by = shorten(request.agentName, MAX_IN_LIST);
  return (
    <input
      type="checkbox"
      name="id"
      value={id}
      form={DENY_FORM}
      checked={reader.checked.includes(id)}
      aria-label={withScriptsMark(toOneLine(`Check to deny: ${called}, of ${by}`))}
    />
  );
}

/** The limits with their numbers in the scope, those first that look most like an amount. */
function rankLimits(scope: JsonObject) {
  const limits = limitValues(scope).map(([label, value], index) => {
    return { label, value, number: index + 1 };
  });
  return limits.toSorted((a, b) => amountRank(a.value) - amountRank(b.value));
}

/**
 * Numbers come first, then texts that begin with one, such as `250 EUR`: the agent chooses the
 * order of its limits.
 */
function amountRank(value: Json): number {
  if (typeof value === 'number') return 0;
  if (/^"?[-+]?\d/.test(valueText(value))) return 1;
  return 2;
}

/** Why the request is in the reader's inbox, and how far its review is. */
function Why({
  request: { permission, approvals, standing },
  member,
}: {
  request: WaitingRequest;
  member: InboxReader['member'];
}) {
  const { review } = permission;
  if (!review) return <>Anybody who may decide</>;
  const progress =
    review.approvals_required > 1 && `${approvals} of ${review.approvals_required} approvals`;
  const policy = review.policy_id && ['“', <Named id={review.policy_id} />, '”'];
  const isNamed = member !== null && review.members?.includes(member);
  const reason = {
    may_decide: isNamed ? 'You are named by' : 'Your role reviews for',
    has_approved: 'You approved. Policy',
    owns_agent: 'You own the agent: others decide. Policy',
    not_a_reviewer: member ? 'Others review. Policy' : 'Members review. Policy',
  }[standing];
  return (
    <>
      {reason} {policy}
      {progress && [<br />, progress]}
      {review.short_of_reviewers && [
        <br />,
        <span class="urgent">Too few reviewers are left</span>,
      ]}
    </>
  );
}
