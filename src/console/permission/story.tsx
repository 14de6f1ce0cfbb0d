import type { Child } from 'hono/jsx';
import { type AuditEntry, detailsOf } from '../../audit/entry';
import type { Id } from '../../lib/typeid';
import { Section } from '../parts/blocks';
import { Named, Time, Written } from '../parts/inline';

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

/**
 * What the audit log says about a request, from the first entry to the last.
 * @param props.current the entry that the page is about
 */
export function Story({ entries, current }: { entries: AuditEntry[]; current?: Id<'audit'> }) {
  if (entries.length === 0) return null;
  return (
    <Section name="story" title="What the log says" class="part">
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
                    <Named id={vote.by} /> voted to {vote.decision},{' '}
                    {vote.signed ? 'signed with a passkey' : 'not signed'}
                    {reasonText(vote.reason)}
                  </span>
                </li>
              ))}
              <li aria-current={id === current ? 'true' : undefined}>
                <Time at={created_at} toSeconds />
                <span>
                  {event_type === 'expire' && details.expired
                    ? EXPIRIES[details.expired]
                    : EVENTS[event_type]}
                  {details.decided_by !== null && [' by ', <By id={details.decided_by} />]}
                  {reasonText(details.votes ? null : details.decision_reason)}{' '}
                  {id === current ? (
                    `(this entry, #${sequence})`
                  ) : (
                    <>
                      (<a href={`/console/audit/${id}`}>entry #{sequence}</a>)
                    </>
                  )}
                </span>
              </li>
            </>
          );
        })}
      </ol>
    </Section>
  );
}

function By({ id }: { id: string }) {
  const name = <Named id={id} />;
  return id.startsWith('policy_') ? <>the policy “{name}”</> : name;
}

function reasonText(text: string | null): Child {
  return text !== null && [': “', <Written text={text} />, '”'];
}
