import type { ReviewedPermission } from '../../permissions/permission';
import type { Review } from '../../permissions/reviews/review';
import type { Standing } from '../../permissions/reviews/voter';
import type { Names } from '../frame/names';
import { Badge } from '../parts/badge';
import { Named, Written } from '../parts/text';
import { Time } from '../parts/time';

interface VotesProps {
  review: Review;
  row: ReviewedPermission;
  names: Names;
  /** How the reader stands to the review. */
  standing: Standing;
}

/** By which way somebody voted. */
const WAYS = { api: 'by the API', console: 'in the console', slack: 'in Slack', policy: 'by a policy' };

/** Who has voted, how many approvals it needs, and who may give them. */
export function Votes({ review, row, names, standing }: VotesProps) {
  const votes = review.votes ?? [];
  const approvals = votes.filter(({ decision }) => decision === 'approve').length;
  return (
    <section class="card" aria-labelledby="votes-title">
      <h2 id="votes-title">
        Review: {approvals} of {review.approvals_required} {review.approvals_required === 1 ? 'approval' : 'approvals'}
      </h2>
      <p class="soft">
        {review.policy_id && (
          <>
            The policy “<Named id={review.policy_id} names={names} />” asks for it.{' '}
          </>
        )}
        Reviewers: <Reviewers review={review} names={names} />.
        {row.status === 'pending' && standing === 'decide' && ' You are one of them, and may approve.'}
        {review.passkey && ' Every approval is signed with a passkey.'}
        {!review.allow_self && ' The member who owns the agent cannot approve.'}
      </p>
      {review.escalates_at && !review.escalated_at && row.status === 'pending' && (
        <p class="soft">
          More people become reviewers on <Time at={review.escalates_at} />.
        </p>
      )}
      {review.short_of_reviewers && (
        <p class="notice waiting">
          Fewer reviewers are left than it needs. It cannot be approved unless more people get a role that reviews.
        </p>
      )}
      {votes.length > 0 && (
        <ul class="lines">
          {votes.map(({ by, name, decision, reason, signed, at, via }) => (
            <li>
              <span>
                <strong>{name === null ? <Named id={by} names={names} /> : <Written text={name} />}</strong>{' '}
                <Badge state={decision} label={decision === 'approve' ? 'approved' : 'denied'} />
                {signed && (
                  <>
                    {' '}
                    <span class="badge neutral">signed with a passkey</span>
                  </>
                )}
                <small>
                  <Time at={at} />, {WAYS[via]}
                  {reason && (
                    <>
                      : “<Written text={reason} />”
                    </>
                  )}
                </small>
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Reviewers({ review: { members, roles }, names }: Pick<VotesProps, 'review' | 'names'>) {
  const named = (members ?? []).map((id) => <Named id={id} names={names} />);
  const ofRole = (roles ?? []).map((role) => <>every {role}</>);
  const all = [...named, ...ofRole];
  if (all.length === 0) return <>every approver, admin and owner</>;
  return (
    <>
      {all.map((one, index) => (
        <>
          {index > 0 && ', '}
          {one}
        </>
      ))}
    </>
  );
}
