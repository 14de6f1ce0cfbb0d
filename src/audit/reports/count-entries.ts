import { type SQL, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { EVENT_TYPES, type EventType } from '../../db/schema';
import type { PositionRange } from '../find-file-range';
import { selectDetail } from '../select-detail';
import {
  addGroup,
  belongsTo,
  type EntryGroup,
  EXAMPLES,
  type Figures,
  MARKS,
  POLICY_PREFIX,
  QUICK_DECISION,
  RETRY_REQUESTS,
  TOPICS,
  type TopicRule,
} from './figures';

/** Counts the entries in a range of positions, slice by slice. The result does not depend on the size of the slices. */
export class EntryCounter {
  /**
   * @param range all positions that are counted
   * @param isKnown whether an agent number belongs to an existing agent; entries of deleted agents are skipped
   */
  constructor(
    private readonly reader: Reader,
    private readonly range: PositionRange,
    private readonly isKnown: (agent: number) => boolean,
  ) {}

  /**
   * Adds the next slice of entries to the figures.
   * @param low the first position of the slice
   * @param limit the number of entries to read, including entries of deleted agents
   * @returns the first position after the slice
   */
  async addSlice(figures: Figures, low: number, limit: number): Promise<number> {
    const all = await this.readGroups(low, limit);
    const groups = all.filter(({ agent }) => this.isKnown(agent));
    for (const group of groups) addGroup(figures, group);
    const read = all.reduce((sum, { entries }) => sum + entries, 0);
    const next = read < limit ? this.range.high : all.reduce((last, group) => Math.max(last, group.last), low) + 1;
    await this.addExamples(figures, groups, next);
    return next;
  }

  private async readGroups(low: number, limit: number): Promise<EntryGroup[]> {
    const slice = sql`${this.selectMarked(low, this.range.high)} order by pos limit ${limit}`;
    const [rows] = await this.reader.load([
      this.reader
        .select({
          agent: sql<number>`agent`,
          month: sql<string>`month`,
          event: sql<number>`event`,
          decider: sql<string>`decider`,
          mark: sql<number>`mark`,
          entries: sql<number>`count(*) as entries`,
          first: sql<number>`min(pos) as first`,
          last: sql<number>`max(pos) as last`,
        })
        .from(sql`(${slice})`)
        .groupBy(sql`agent, month, event, decider, mark`),
    ]);
    return rows;
  }

  /** Selects entries with their month, decider and mark. The table's alias is `entry`. */
  private selectMarked(low: number, high: number): SQL {
    const { range } = this;
    // The first 48 bits of a permission's id are the time of the request (RFC 9562 section 5.7).
    const quick = sql`${selectDetail('policy_id', 'entry')} is null
      and permission >= unhex(printf('%012x', created_at - ${inlineNumber(QUICK_DECISION)}))`;
    const retried = sql`${selectDetail('resource', 'entry')} in (
      select ${selectDetail('resource', 'later')} from audit_entries as later indexed by audit_by_agent_action
      where later.agent = entry.agent and later.action = entry.action and later.event = ${eventCode('request')}
        and later.pos > entry.pos and later.pos < ${range.high}
      order by later.pos limit ${inlineNumber(RETRY_REQUESTS)})`;
    const usedBefore = sql`exists (
      select 1 from audit_entries as earlier indexed by audit_by_permission
      where earlier.permission = entry.permission and earlier.event = ${eventCode('use')}
        and earlier.pos >= ${range.low} and earlier.pos < entry.pos)`;
    const mark = (condition: SQL, bit: number) => sql`iif(${condition}, ${inlineNumber(bit)}, 0)`;
    return sql`
      select pos, agent, event, strftime('%Y-%m', created_at / 1000, 'unixepoch') as month,
        iif(event in (${eventCode('approve')}, ${eventCode('deny')}), ${selectDetail('decided_by', 'entry')}, '') as decider,
        case event
          when ${eventCode('approve')} then ${mark(quick, MARKS.quick)}
          when ${eventCode('deny')} then ${mark(quick, MARKS.quick)} + ${mark(retried, MARKS.retried)}
          when ${eventCode('use')} then iif(${usedBefore}, 0, ${inlineNumber(MARKS.firstUse)})
          when ${eventCode('expire')} then ${mark(sql`${selectDetail('expired', 'entry')} = 'token'`, MARKS.unused)}
          else 0
        end as mark
      from audit_entries as entry not indexed where pos >= ${low} and pos < ${high}`;
  }

  /** Adds examples to topics that have too few. Slices come in order, so examples found earlier stay the first ones. */
  private async addExamples(figures: Figures, groups: EntryGroup[], next: number): Promise<void> {
    for (const [topic, rule] of TOPICS) {
      const { positions } = figures.topics[topic];
      const missing = EXAMPLES - positions.length;
      const matching = groups.filter((group) => belongsTo(rule, group));
      if (missing === 0 || matching.length === 0) continue;
      // Groups of one or two entries give every position themselves.
      const haveAllPositions = matching.every(({ entries }) => entries <= 2);
      const found = haveAllPositions
        ? matching.flatMap(({ entries, first, last }) => (entries === 1 ? [first] : [first, last]))
        : await this.readExamples(rule, Math.min(...matching.map(({ first }) => first)), next, missing);
      positions.push(...found.toSorted((a, b) => a - b).slice(0, missing));
    }
  }

  private async readExamples(rule: TopicRule, low: number, high: number, limit: number): Promise<number[]> {
    const hasAgent = sql`exists (select 1 from agents where agents.number = marked.agent)`;
    const [rows] = await this.reader.load([
      this.reader
        .select({ pos: sql<number>`pos` })
        .from(sql`(${this.selectMarked(low, high)}) as marked`)
        .where(sql`${matchesRule(rule)} and ${hasAgent}`)
        .orderBy(sql`pos`)
        .limit(limit),
    ]);
    return rows.map(({ pos }) => pos);
  }
}

/** The SQL form of {@link belongsTo}, for a single entry. */
function matchesRule({ events, by, mark, unmarked }: TopicRule): SQL {
  const conditions = [sql`event in (${sql.join(events.map(eventCode), sql`, `)})`];
  const byPolicy = sql`(substr(decider, 1, ${inlineNumber(POLICY_PREFIX.length)}) = ${POLICY_PREFIX})`;
  if (by !== undefined) conditions.push(by === 'policy' ? byPolicy : sql`not ${byPolicy}`);
  if (mark !== undefined) conditions.push(sql`(mark & ${inlineNumber(mark)}) ${unmarked ? sql`= 0` : sql`<> 0`}`);
  return sql.join(conditions, sql` and `);
}

function eventCode(event: EventType): SQL {
  return inlineNumber(EVENT_TYPES.indexOf(event));
}

/** A number written into the statement, because D1 binds numbers as REAL. */
function inlineNumber(value: number): SQL {
  return sql.raw(String(value));
}
