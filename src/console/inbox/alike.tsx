import type { Json } from '../../lib/json';
import type { NumberFormat } from '../../lib/number-format';
import { shorten } from '../../lib/text';
import { limitValues, valueText } from '../../permissions/limit-texts';
import type { WaitingRequest } from '../../permissions/list-waiting';
import { shortPathLabel } from '../../permissions/path-label';
import { usePage } from '../frame/page-context';
import { Table } from '../parts/blocks';
import { Numeral, TimeLeft, Written } from '../parts/inline';
import { AgentAndAction, Differs, Limit, MAX_IN_LIST, RequestTitle } from '../parts/request';
import { DENY_FORM } from './deny-bar';
import { Asker, DenyBox, type InboxReader, mayDeny } from './waiting-row';

/** Fewer requests that are alike stand in the list one by one. */
const LEAST = 3;
/** How many limits a group shows as columns, and how many in its first line. */
const MAX_LIMITS = 3;

/**
 * Puts requests that are alike, of one agent for one action on one resource, together at the place
 * of the first one.
 * @returns the requests in lists: one with a single request, or one with all that are alike
 */
export function groupAlike(requests: readonly WaitingRequest[]): WaitingRequest[][] {
  const groups = Map.groupBy(requests, keyOf);
  const isGroup = (request: WaitingRequest) => (groups.get(keyOf(request))?.length ?? 0) >= LEAST;
  return requests.flatMap((request) => {
    if (!isGroup(request)) return [[request]];
    const group = groups.get(keyOf(request)) ?? [];
    return group[0] === request ? [group] : [];
  });
}

function keyOf({ permission: { agent_id, action, resource } }: WaitingRequest): string {
  return `${agent_id} ${action} ${resource}`;
}

interface AlikeProps {
  requests: WaitingRequest[];
  reader: InboxReader;
}

/**
 * Requests that are alike, as one line that opens: what they have in common, and a table of what
 * differs between them.
 */
export function Alike({ requests, reader }: AlikeProps) {
  const [first] = requests;
  if (!first) return null;
  const limits = compareLimits(requests);
  const hasTitles = new Set(requests.map(({ permission }) => permission.title)).size > 1;
  const deniable = requests.filter(mayDeny);
  return (
    <li class="alike">
      <details
        id={`alike-${encodeURIComponent(keyOf(first))}`}
        open={requests.some(({ permission }) => reader.checked.includes(permission.id))}
      >
        <AlikeSummary requests={requests} first={first} limits={limits} />
        <AlikeTable
          requests={requests}
          reader={reader}
          differing={limits.differing.slice(0, MAX_LIMITS)}
          hasTitles={hasTitles}
        />
        {reader.mayDecide && <SeriesOffer requests={requests} />}
        {reader.mayDecide && deniable.length > 0 && (
          <p class="actions">
            <button
              type="submit"
              class="danger"
              form={DENY_FORM}
              name="group"
              value={deniable.map(({ permission }) => permission.id).join(' ')}
            >
              Deny all {deniable.length}
            </button>
          </p>
        )}
      </details>
    </li>
  );
}

interface AlikeSummaryProps {
  requests: WaitingRequest[];
  first: WaitingRequest;
  limits: ReturnType<typeof compareLimits>;
}

/** The line of a group, which reads like that of a single request. */
function AlikeSummary({ requests, first, limits }: AlikeSummaryProps) {
  const { action, resource, expires_at } = first.permission;
  const { formatNumber } = usePage();
  const differing = limits.differing.slice(0, MAX_LIMITS).map((limit) => {
    return { label: limit.label, value: spanOf(limit, formatNumber) };
  });
  const common = limits.common.slice(0, MAX_LIMITS).map(({ label, values }) => {
    return { label, value: valueText(values[0], formatNumber) };
  });
  return (
    <summary class="request" data-row>
      <span class="what">
        <span class="name">
          {requests.some(({ isContradictory }) => isContradictory) && [<Differs />, ' ']}
          {requests.length} like this · <Written text={shorten(resource, MAX_IN_LIST)} />
        </span>{' '}
        <span class="soft by">
          <AgentAndAction agent={<Asker name={first.agentName} />} action={action} />
        </span>{' '}
        <span class="amounts">
          {[...differing, ...common].map(({ label, value }, index) => (
            <>
              <span>
                <Limit label={label} value={value} number={index + 1} />
              </span>{' '}
            </>
          ))}
        </span>
      </span>{' '}
      <span class="side">
        <TimeLeft until={expires_at} /> <span class="soft">for the first of them</span>
      </span>
    </summary>
  );
}

/**
 * The way to approve the next ones without seeing each: the request that asks for a series. Its
 * card says what the series covers.
 */
function SeriesOffer({ requests }: { requests: WaitingRequest[] }) {
  const asking = requests.findIndex(
    ({ permission, standing }) => permission.series !== null && standing === 'may_decide',
  );
  const series = requests[asking]?.permission.series;
  if (!series) return null;
  return (
    <p>
      <a href={`/console/permissions/${requests[asking]?.permission.id}#series`}>
        Request {asking + 1} asks for a series
      </a>
      : with it you can also approve the next <Numeral of={series.requests - 1} /> like it.
    </p>
  );
}

interface AlikeTableProps extends AlikeProps {
  differing: ComparedLimit[];
  hasTitles: boolean;
}

/** Shows the fields that differ between the requests, in columns. */
function AlikeTable({ requests, reader, differing, hasTitles }: AlikeTableProps) {
  const { formatNumber } = usePage();
  const limits = differing.map(({ label }, index) => shortPathLabel(label, index + 1, MAX_IN_LIST));
  return (
    <Table caption="Requests that are alike" columns={['Request', ...limits, 'Time left']}>
      {requests.map((request, place) => {
        const { id, title, connection_id, expires_at } = request.permission;
        const name = `Request ${place + 1}`;
        return (
          <tr id={id} data-row>
            <td>
              <DenyBox request={request} reader={reader} />{' '}
              <a href={`/console/permissions/${id}`}>
                {!hasTitles && name}
                {hasTitles && (
                  <RequestTitle
                    title={title}
                    otherwise={name}
                    isOfConnection={connection_id !== null}
                  />
                )}
              </a>
              {request.isContradictory && [' ', <Differs />]}
            </td>
            {differing.map(({ values }) => (
              <td>
                <Written text={shorten(valueText(values[place], formatNumber), MAX_IN_LIST)} />
              </td>
            ))}
            <td>
              <TimeLeft until={expires_at} />
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

/** A limit with its value in each request; undefined where a request does not have it. */
interface ComparedLimit {
  label: string;
  values: (Json | undefined)[];
}

/** The limits that are the same in all requests, and those that are not. */
function compareLimits(requests: readonly WaitingRequest[]) {
  const limits = requests.map(({ permission }) => new Map(limitValues(permission.scope)));
  const labels = new Set(limits.flatMap((each) => [...each.keys()]));
  const compared = [...labels].map((label) => ({
    label,
    values: limits.map((each) => each.get(label)),
  }));
  const isCommon = ({ values }: ComparedLimit) => differentTexts(values).size === 1;
  return {
    common: compared.filter(isCommon),
    differing: compared.filter((limit) => !isCommon(limit)),
  };
}

/** The values of a limit in a few words: from the least to the greatest number, or how many. */
function spanOf({ values }: ComparedLimit, formatNumber: NumberFormat): string {
  if (values.every((value) => typeof value === 'number'))
    return `${formatNumber(Math.min(...values))} to ${formatNumber(Math.max(...values))}`;
  return `${differentTexts(values).size} different`;
}

function differentTexts(values: readonly (Json | undefined)[]): Set<string> {
  return new Set(values.map((value) => valueText(value)));
}
