import type { LiveSeries } from '../../permissions/series/list-live';
import { usePage } from '../frame/page-context';
import { Section } from '../parts/blocks';
import { Action } from '../parts/form';
import { Count, Numeral, Time, TimeLeft, WrittenLink } from '../parts/inline';
import { SeriesSentence } from './sentence';

interface LiveSeriesListProps {
  series: { data: LiveSeries[]; has_more: boolean };
  /** The path of the page, to which the button leads back. */
  page: string;
  /** Whether it says which agent each is of. */
  namesAgents?: boolean;
}

/** The live series, each with a button that ends it; nothing if there is none. */
export function LiveSeriesList({ series, page, namesAgents = false }: LiveSeriesListProps) {
  if (series.data.length === 0) return null;
  return (
    <Section name="series" title="Live series">
      <p class="hint">
        Approved in advance: nobody sees the arguments of these requests before they are approved.
      </p>
      <ul class="lines">
        {series.data.map((row) => (
          <li>
            <span>
              {namesAgents && (
                <>
                  <WrittenLink href={`/console/agents/${row.agentId}`} text={row.agentName} />:
                  approves{' '}
                </>
              )}
              {!namesAgents && 'Approves '}
              <SeriesSentence {...row} further={row.requests - row.used} />
              <small>
                <Numeral of={row.used} /> of <Numeral of={row.requests} /> approved,{' '}
                <TimeLeft until={row.expiresAt} /> ·{' '}
                <a href={`/console/permissions/${row.permission}`}>The first request</a>
              </small>
            </span>
            <EndSeries permission={row.permission} page={page} />
          </li>
        ))}
      </ul>
      {series.has_more && (
        <p class="soft">There are more. The page of each agent shows its series.</p>
      )}
    </Section>
  );
}

/** The button that ends a series, for readers who may. */
export function EndSeries({ permission, page }: { permission: string; page: string }) {
  if (!usePage().may('permissions:decide')) return null;
  return (
    <Action
      action={`/console/permissions/${permission}/series/end`}
      label="End"
      kind="danger"
      fields={{ from: page }}
    />
  );
}

interface GivenSeriesProps {
  id: string;
  granted: { requests: number };
  usage: { requests: number; expires_at: string; ended_at: string | null };
}

/** How far the series is that the approval of a request gave. */
export function GivenSeries({ id, granted, usage }: GivenSeriesProps) {
  const { requests, expires_at, ended_at } = usage;
  return (
    <div class="bar">
      <p>
        It gave a series:{' '}
        <strong>
          <Numeral of={requests} />
        </strong>{' '}
        of <Count of={granted.requests} one="request" /> approved,{' '}
        {ended_at === null && ['until ', <Time at={expires_at} />]}
        {ended_at !== null && ['ended on ', <Time at={ended_at} />]}
      </p>
      {ended_at === null && <EndSeries permission={id} page={`/console/permissions/${id}`} />}
    </div>
  );
}
