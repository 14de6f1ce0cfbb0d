import type { Child } from 'hono/jsx';
import { type AuditEntry, detailsOf } from '../../audit/entry';
import { requireEntry } from '../../audit/get';
import { getNeighbours, type Neighbour, type Neighbours } from '../../audit/get-neighbours';
import { listAuditEntries } from '../../audit/list';
import { duration } from '../../lib/duration';
import { SECOND } from '../../lib/time';
import { limitValues } from '../../permissions/limit-texts';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { ForPrograms, LinkButton, Section } from '../parts/blocks';
import {
  Badge,
  Code,
  Count,
  JsonText,
  joinElements,
  Named,
  Time,
  Value,
  Written,
} from '../parts/inline';
import { Story } from '../permission/story';
import { Gap } from './entry-list';
import { auditAddress } from './filters';
import { type EntryContext, Verify } from './verify';
import { Decider, EntryInWords, EVENT_NAMES } from './words';

/**
 * A permission has few entries: its request, the decision, and the uses and the end of its token.
 */
const STORY = 100;

/**
 * Shows an entry of the log in words, with all that it says, the story of its request, and how to
 * verify it.
 */
export async function showEntry(c: EntryContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const entry = requireEntry(context, c.req.param('id') ?? '', c.var.loaded.entry);
  const { sequence, permission_request_id } = entry;
  const [neighbours, story, names] = await Promise.all([
    getNeighbours(context, { sequence }),
    listAuditEntries(context, { permission_id: permission_request_id, order: 'asc', limit: STORY }),
    loadNames(context, ['people', 'agents', 'policies']),
  ]);
  const request = story.data.find(({ event_type }) => event_type === 'request');
  return sendPage(c, {
    title: `Entry #${sequence}`,
    names,
    children: (
      <>
        <div class="card-top">
          <p class="lead">
            <EntryInWords entry={entry} />.
          </p>
          <p class="actions">
            <Badge state={entry.event_type} label={EVENT_NAMES[entry.event_type]} />
            <span class="soft">
              <Time at={entry.created_at} toSeconds hasZone />
            </span>
          </p>
        </div>
        <NeighbourLinks sequence={sequence} {...neighbours} />
        <div class="decision">
          <div class="about">
            <Section name="details" title="What the entry says">
              <DetailsTable entry={entry} />
              <details>
                <summary>As JSON</summary>
                <JsonText value={entry} label="The entry as JSON" />
              </details>
            </Section>
          </div>
          <div class="deciding">
            <Verify entry={entry} request={request?.id} />
          </div>
        </div>
        <Story entries={story.data} current={entry.id} />
        {story.has_more && (
          <p>
            <a href={auditAddress({ permission_id: permission_request_id, order: 'asc' })}>
              All entries of this request
            </a>
          </p>
        )}
        <p class="actions">
          {context.principal.scopes.includes('permissions:read') && (
            <LinkButton
              href={`/console/permissions/${permission_request_id}`}
              label="Open the request"
              kind="quiet"
            />
          )}
          <LinkButton
            href={auditAddress({ agent_id: entry.agent_id, action: detailsOf(entry).action })}
            label="Entries of this agent and action"
            kind="quiet"
          />
        </p>
        <EntryForPrograms entry={entry} />
      </>
    ),
  });
}

/** The ways to the entries before and after, and why some are missing. */
function NeighbourLinks({ sequence, previous, next }: Neighbours & { sequence: number }) {
  const first = (previous?.sequence ?? 0) + 1;
  return (
    <>
      <nav class="bar" aria-label="Neighbouring entries">
        <NeighbourLink
          neighbour={previous}
          rel="prev"
          label="← Previous"
          nothing="The first entry that is kept"
        />
        <a href="/console/audit">All entries</a>
        <NeighbourLink neighbour={next} rel="next" label="Next →" nothing="The newest entry" />
      </nav>
      {first < sequence && <Gap first={first} last={sequence - 1} />}
      {next && next.sequence > sequence + 1 && (
        <Gap first={sequence + 1} last={next.sequence - 1} />
      )}
    </>
  );
}

interface NeighbourLinkProps {
  neighbour: Neighbour | null;
  rel: string;
  label: string;
  nothing: string;
}

function NeighbourLink({ neighbour, rel, label, nothing }: NeighbourLinkProps) {
  if (!neighbour) return <span class="soft">{nothing}</span>;
  return (
    <LinkButton
      href={`/console/audit/${neighbour.id}`}
      label={label}
      kind="quiet small"
      rel={rel}
    />
  );
}

function EntryForPrograms({ entry }: { entry: AuditEntry }) {
  const { id, sequence, agent_id, permission_request_id, user_id, created_at } = entry;
  const details = detailsOf(entry);
  return (
    <ForPrograms
      facts={[
        ['Entry', <Code text={id} />],
        ['Sequence', <Code text={String(sequence)} />],
        ['Written', <Code text={created_at} />],
        ['Request', <Code text={permission_request_id} />],
        ['Agent', <Code text={agent_id} />],
        ['Account', <Code text={user_id} />],
        details.token_id !== undefined && ['Token', <Code text={details.token_id} />],
        details.policy_id !== null && ['Policy', <Code text={details.policy_id} />],
        details.review_policy_id !== undefined && [
          'Policy of the review',
          <Named id={details.review_policy_id} />,
        ],
        ['This entry', <Code text={`GET /v1/audit/${id}`} />],
        ['Its proof', <Code text={`GET /v1/audit/${id}/proof`} />],
      ]}
    />
  );
}

/** How a decision came, in words. */
const WAYS = {
  api: 'the API',
  console: 'the console',
  slack: 'Slack',
  policy: 'the policy',
  series: 'a series',
};

/** The contents of an entry as names and values, without those that do not apply. */
function DetailsTable({ entry }: { entry: AuditEntry }) {
  const { agent_id, event_type, ip_address, user_agent } = entry;
  const details = detailsOf(entry);
  const { scope, decided_by, decision_reason, review_policy_id, input_digest, preview_digest } =
    details;
  const rows: (readonly [name: Child, value: Child] | null | undefined | false | '')[] = [
    ['Agent', <Named id={agent_id} />],
    ['Action', <Code text={details.action} />],
    ['Resource', <Written text={details.resource} />],
    decided_by && [
      event_type === 'revoke' ? 'Revoked by' : 'Decided by',
      <Decider id={decided_by} />,
    ],
    details.decided_via && ['Decided via', WAYS[details.decided_via]],
    details.series && [
      'Series given by',
      joinElements(details.series.given_by.map((id) => <Named id={id} />)),
    ],
    details.granted_series && [
      'Series that it gave',
      [
        <Count of={details.granted_series.requests} one="request" />,
        ` in ${duration(details.granted_series.expires_in * SECOND)}`,
      ],
    ],
    decision_reason && ['Reason', <Written text={decision_reason} />],
    details.policy_id && ['Policy that decided', <Named id={details.policy_id} />],
    review_policy_id && ['Policy that asked people', <Named id={review_policy_id} />],
    input_digest && ['Digest of the arguments', <Code text={input_digest} />],
    preview_digest && ['Digest of the preview', <Code text={preview_digest} />],
    ['Came from', ip_address === '' ? 'the service itself' : <Code text={ip_address} />],
    ['Program', <Written text={user_agent} />],
    ...limitValues(scope ?? {}).map(([label, value]): [Child, Child] => [
      <>
        Limit <Code text={label} />
      </>,
      <Value of={value} />,
    ]),
  ];
  return (
    <section class="table bare" aria-label="Names and values" tabindex={0}>
      <table>
        <caption class="hidden">What the entry says</caption>
        <tbody>
          {rows.map(
            (row) =>
              row && (
                <tr>
                  <th scope="row">{row[0]}</th>
                  <td>{row[1]}</td>
                </tr>
              ),
          )}
        </tbody>
      </table>
    </section>
  );
}
