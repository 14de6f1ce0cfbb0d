import type { ReviewedPermission } from '../../permissions/permission';
import {
  countingApprovals,
  type DecisionSource,
  type Review,
} from '../../permissions/reviews/review';
import type { Standing } from '../../permissions/reviews/voter';
import { Badge, Count, joinElements, Named, Time, Written } from '../parts/inline';
import { voterOf } from '../parts/request';

/** The channel of a vote, in words. */
const WAYS: Record<DecisionSource, string> = {
  api: 'by the API',
  console: 'in the console',
  slack: 'in Slack',
};

/** Who has voted, how many approvals it needs, and who may give them. */
export function Votes({
  review,
  row,
  standing,
}: {
  review: Review;
  row: ReviewedPermission;
  standing: Standing;
}) {
  const votes = review.votes ?? [];
  const approvals = row.review ? countingApprovals(row.review).length : 0;
  return (
    <section class="card" aria-labelledby="votes-title">
      <h2 id="votes-title">
        Review: {approvals} of <Count of={review.approvals_required} one="approval" />
      </h2>
      <p class="soft">
        {review.policy_id && ['The policy “', <Named id={review.policy_id} />, '” asks for it. ']}
        Reviewers: <Reviewers review={review} />.
        {row.status === 'pending' &&
          standing === 'may_decide' &&
          ' You are one of them, and may approve.'}
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
          Too few reviewers are left. It can be approved only if more people get a role that reviews
          it.
        </p>
      )}
      {votes.length > 0 && (
        <ul class="lines">
          {votes.map(({ by, name, decision, series, reason, signed, at, via }) => (
            <li>
              <span>
                <strong>{voterOf({ by, name })}</strong>{' '}
                <Badge state={decision} label={decision === 'approve' ? 'approved' : 'denied'} />
                {signed && [' ', <span class="badge neutral">signed with a passkey</span>]}
                <small>
                  <Time at={at} />, {WAYS[via]}
                  {series && [', gives a series of ', <Count of={series.requests} one="request" />]}
                  {reason && [': “', <Written text={reason} />, '”']}
                </small>
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Reviewers({ review: { members, roles } }: { review: Review }) {
  const named = (members ?? []).map((id) => <Named id={id} />);
  const all = [...named, ...(roles ?? []).map((role) => `every ${role}`)];
  if (all.length === 0) return <>every approver, admin and owner</>;
  return <>{joinElements(all)}</>;
}
