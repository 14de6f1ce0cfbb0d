import type { Child } from 'hono/jsx';
import { type AuditEntry, detailsOf } from '../../audit/entry';
import { deciderKind } from '../../lib/decider';
import type { Id } from '../../lib/typeid';
import { Section } from '../parts/blocks';
import { joinElements, Named, Time, Written } from '../parts/inline';
import { ByWhom } from '../parts/request';

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
  withdrawn: 'The request was withdrawn',
};

/**
 * The entries of the audit log about a request, from the first entry to the last.
 * @param props.current the entry that the page is about
 */
export function Story({ entries, current }: { entries: AuditEntry[]; current?: Id<'audit'> }) {
  const [first] = entries;
  if (!first) return null;
  return (
    <Section name="story" title="What the log says" class="part">
      <ol class="story">
        {entries.map((entry) => (
          <Step entry={entry} isCurrent={entry.id === current} />
        ))}
      </ol>
      <p class="soft receipt">
        <a href={`/console/permissions/${first.permission_request_id}/receipt`}>
          Download the receipt
        </a>
        : one file that proves this to anybody who has the public keys of the log, even without this
        service.
      </p>
    </Section>
  );
}

/** An entry, after the votes that it has. */
function Step({ entry, isCurrent }: { entry: AuditEntry; isCurrent: boolean }) {
  const { id, sequence, created_at } = entry;
  const { votes, decided_by, decision_reason, series } = detailsOf(entry);
  return (
    <>
      {votes?.map((vote) => (
        <li>
          <Time at={vote.at} toSeconds hasZone />
          <span>
            <Named id={vote.by} /> voted to {vote.decision},{' '}
            {vote.signed ? 'signed with a passkey' : 'not signed'}
            {reasonText(vote.reason)}
          </span>
        </li>
      ))}
      <li aria-current={isCurrent ? 'true' : undefined}>
        <Time at={created_at} toSeconds hasZone />
        <span>
          {eventText(entry)}
          {decided_by !== null && [' by ', <By id={decided_by} givers={series?.given_by} />]}
          {!votes && reasonText(decision_reason)} {isCurrent && `(this entry, #${sequence})`}
          {!isCurrent && (
            <>
              (<a href={`/console/audit/${id}`}>entry #{sequence}</a>)
            </>
          )}
        </span>
      </li>
    </>
  );
}

function eventText(entry: AuditEntry): string {
  const { expired } = detailsOf(entry);
  if (entry.event_type === 'expire' && expired) return EXPIRIES[expired];
  return EVENTS[entry.event_type];
}

/** Who decided; for an approval by a series, also who gave that. */
function By({ id, givers = [] }: { id: string; givers: readonly string[] | undefined }) {
  const name = <ByWhom id={id} />;
  if (givers.length > 0)
    return (
      <>
        {[
          name,
          ', which ',
          joinElements(
            givers.map((giver) => <Named id={giver} />),
            ' and ',
          ),
          ' gave',
        ]}
      </>
    );
  if (deciderKind(id) !== 'policy') return name;
  return <>the policy “{name}”</>;
}

function reasonText(text: string | null): Child {
  return text !== null && [': “', <Written text={text} />, '”'];
}
