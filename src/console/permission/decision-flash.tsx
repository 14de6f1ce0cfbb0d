import type { Child } from 'hono/jsx';
import type { WaitingRequest } from '../../permissions/list-waiting';
import type { Permission, ReviewedPermission } from '../../permissions/permission';
import {
  approvalsLeft,
  countingApprovals,
  type ReviewState,
} from '../../permissions/reviews/review';
import { FlashStrip, Strip } from '../frame/flash';
import { LinkButton } from '../parts/blocks';
import { Action } from '../parts/form';
import { Count, joinElements, Named, Time } from '../parts/inline';
import type { Flash, FlashKind } from '../session/flash';
import { cardAddress, inboxAddress } from './next-request';

/** Of more reviewers, the sentence says only how many approvals it waits for. */
const MAX_NAMED = 3;

interface DecisionFlashProps {
  flash: Flash;
  permission: Permission;
  row: ReviewedPermission;
  /** The request that waits most urgently for the reader. */
  next: WaitingRequest | undefined;
  /** How many requests wait for the reader, in a few characters; null for none. */
  waiting: string | null;
  /** The agent to whose requests the inbox was limited. */
  agentId: string | undefined;
}

/** Says below the heading what the reader's decision did, and where to go on. */
export function DecisionFlash({
  flash,
  permission,
  row,
  next,
  waiting,
  agentId,
}: DecisionFlashProps) {
  if (flash.request) return <FlashStrip flash={flash} />;
  const { kind } = flash;
  return (
    <Strip hasFocus={!next}>
      <p>
        <Sentence kind={kind} permission={permission} review={row.review} />
      </p>
      <div class="actions">
        {next && (
          <a class="button" href={cardAddress(next.permission.id, agentId)} data-next autofocus>
            Next request
          </a>
        )}
        <LinkButton
          href={inboxAddress(agentId)}
          label={waiting === null ? 'Back to the inbox' : `Back to the inbox (${waiting})`}
          kind="quiet"
        />
        {kind === 'approval' && permission.token?.status === 'active' && (
          <Action
            action={`/console/permissions/${permission.id}/revoke`}
            label="Revoke"
            kind="danger"
          />
        )}
      </div>
    </Strip>
  );
}

function Sentence({
  kind,
  permission: { status, token },
  review,
}: Pick<DecisionFlashProps, 'permission'> & {
  kind: FlashKind;
  review: ReviewState | null;
}): Child {
  if (kind === 'revoked') return 'The token was revoked: the agent can no longer use it.';
  if (kind === 'denial') return 'Your denial was taken. The agent may not do it.';
  if (kind !== 'approval') return null;
  const progress = review && review.rule.approvals > 1 && progressOf(review);
  if (status === 'pending' && review) {
    return (
      <>
        Your approval was taken{progress}. <WaitsFor review={review} left={approvalsLeft(review)} />
      </>
    );
  }
  if (status === 'denied')
    return `Your approval was taken${progress || ''}. It has been denied meanwhile.`;
  if (status === 'approved' && token?.status === 'active') {
    const times = token.max_uses === 1 ? 'once' : <Count of={token.max_uses} one="time" />;
    return (
      <>
        Your approval was taken{progress}. The agent may do it {times}, until{' '}
        <Time at={token.expires_at} />.
      </>
    );
  }
  return <>Your approval was taken{progress}.</>;
}

function progressOf(review: ReviewState): string {
  return `, ${countingApprovals(review).length} of ${review.rule.approvals}`;
}

/** Whom a request waits for that is still pending: the people by name if they are few. */
function WaitsFor({ review, left }: { review: ReviewState; left: number }) {
  const { members, roles, allow_self } = review.rule;
  const isOpen = roles !== null || review.escalatedAt !== null;
  const people = (members ?? []).filter(
    (id) => !review.votes.some(({ by }) => by === id) && (allow_self || id !== review.owner),
  );
  if (isOpen || people.length < left || people.length > MAX_NAMED)
    return (
      <>
        Waiting for <Count of={left} one="more approval" />.
      </>
    );
  const names = people.map((id) => <Named id={id} />);
  return <>Waiting for {joinElements(names, people.length === left ? ' and ' : ' or ')}.</>;
}
