import { and, eq, inArray, type SQL, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { mergeSorted } from '../../db/merge-sorted';
import { agents, auditEntries, type EventType } from '../../db/schema';
import { selectExamined } from '../../db/select-examined';
import { eventTypeOfCode, storedEventsOf } from '../../db/stored-events';
import type { FileRow } from '../../files/file-records';
import { entryId, saltOf } from '../../ledger/entry-id';
import { detailsText } from '../../ledger/stored-details';
import { formatHexId, type Id } from '../../lib/typeid';
import {
  type DetailFilter,
  matchesDetails,
  matchesDetailsSql,
  readDetailFilter,
} from '../detail-filter';
import { logStart } from '../entry';
import type { PositionRange } from '../find-file-range';
import { selectDetail } from '../select-detail';
import { entryRanges } from '../select-positions';
import { type ExportRequest, exportRequest, getsProof } from './export';

/** An audit entry to export. */
export interface ExportedEntry {
  /** Its position: {@link logStart} of its account, plus its sequence. */
  pos: number;
  id: Id<'audit'>;
  sequence: number;
  agentId: Id<'agent'>;
  permission: Id<'perm'>;
  event: EventType;
  action: string;
  resource: string;
  ipAddress: string;
  userAgent: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** As JSON; empty if the request excludes details. */
  details: string;
  /** In hexadecimal; empty if the export has no proof. */
  salt: string;
}

/**
 * An entry as the query returns it. `bytes` is its permission's id and its random bytes, in
 * hexadecimal.
 */
type Row = [
  pos: number,
  agent: number,
  event: number,
  createdAt: number,
  bytes: string,
  action: string,
  ipAddress: string,
  userAgent: string,
  /** The stored details, or just the resource if the request excludes details. */
  details: string,
  /**
   * The details if they are nested too deep for the filter of the statement, which then leaves the
   * entry to be filtered here; else null.
   */
  unfiltered: string | null,
];

/** How many entries to read at a time. */
interface ReadLimits {
  /** Maximum entries to return. */
  limit: number;
  /** Maximum entries to read. A filter on details returns only some of them. */
  maxExamined: number;
}

const ID_LENGTH = 32;

/** Reads the entries of an export in the order of the log. */
export class EntrySource {
  private readonly agentIds = new Map<number, Id<'agent'> | null>();
  private readonly request: ExportRequest;
  private readonly filter: DetailFilter | undefined;

  constructor(
    private readonly reader: Reader,
    private readonly file: FileRow,
  ) {
    this.request = exportRequest(file);
    this.filter = detailFilterOf(this.request);
  }

  /**
   * Reads the first entries of a range. Entries of deleted agents count, but are not returned.
   * @returns the entries, and the position to read from next: the end of the range once all of it
   *   is read
   */
  async read(
    { low, high }: PositionRange,
    limits: ReadLimits,
  ): Promise<{ entries: ExportedEntry[]; next: number }> {
    if (low >= high) return { entries: [], next: high };
    const { rows, end } = await this.readRows(low, high, limits);
    await this.loadAgents(new Set(rows.map(([, agent]) => agent)));
    const { include_details: withDetails } = this.request;
    const hasProof = getsProof(this.file);
    const start = logStart({ number: this.file.account });
    const entries: ExportedEntry[] = [];
    for (const [
      pos,
      agent,
      event,
      createdAt,
      bytes,
      action,
      ipAddress,
      userAgent,
      details,
      unfiltered,
    ] of rows) {
      const agentId = this.agentIds.get(agent);
      if (!agentId || (unfiltered !== null && !this.matches(unfiltered))) continue;
      let resource = details;
      if (withDetails) resource = resourceOf(details);
      const sequence = pos - start;
      const permission = formatHexId('perm', bytes);
      const random = Uint8Array.fromHex(bytes.slice(ID_LENGTH));
      entries.push({
        pos,
        id: entryId({ createdAt, sequence, random }),
        sequence,
        agentId,
        permission,
        event: eventTypeOfCode(event),
        action,
        resource,
        ipAddress,
        userAgent,
        createdAt,
        details: withDetails ? detailsText({ action, permission }, details) : '',
        salt: hasProof ? saltOf({ random }).toHex() : '',
      });
    }
    // More may follow only where the limits ended the batch.
    if (end === undefined) return { entries, next: high };
    return { entries, next: end + 1 };
  }

  /** Reads rows, and the position where the limits end the batch; undefined if they do not. */
  private async readRows(low: number, high: number, limits: ReadLimits) {
    const { limit } = limits;
    const [selected] = await this.reader.load([
      this.reader
        .select({ row: sql<string>`row`, isEnd: sql<number>`is_end` })
        .from(sql`(${this.selectRows(low, high, limits)})`),
    ]);
    const texts = selected.map(({ row }) => row);
    const all: Row[] = JSON.parse(`[${texts.join()}]`);
    const rows = all.filter((_, i) => !selected[i]?.isEnd);
    const last = all[selected.findIndex(({ isEnd }) => isEnd)] ?? rows[limit - 1];
    return { rows, end: last?.[0] };
  }

  private selectRows(low: number, high: number, { limit, maxExamined }: ReadLimits): SQL {
    const { request } = this;
    const columns = selectRow(request, this.filter);
    const arms = (selected: SQL) => selectArms(this.file, request, selected, { low, high });
    if (!this.filter) {
      const rows = arms(sql`${auditEntries.pos}, ${columns} as row`);
      return sql`select row, 0 as is_end from (${rows} limit ${limit})`;
    }
    const joinsAndWhere = sql`cross join ${auditEntries} as entry
      where entry.pos = examined.pos and ${matchesDetailsSql(this.filter, 'entry')}`;
    const rows = arms(sql`${auditEntries.pos}`);
    const page = selectExamined(
      { rows, alias: 'examined', columns: ['pos'], joinsAndWhere },
      { limit, maxExamined },
    );
    return sql`select ${columns} as row, page.is_end as is_end
      from (${page}) as page cross join ${auditEntries} where ${auditEntries.pos} = page.pos`;
  }

  /** Whether an entry with these details matches the filter on details. */
  private matches(details: string): boolean {
    return !this.filter || matchesDetails(JSON.parse(details), this.filter);
  }

  /** Loads the identifiers of agents that are not known yet; null for a deleted agent. */
  private async loadAgents(numbers: Set<number>): Promise<void> {
    const unknown = [...numbers].filter((number) => !this.agentIds.has(number));
    if (unknown.length === 0) return;
    const [found] = await this.reader.load([
      this.reader
        .select({ number: agents.number, id: agents.id })
        .from(agents)
        .where(
          and(
            eq(agents.account, this.file.account),
            inArray(agents.number, sql`(select value from json_each(${JSON.stringify(unknown)}))`),
          ),
        ),
    ]);
    for (const number of unknown) this.agentIds.set(number, null);
    for (const { number, id } of found) this.agentIds.set(number, id);
  }
}

/** The filter on details of an export's request; undefined if it has none. */
function detailFilterOf(request: ExportRequest): DetailFilter | undefined {
  return readDetailFilter('body', {
    resource: request.resource ?? undefined,
    decided_by: request.decided_by ?? undefined,
    scope_key: request.scope_key ?? undefined,
    scope_min: request.scope_min ?? undefined,
    scope_max: request.scope_max ?? undefined,
  });
}

/** A {@link Row}, as one text, since every column of a row costs time. */
function selectRow({ include_details }: ExportRequest, filter: DetailFilter | undefined): SQL {
  const entry = auditEntries;
  let details = selectDetail('resource');
  if (include_details) details = sql`${entry.details}`;
  let unfiltered = sql`null`;
  if (filter) unfiltered = sql`iif(json_valid(${entry.details}), null, ${entry.details})`;
  return sql`json_array(
    ${entry.pos}, ${entry.agent}, ${entry.event}, ${entry.createdAt},
    hex(${entry.permission}) || hex(${entry.random}), ${entry.action},
    ${entry.ipAddress}, ${entry.userAgent}, ${details}, ${unfiltered}
  )`;
}

/**
 * Selects columns of the entries in a range that match the filters which indexes have, in order and
 * without a sort.
 */
function selectArms(
  file: FileRow,
  { event_types, action }: ExportRequest,
  columns: SQL,
  { low, high }: PositionRange,
): SQL {
  const ranges = entryRanges({
    action: action ?? undefined,
    events: event_types?.flatMap(storedEventsOf),
    ...(file.agent !== null && { agent: sql`${file.agent}` }),
  });
  const arms = ranges.map(
    (range) => sql`select ${columns} from ${range}
      and ${auditEntries.pos} >= ${low} and ${auditEntries.pos} < ${high}`,
  );
  return mergeSorted(arms, 'pos', 'asc');
}

const RESOURCE = '{"resource":"';

/** The resource in an entry's stored details. The ledger writes it as the first member. */
function resourceOf(details: string): string {
  // Searching is faster than parsing. A resource with an escape is parsed.
  if (details.startsWith(RESOURCE)) {
    const end = details.indexOf('"', RESOURCE.length);
    const text = details.slice(RESOURCE.length, end);
    if (!text.includes('\\')) return text;
  }
  const { resource }: { resource: string } = JSON.parse(details);
  return resource;
}
