import type { ShortPolicy } from '../../policies/list-short';
import type { Policy } from '../../policies/policy';
import { Badge } from '../parts/inline';
import { pluralOf } from '../parts/words';

/** How many reviewers a policy needs and has, in words. */
export function reviewersText({
  approvals,
  reviewers,
}: Pick<ShortPolicy, 'approvals' | 'reviewers'>): string {
  const needed = `${approvals} ${pluralOf(approvals, 'approval')}`;
  if (reviewers === 0) return `it needs ${needed}, and nobody is left who may review.`;
  return `it needs ${needed}, and ${reviewers} ${pluralOf(reviewers, 'person', 'people')} may review.`;
}

/** Marks a policy that has too few reviewers. */
export function ShortBadge() {
  return <Badge state="short" label="too few reviewers" />;
}

/** Says on the page of a policy that it has too few reviewers; nothing if it has enough. */
export function ShortNotice({
  short,
  review,
}: {
  short: ShortPolicy | undefined;
  review: Policy['review'];
}) {
  if (!short) return null;
  return (
    <p class="notice bad" role="status">
      <strong>Too few reviewers:</strong> {reviewersText(short)} Requests that this policy sends to
      reviewers wait until {review?.escalation ? 'the escalation' : 'they expire'}. Name others, or
      lower the number of approvals.
    </p>
  );
}
