import { formatTime } from '../../lib/time';
import type { PermissionRow } from '../../permissions/permission';
import { type DetailedReplay, MAX_LISTED } from '../../policies/replay';
import { usePage } from '../frame/page-context';
import { Badge, Code, Count, Named, Numeral, Time } from '../parts/inline';
import { LimitsLine, RequestTitle } from '../parts/request';
import { pluralOf } from '../parts/words';

const DECISIONS = { approve: 'approved', deny: 'denied' };

/**
 * Counts what a draft would have done with past requests, and lists what was decided differently.
 */
export function ReplayResult({ replay, days }: { replay: DetailedReplay; days: number }) {
  const { requests, complete, approve, deny, review, undecided, agrees, disagrees } = replay;
  if (requests === 0)
    return <p class="soft">There was no request in the last {days} days to try it on.</p>;
  // Others see the ids of requests.
  const mayReadRequests = usePage().may('permissions:read');
  const decided = approve + deny;
  const counts = [
    [approve, 'approve'],
    [deny, 'deny'],
    [review, 'send to reviewers'],
    [undecided, 'leave alone'],
  ] as const;
  return (
    <>
      <p>
        Of the {!complete && 'newest '}
        <Count of={requests} one="request" /> of the last {days} days, this policy alone would
      </p>
      <dl class="counts">
        {counts.map(([count, label]) => (
          <div class={count === 0 ? 'soft' : undefined}>
            <dt>{label}</dt>
            <dd>
              <Numeral of={count} />
            </dd>
          </div>
        ))}
      </dl>
      {replay.budget_ignored && (
        <p class="hint">Its budget is not counted here: each request is tried alone.</p>
      )}
      {undecided === requests && (
        <p>
          It applies to none of them. If it should, check its actions, resources, agents and
          conditions.
        </p>
      )}
      {decided > 0 && (
        <p>
          <Numeral of={agrees} /> of these {pluralOf(agrees, 'was', 'were')} decided the same way,{' '}
          <Differing count={disagrees.length} rest={decided - agrees - disagrees.length} />.
        </p>
      )}
      {disagrees.length > 0 && mayReadRequests && (
        <p class="hint">Links open on a new tab: what you typed stays here.</p>
      )}
      {disagrees.length > 0 && (
        <ul class="lines disagreements">
          {disagrees.map(({ request, was, wouldBe }) => (
            <li>
              {mayReadRequests && <PastRequest request={request} />}
              {!mayReadRequests && <Code text={request.id} />}
              <span>
                was <Badge state={was} />, would be <Badge state={DECISIONS[wouldBe]} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/**
 * How many requests were decided differently.
 * @param props.rest how many were neither decided the same way nor are listed
 */
function Differing({ count, rest }: { count: number; rest: number }) {
  if (count === MAX_LISTED) return <strong>{count} or more differently</strong>;
  return (
    <>
      {count === 0 && 'none differently'}
      {count > 0 && <strong>{count} differently</strong>}
      {rest > 0 && [', and ', <Numeral of={rest} />, ' had no decision']}
    </>
  );
}

function PastRequest({ request }: { request: PermissionRow }) {
  const { id, title, action, resource, agentId, connectionId, scope, createdAt } = request;
  return (
    <span>
      <a href={`/console/permissions/${id}`} target="_blank" rel="noopener">
        <RequestTitle
          title={title}
          otherwise={`${action} on ${resource}`}
          isOfConnection={connectionId !== null}
        />
      </a>
      <small>
        <Named id={agentId} />, <Code text={action} /> <LimitsLine scope={scope} />,{' '}
        <Time at={formatTime(createdAt)} />
      </small>
    </span>
  );
}
