import type { Id } from '../../lib/typeid';
import type { WaitingRequest } from '../../permissions/list-waiting';
import type { Names } from '../frame/names';
import { CsrfField } from '../frame/page';
import { limitTexts } from '../parts/limits';
import { Code, Named, visibleText, Written } from '../parts/text';
import { TimeLeft } from '../parts/time';

interface WaitingListProps {
  requests: WaitingRequest[];
  names: Names;
  now: number;
  /** The reader; null for a token of the account. */
  member: Id<'member'> | null;
  /** Whether the member's role may decide. */
  mayDecide: boolean;
}

/** The requests that wait, with what one needs to judge them. Several can be denied at once; approving is one by one. */
export function WaitingList({ requests, names, now, member, mayDecide }: WaitingListProps) {
  const isDecider = mayDecide && requests.some(({ standing }) => standing !== 'others');
  return (
    <form method="post" action="/console/deny">
      <CsrfField />
      <ul class="requests">
        {requests.map((request) => (
          <WaitingRow {...{ request, names, now, member, mayDecide }} />
        ))}
      </ul>
      {isDecider && (
        <details class="deny-many">
          <summary>Deny several</summary>
          <div class="actions">
            <label class="reason">
              Reason for all that are checked
              <input name="reason" maxlength={2000} />
            </label>
            <button type="submit" class="danger">
              Deny those that are checked
            </button>
          </div>
        </details>
      )}
    </form>
  );
}

type WaitingRowProps = Omit<WaitingListProps, 'requests'> & { request: WaitingRequest };

function WaitingRow({ request, names, now, member, mayDecide }: WaitingRowProps) {
  const { permission, agentName, preview, standing } = request;
  const { id, action, resource, title, scope, expires_at } = permission;
  const address = `/console/permissions/${id}`;
  const amounts = (preview?.fields ?? []).filter(({ kind }) => kind !== undefined && kind !== 'text').slice(0, 3);
  return (
    <li id={id} class={`request ${standing === 'decide' ? '' : 'aside'}`} data-row>
      {mayDecide && standing !== 'others' && (
        <input
          type="checkbox"
          name="id"
          value={id}
          aria-label={visibleText(`Check to deny: ${title ?? action} of ${agentName}`)}
        />
      )}
      <div class="what">
        <a href={address}>
          <Written text={title ?? action} />
        </a>
        <p class="soft">
          <strong>
            <Written text={agentName} />
          </strong>{' '}
          asks for <Code text={action} /> on <Written text={resource} />
        </p>
        <ul class="amounts">
          {amounts.length > 0
            ? amounts.map(({ label, value }) => (
                <li>
                  <span class="soft">
                    <Written text={label} />
                  </span>{' '}
                  <Written text={value} />
                </li>
              ))
            : limitTexts(scope)
                .slice(0, 3)
                .map(([name, value]) => (
                  <li>
                    <span class="soft">
                      <Written text={name} />
                    </span>{' '}
                    <Written text={value} />
                  </li>
                ))}
        </ul>
      </div>
      <div class="side">
        <TimeLeft until={expires_at} now={now} />
        <p class="soft">
          <Why request={request} names={names} member={member} />
        </p>
      </div>
      {mayDecide && (
        <>
          <a data-key="approve" href={`${address}#approve`} hidden>
            Approve
          </a>
          <a data-key="deny" href={`${address}#deny`} hidden>
            Deny
          </a>
          <a data-key="edit" href={`${address}#limits`} hidden>
            Edit the limits
          </a>
        </>
      )}
    </li>
  );
}

/** Why the request is in the reader's inbox, and how far its review is. */
function Why({
  request: { permission, standing },
  names,
  member,
}: Pick<WaitingRowProps, 'request' | 'names' | 'member'>) {
  const { review } = permission;
  if (!review) return <>Anybody who may decide</>;
  const approvals = (review.votes ?? []).filter(({ decision }) => decision === 'approve').length;
  const progress = review.approvals_required > 1 && `${approvals} of ${review.approvals_required} approvals`;
  const policy = review.policy_id && <Named id={review.policy_id} names={names} />;
  const reason = {
    decide: member && review.members?.includes(member) ? 'You are named by' : 'Your role reviews for',
    approved: 'You approved. Policy',
    owner: 'You own the agent: others decide. Policy',
    others: member ? 'Others review. Policy' : 'Members review. Policy',
  }[standing];
  return (
    <>
      {reason} {policy}
      {progress && (
        <>
          <br />
          {progress}
        </>
      )}
      {review.short_of_reviewers && (
        <>
          <br />
          <span class="urgent">Too few reviewers are left</span>
        </>
      )}
    </>
  );
}
