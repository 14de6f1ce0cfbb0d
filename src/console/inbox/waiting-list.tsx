import { withScriptsMark } from '../../lib/scripts';
import { shorten } from '../../lib/text';
import type { Id } from '../../lib/typeid';
import { limitTexts } from '../../permissions/limit-texts';
import type { WaitingRequest } from '../../permissions/list-waiting';
import { usePage } from '../frame/page-context';
import { Code, Named, TimeLeft, toOneLine, Written } from '../parts/inline';
import { Limit, MAX_IN_LIST, RequestTitle } from '../parts/request';
import { pluralOf } from '../parts/words';
import { DENY_FORM } from './deny-bar';

/** How many limits, and how many amounts of the preview, a line shows. */
const MAX_AMOUNTS = 3;

interface WaitingListProps {
  requests: WaitingRequest[];
  /** The reader; null for a token of the account. */
  member: Id<'member'> | null;
  /** The ids of the requests that are checked. */
  checked: readonly string[];
}

/**
 * The requests that wait, with what one needs to judge them. Several can be denied at once;
 * approving is one by one.
 */
export function WaitingList({ requests, ...reader }: WaitingListProps) {
  return (
    <ul class="requests">
      {requests.map((request) => (
        <WaitingRow request={request} {...reader} />
      ))}
    </ul>
  );
}

/** Whether the reader, whose role may decide, can deny the request. */
export function mayDeny({ standing }: WaitingRequest): boolean {
  return standing !== 'others';
}

type WaitingRowProps = Omit<WaitingListProps, 'requests'> & { request: WaitingRequest };

function WaitingRow({ request, member, checked }: WaitingRowProps) {
  const { permission, agentName, preview, standing, notifiedNobody } = request;
  const { id, action, resource, title, scope, expires_at } = permission;
  const called = shorten(title ?? action, MAX_IN_LIST);
  const by = shorten(agentName, MAX_IN_LIST);
  const address = `/console/permissions/${id}`;
  const limits = limitTexts(scope)
    .map(([label, value], index) => ({ label, value, number: index + 1 }))
    .toSorted((a, b) => amountRank(a.value) - amountRank(b.value));
  const hidden = limits.length - MAX_AMOUNTS;
  const amounts = (preview?.fields ?? [])
    .filter(({ kind }) => kind !== undefined && kind !== 'text')
    .slice(0, MAX_AMOUNTS);
  return (
    <li id={id} class={`request ${standing === 'decide' ? '' : 'aside'}`} data-row>
      {usePage().may('permissions:decide') && mayDeny(request) && (
        <input
          type="checkbox"
          name="id"
          value={id}
          form={DENY_FORM}
          checked={checked.includes(id)}
          aria-label={withScriptsMark(toOneLine(`Check to deny: ${called}, of ${by}`))}
        />
      )}
      <div class="what">
        <a href={address}>
          <RequestTitle title={title} otherwise={`${action} on ${resource}`} />
        </a>
        <p class="soft">
          {title === null && 'From '}
          <strong>
            <Written text={by} />
          </strong>
          {title !== null && (
            <>
              {' '}
              asks for <Code text={action} /> on <Written text={shorten(resource, MAX_IN_LIST)} />
            </>
          )}
        </p>
        <ul class="amounts">
          {limits.slice(0, MAX_AMOUNTS).map(({ label, value, number }) => (
            <li>
              <Limit label={label} value={value} number={number} />
            </li>
          ))}
          {hidden > 0 && (
            <li class="soft">
              and {hidden} more {pluralOf(hidden, 'limit')}
            </li>
          )}
          {amounts.map(({ label, value }) => (
            <li>
              <span class="soft">
                agent says: <Written text={shorten(label, MAX_IN_LIST)} />
              </span>{' '}
              <Written text={shorten(value, MAX_IN_LIST)} />
            </li>
          ))}
        </ul>
      </div>
      <div class="side">
        <TimeLeft until={expires_at} />
        <p class="soft">
          <Why request={request} member={member} />
        </p>
        {notifiedNobody && <p class="fault">Nobody has been notified of it</p>}
      </div>
    </li>
  );
}

/**
 * Numbers come first, then texts that begin with one, such as `250 EUR`: the agent chooses the
 * order of its limits.
 */
function amountRank(value: string): number {
  if (/^-?[\d,]+(\.\d+)?(e[+-]\d+)?$/.test(value)) return 0;
  if (/^"?[-+]?\d/.test(value)) return 1;
  return 2;
}

/** Why the request is in the reader's inbox, and how far its review is. */
function Why({
  request: { permission, standing },
  member,
}: Pick<WaitingRowProps, 'request' | 'member'>) {
  const { review } = permission;
  if (!review) return <>Anybody who may decide</>;
  const approvals = (review.votes ?? []).filter(({ decision }) => decision === 'approve').length;
  const progress =
    review.approvals_required > 1 && `${approvals} of ${review.approvals_required} approvals`;
  const policy = review.policy_id && ['“', <Named id={review.policy_id} />, '”'];
  const isNamed = member !== null && review.members?.includes(member);
  const reason = {
    decide: isNamed ? 'You are named by' : 'Your role reviews for',
    approved: 'You approved. Policy',
    owner: 'You own the agent: others decide. Policy',
    others: member ? 'Others review. Policy' : 'Members review. Policy',
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
