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
  awaited: 'The program took its use and has not said yet what happened. It has ten minutes.',
  unknown:
    'Nobody knows whether the act happened, in whole or in part. Find out before it is done again.',
  succeeded: 'The program says that the act happened.',
  failed: 'The program saw an error. Part of the act may have happened all the same.',
};

export function OutcomeBadge({ status }: Pick<Outcome, 'status'>) {
  return <Badge {...BADGES[status]} />;
}

/** Shows what happened after the use, as the program says. */
export function OutcomeSection({ outcome }: { outcome: Outcome }) {
  const { status, summary, reported_at, reported_by } = outcome;
  return (
    <Section name="outcome" title="What happened then">
      <p class="hint">The program’s own word: nobody has checked it, and it is not in the log</p>
      <p>
        <OutcomeBadge status={status} />
      </p>
      <p>{MEANINGS[status]}</p>
      {summary && (
        <blockquote>
          <p class="hint">In the program’s words</p>
          <WrittenText text={summary} label="In the program’s words" />
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
