import { and, eq, inArray, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import type { Reader } from '../../db/database';
import { mergeSorted } from '../../db/merge-sorted';
import { agents, auditEntries, type EventType } from '../../db/schema';
import { eventTypeOfCode, STORED_EVENTS, storedEventsOf } from '../../db/stored-events';
import type { FileRow } from '../../files/file-records';
import { entryId, saltOf } from '../../ledger/entry-id';
import { formatHexId, type Id } from '../../lib/typeid';
import { logStart } from '../entry';
import type { PositionRange } from '../find-file-range';
import { selectDetail } from '../select-detail';
import { exportRequest, getsProof } from './export';

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
  /** The details, or just the resource if the request excludes details. */
  details: string,
];

const ID_LENGTH = 32;

/** Reads the entries of an export in the order of the log. */
export class EntrySource {
  private readonly agentIds = new Map<number, Id<'agent'> | null>();

  constructor(
    private readonly reader: Reader,
    private readonly file: FileRow,
  ) {}

  /**
   * Reads the first entries of a range.
   * @param limit maximum rows; entries of deleted agents count, but are not returned
   * @returns the entries, and the position to read from next: the end of the range once all of it
   *   is read
   */
  async read(
    { low, high }: PositionRange,
    limit: number,
  ): Promise<{ entries: ExportedEntry[]; next: number }> {
    if (low >= high) return { entries: [], next: high };
    const rows = await this.readRows(low, high, limit);
    await this.loadAgents(new Set(rows.map(([, agent]) => agent)));
    const { include_details: withDetails } = exportRequest(this.file);
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
    ] of rows) {
      const agentId = this.agentIds.get(agent);
      if (!agentId) continue;
      let resource = details;
      if (withDetails) resource = resourceOf(details);
      const sequence = pos - start;
      const random = Uint8Array.fromHex(bytes.slice(ID_LENGTH));
      entries.push({
        pos,
        id: entryId({ createdAt, sequence, random }),
        sequence,
        agentId,
        permission: formatHexId('perm', bytes),
        event: eventTypeOfCode(event),
        action,
        resource,
        ipAddress,
        userAgent,
        createdAt,
        details: withDetails ? details : '',
        salt: hasProof ? saltOf({ random }).toHex() : '',
      });
    }
    // Only a full batch has this row, and more may follow it.
    const [lastPosition] = rows[limit - 1] ?? [];
    if (lastPosition === undefined) return { entries, next: high };
    return { entries, next: lastPosition + 1 };
  }

  private async readRows(low: number, high: number, limit: number): Promise<Row[]> {
    const [rows] = await this.reader.load([
      this.reader
        .select({ row: sql<string>`row` })
        .from(sql`(${selectEntries(this.file, low, high)} limit ${limit})`),
    ]);
    return JSON.parse(`[${rows.map(({ row }) => row).join()}]`);
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

/**
 * Selects the entries in order, without a sort: a range of the table, or one index range per stored
 * event, merged.
 */
function selectEntries(file: FileRow, low: number, high: number): SQL {
  const { event_types, include_details } = exportRequest(file);
  const entry = auditEntries;
  // One text per row, since every column of a row costs time.
  const columns = sql`
    ${entry.pos}, json_array(
      ${entry.pos}, ${entry.agent}, ${entry.event}, ${entry.createdAt},
      hex(${entry.permission}) || hex(${entry.random}), ${entry.action},
      ${entry.ipAddress}, ${entry.userAgent},
      ${include_details ? sql`${entry.details}` : selectDetail('resource')}
    ) as row`;
  const within = sql`${entry.pos} >= ${low} and ${entry.pos} < ${high}`;
  if (file.agent === null && !event_types) {
    return sql`select ${columns} from ${entry} not indexed where ${within} order by ${entry.pos}`;
  }
  let range = sql`${entry} indexed by audit_by_event where true`;
  if (file.agent !== null)
    range = sql`${entry} indexed by audit_by_agent where ${entry.agent} = ${file.agent}`;
  const arms = (event_types?.flatMap(storedEventsOf) ?? STORED_EVENTS).map((event) => {
    const isEvent = sql`${entry.event} = ${codeOf(STORED_EVENTS, event)}`;
    return sql`select ${columns} from ${range} and ${isEvent} and ${within}`;
  });
  return mergeSorted(arms, 'pos', 'asc');
}

const ACTION = '{"action":"';
const RESOURCE = '"resource":"';

/**
 * The resource in an entry's details. The ledger writes it as the second member, after the action.
 */
function resourceOf(details: string): string {
  // Searching is faster than parsing. It is safe because the action before the resource has no
  // quotes or escapes; a resource with an escape is parsed.
  const start = details.indexOf(RESOURCE);
  const actionEnd = details.indexOf('"', ACTION.length);
  if (details.startsWith(ACTION) && actionEnd === start - 2) {
    const end = details.indexOf('"', start + RESOURCE.length);
    const text = details.slice(start + RESOURCE.length, end);
    if (!text.includes('\\')) return text;
  }
  const { resource }: { resource: string } = JSON.parse(details);
  return resource;
}
