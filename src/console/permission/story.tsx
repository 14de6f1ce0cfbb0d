import type { AuditEntry } from '../../audit/entry';
import type { Names } from '../frame/names';
import { Named, Written } from '../parts/text';
import { Time } from '../parts/time';

const EVENTS: Record<AuditEntry['event_type'], string> = {
  request: 'The agent asked',
  approve: 'Approved',
  deny: 'Denied',
  expire: 'Expired',
  use: 'The token was used',
  revoke: 'The token was revoked',
};

interface StoryProps {
  entries: AuditEntry[];
  names: Names;
}

/** What the audit log says about a request, from the first entry to the last. */
export function Story({ entries, names }: StoryProps) {
  if (entries.length === 0) return null;
  return (
    <section aria-labelledby="story-title" class="part">
      <h2 id="story-title">What the log says</h2>
      <ol class="story">
        {entries.map(({ id, sequence, event_type, details, created_at }) => (
          <li>
            <Time at={created_at} />
            <span>
              {event_type === 'expire' && details.expired === 'token' ? 'The token expired unused' : EVENTS[event_type]}
              {typeof details.decided_by === 'string' && (
                <>
                  {' '}
                  by <Named id={details.decided_by} names={names} />
                </>
              )}
              {typeof details.decision_reason === 'string' && (
                <>
                  : “<Written text={details.decision_reason} />”
                </>
              )}{' '}
              <a href={`/console/audit/${id}`}>entry {sequence}</a>
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
