import { formatTime } from '../../lib/time';
import type { PermissionRow } from '../../permissions/permission';
import { type DetailedReplay, MAX_LISTED } from '../../permissions/policies/replay';
import type { Names } from '../frame/names';
import { Badge } from '../parts/badge';
import { limitTexts } from '../parts/limits';
import { RequestTitle } from '../parts/request-title';
import { Code, Named, Written } from '../parts/text';
import { Time } from '../parts/time';

interface ReplayResultProps {
  replay: DetailedReplay;
  days: number;
  names: Names;
  /** Whether the reader may see what was asked for; others see the ids of requests. */
  mayReadRequests: boolean;
}

/** What a draft would have done with past requests, and where that differs from what was decided. */
export function ReplayResult({ replay, days, names, mayReadRequests }: ReplayResultProps) {
  const { requests, complete, approve, deny, review, undecided, agrees, disagrees } = replay;
  if (requests === 0) return <p class="soft">There was no request in the last {days} days to try it on.</p>;
  const differing = `${disagrees.length}${disagrees.length === MAX_LISTED ? ' or more' : ''}`;
  const decided = approve + deny;
  const rest = disagrees.length < MAX_LISTED ? decided - agrees - disagrees.length : 0;
  const counts = [
    [approve, 'approve'],
    [deny, 'deny'],
    [review, 'send to reviewers'],
    [undecided, 'leave alone'],
  ] as const;
  return (
    <>
      <p>
        Of {complete ? 'the' : 'the newest'} {requests} {requests === 1 ? 'request' : 'requests'} of the last {days}{' '}
        days, this policy alone would
      </p>
      <dl class="counts">
        {counts.map(([count, label]) => (
          <div class={count === 0 ? 'soft' : undefined}>
            <dt>{label}</dt>
            <dd>{count}</dd>
          </div>
        ))}
      </dl>
      {decided > 0 && (
        <p>
          {agrees} of these {agrees === 1 ? 'was' : 'were'} decided the same way,{' '}
          {disagrees.length === 0 ? 'none differently' : <strong>{differing} differently</strong>}
          {rest > 0 && `, and ${rest} had no decision`}.
        </p>
      )}
      {disagrees.length > 0 && mayReadRequests && (
        <p class="hint">Links open on a new tab: what you typed stays here.</p>
      )}
      {disagrees.length > 0 && (
        <ul class="lines disagreements">
          {disagrees.map(({ request, was, wouldBe }) => (
            <li>
              {mayReadRequests ? <PastRequest request={request} names={names} /> : <Code text={request.id} />}
              <span>
                was <Badge state={was} />, would be <Badge state={wouldBe === 'approve' ? 'approved' : 'denied'} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function PastRequest({ request, names }: { request: PermissionRow; names: Names }) {
  const { id, title, action, resource, agentId, scope, createdAt } = request;
  const limits = limitTexts(scope).map(([name, value]) => `${name} ${value}`);
  return (
    <span>
      <a href={`/console/permissions/${id}`} target="_blank" rel="noopener">
        <RequestTitle title={title} otherwise={`${action} on ${resource}`} />
      </a>
      <small>
        <Named id={agentId} names={names} />, <Code text={action} /> <Written text={limits.join(', ')} />,{' '}
        <Time at={formatTime(createdAt)} />
      </small>
    </span>
  );
}
