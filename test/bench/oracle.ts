import { EVENTS } from './history.ts';
import { permissionId } from './identifiers.ts';
import type { LoadedTenant } from './tenant.ts';

/** The filters of GET /v1/audit, as a client writes them. */
export interface AuditFilter {
  agent_id?: string;
  permission_id?: string;
  event_type?: string;
  action?: string;
  start_date?: string;
  end_date?: string;
  after_sequence?: number;
  order?: 'asc' | 'desc';
}

const DAY = 86_400_000;

/** Answers audit queries by looking at every entry of an account in turn. */
export class Oracle {
  private readonly tenant: LoadedTenant;
  private readonly keptFrom: number;
  private readonly agents: Map<string, number>;
  private readonly actions: Map<string, number>;
  private readonly permissions: Map<string, number>;

  /** @param keptFrom the time from which the account's plan keeps entries */
  constructor(tenant: LoadedTenant, keptFrom: number) {
    this.tenant = tenant;
    this.keptFrom = keptFrom;
    const { history, number, agents } = tenant;
    this.agents = new Map(agents.map(({ id }, agent) => [id, agent]));
    this.actions = new Map(history.actions.map((action, at) => [action, at]));
    this.permissions = new Map(
      Array.from(history.requestedAt, (at, permission) => [
        permissionId(number, permission, at),
        permission,
      ]),
    );
  }

  /**
   * The indexes (sequence - 1) of all matching entries in order, including those of deleted agents.
   */
  match(filter: AuditFilter): number[] {
    const { history } = this.tenant;
    const known = (map: Map<string, number>, key: string | undefined) =>
      key === undefined ? null : (map.get(key) ?? -1);
    const agent = known(this.agents, filter.agent_id);
    const action = known(this.actions, filter.action);
    const permission = known(this.permissions, filter.permission_id);
    const event =
      filter.event_type === undefined
        ? null
        : (EVENTS as readonly string[]).indexOf(filter.event_type);
    const from = Math.max(
      this.keptFrom,
      filter.start_date === undefined ? 0 : Date.parse(filter.start_date),
    );
    const to = filter.end_date === undefined ? Number.POSITIVE_INFINITY : endOf(filter.end_date);
    const found: number[] = [];
    for (let at = filter.after_sequence ?? 0; at < history.time.length; at++) {
      const time = history.time[at] as number;
      if (time < from || time >= to || history.erased[at]) continue;
      const of = history.permission[at] as number;
      if (permission !== null && of !== permission) continue;
      if (event !== null && history.event[at] !== event) continue;
      if (agent !== null && history.agent[of] !== agent) continue;
      if (action !== null && history.action[of] !== action) continue;
      found.push(at);
    }
    return filter.order === 'asc' ? found : found.reverse();
  }

  /** Whether an entry's agent still exists: entries of deleted agents are never shown. */
  isShown(at: number): boolean {
    const { history, agents } = this.tenant;
    return (history.agent[history.permission[at] as number] as number) < agents.length;
  }
}

/** An end without a time means the end of that day. */
function endOf(date: string): number {
  return Date.parse(date) + (date.length === 'YYYY-MM-DD'.length ? DAY : 0);
}
