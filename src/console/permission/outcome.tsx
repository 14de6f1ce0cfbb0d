import type { Outcome, OutcomeStatus } from '../../permissions/outcomes/outcome';
import { Section } from '../parts/blocks';
import { Badge, Named, Time, WrittenText } from '../parts/inline';

/** The label of each outcome, and the state whose tone its badge has: success is not checked. */
const BADGES: Record<OutcomeStatus, { label: string; state: string }> = {
  awaited: { label: 'outcome awaited', state: 'pending' },
  unknown: { label: 'outcome unknown', state: 'pending' },
  succeeded: { label: 'reported as done', state: 'reported' },
  failed: { label: 'reported as failed', state: 'failed' },
};

const MEANINGS: Record<OutcomeStatus, string> = {
  awaited:
    'The program used the approval and has not reported yet what happened. It has ten minutes to do so.',
  unknown:
    'Nobody knows whether the act happened, in whole or in part. Find out before anything is done again.',
  succeeded: 'The program says that the act happened.',
  failed: 'The program saw an error. Part of the act may have happened all the same.',
};

/** The same for what a connection sent. */
const BADGES_OF_SENT: typeof BADGES = {
  ...BADGES,
  succeeded: { label: 'done', state: 'succeeded' },
  failed: { label: 'failed', state: 'failed' },
};

/**
 * @param props.isOfConnection whether a connection sent the act, so that the outcome is no
 *   program's word
 */
export function OutcomeBadge({
  status,
  isOfConnection = false,
}: Pick<Outcome, 'status'> & { isOfConnection?: boolean }) {
  return <Badge {...(isOfConnection ? BADGES_OF_SENT : BADGES)[status]} />;
}

/** Whether an act has failed, or nobody knows whether it happened: a reader should see it first. */
export function isTroubled<P extends { outcome: Outcome | null }>(
  permission: P,
): permission is P & { outcome: Outcome } {
  const { outcome } = permission;
  return outcome?.status === 'unknown' || outcome?.status === 'failed';
}

/** The same for what a connection sent. */
const MEANINGS_OF_SENT: Record<OutcomeStatus, string> = {
  ...MEANINGS,
  awaited: 'Countersign has sent the request, and waits for the answer.',
  succeeded: 'The other service answered that it was done.',
  failed: 'The other service refused the request, or it was not sent.',
};

/**
 * Shows what happened after the use, as the program says, or as Countersign saw if it sent the
 * request itself.
 */
export function OutcomeSection({
  outcome,
  isOfConnection,
}: {
  outcome: Outcome;
  isOfConnection: boolean;
}) {
  const { status, summary, reported_at, reported_by } = outcome;
  const words = isOfConnection ? 'In the words of Countersign' : 'In the program’s words';
  return (
    <Section name="outcome" title="What happened then">
      <p class="hint">
        {isOfConnection
          ? 'What Countersign saw when it sent the request. It is not in the log.'
          : 'The program’s own word: nobody has checked it, and it is not in the log.'}
      </p>
      <p>
        <OutcomeBadge status={status} isOfConnection={isOfConnection} />
      </p>
      <p>{(isOfConnection ? MEANINGS_OF_SENT : MEANINGS)[status]}</p>
      {summary && (
        <blockquote>
          <p class="hint">{words}</p>
          <WrittenText text={summary} label={words} />
        </blockquote>
      )}
      {reported_at && (
        <p class="soft">
          Reported by {reported_by && <Named id={reported_by} />}, <Time at={reported_at} />
        </p>
      )}
      {status === 'unknown' && !reported_at && <p class="soft">No report came.</p>}
    </Section>
  );
}
