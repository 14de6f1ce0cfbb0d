import { type AuditEntry, detailsOf } from '../../audit/entry';
import type { Id } from '../../lib/typeid';
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

const EXPIRIES = {
  request: 'Expired: nobody decided in time',
  token: 'The token expired unused',
  withdrawn: 'The agent withdrew the request',
};

interface StoryProps {
  entries: AuditEntry[];
  names: Names;
  /** The entry that the page is about. */
  current?: Id<'audit'>;
}

/** What the audit log says about a request, from the first entry to the last. */
export function Story({ entries, names, current }: StoryProps) {
  if (entries.length === 0) return null;
  return (
    <section aria-labelledby="story-title" class="part">
      <h2 id="story-title">What the log says</h2>
      <ol class="story">
        {entries.map((entry) => {
          const { id, sequence, event_type, created_at } = entry;
          const details = detailsOf(entry);
          return (
            <>
              {details.votes?.map((vote) => (
                <li>
                  <Time at={vote.at} toSeconds />
                  <span>
                    <Named id={vote.by} names={names} /> voted to {vote.decision},{' '}
                    {vote.signed ? 'signed with a passkey' : 'not signed'}
                    <Reason text={vote.reason} />
                  </span>
                </li>
              ))}
              <li aria-current={id === current ? 'true' : undefined}>
                <Time at={created_at} toSeconds />
                <span>
                  {event_type === 'expire' && details.expired ? EXPIRIES[details.expired] : EVENTS[event_type]}
                  {details.decided_by !== null && (
                    <>
                      {' '}
                      by <By id={details.decided_by} names={names} />
                    </>
                  )}
                  <Reason text={details.votes ? null : details.decision_reason} />{' '}
                  {id === current ? (
                    `(this entry, #${sequence})`
                  ) : (
                    <a href={`/console/audit/${id}`}>entry #{sequence}</a>
                  )}
                </span>
              </li>
            </>
          );
        })}
      </ol>
    </section>
  );
}

function By({ id, names }: { id: string; names: Names }) {
  const name = <Named id={id} names={names} />;
  return id.startsWith('policy_') ? <>the policy “{name}”</> : name;
}

function Reason({ text }: { text: string | null }) {
  if (text === null) return null;
  return (
    <>
      : “<Written text={text} />”
    </>
  );
}
