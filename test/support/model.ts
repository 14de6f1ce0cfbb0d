import type { Json } from './world';

/**
 * An entry of the model: the model is a second implementation with plain objects, slow and obvious.
 */
export interface ModelEntry {
  sequence: number;
  at: number;
  event: string;
  agent: string;
  permission: string;
  action: string;
}

export interface ModelPermission {
  id: string;
  agent: ModelAgent;
  action: string;
  limit: number;
  maxUses: number;
  createdAt: number;
  expiresAt: number;
  status: 'pending' | 'approved' | 'denied' | 'expired';
  approvedAt?: number;
  firstUsedAt?: number;
  revokedAt?: number;
  token?: {
    value: string;
    status: 'active' | 'used' | 'expired' | 'revoked';
    uses: number;
    maxUses: number;
    expiresAt: number;
  };
}

export interface ModelAgent {
  id: string;
  key: string;
  active: boolean;
}

/** The expected state of one account. */
export class ModelAccount {
  agents: ModelAgent[] = [];
  permissions: ModelPermission[] = [];
  log: ModelEntry[] = [];
  isStopped = false;
  private sequence = 0;

  write(event: string, permission: ModelPermission, at: number): void {
    this.sequence += 1;
    const { id, agent, action } = permission;
    this.log.push({ sequence: this.sequence, at, event, agent: agent.id, permission: id, action });
  }

  /** Deletes an agent and its entries; their sequences stay unused. */
  forget(agent: ModelAgent): void {
    this.agents = this.agents.filter((other) => other !== agent);
    this.permissions = this.permissions.filter((permission) => permission.agent !== agent);
    this.log = this.log.filter((entry) => entry.agent !== agent.id);
  }

  /** The requests and tokens that have expired at a time and have no entry yet. */
  due(now: number): { requests: ModelPermission[]; tokens: ModelPermission[] } {
    return {
      requests: this.permissions.filter(
        ({ status, expiresAt }) => status === 'pending' && expiresAt <= now,
      ),
      tokens: this.permissions.filter(
        ({ token }) => token?.status === 'active' && token.uses === 0 && token.expiresAt <= now,
      ),
    };
  }

  /** Appends entries for what has expired, in the given order of permission ids. */
  expire(now: number, order: string[]): void {
    const { requests, tokens } = this.due(now);
    for (const id of order) {
      const request = requests.find((permission) => permission.id === id);
      const token = tokens.find((permission) => permission.id === id);
      if (request) request.status = 'expired';
      if (token?.token) token.token.status = 'expired';
      const permission = request ?? token;
      if (permission) this.write('expire', permission, now);
    }
  }

  /** An agent's statistics over all time. */
  statistics(agent: ModelAgent, now: number): Json {
    const own = this.permissions.filter((permission) => permission.agent === agent);
    const status = ({ status, expiresAt }: ModelPermission) =>
      status === 'pending' && expiresAt <= now ? 'expired' : status;
    const count = (wanted: string) =>
      own.filter((permission) => status(permission) === wanted).length;
    const waits = own.flatMap(({ approvedAt, createdAt }) =>
      approvedAt === undefined ? [] : [approvedAt - createdAt],
    );
    return {
      total_requests: own.length,
      approved_requests: count('approved'),
      denied_requests: count('denied'),
      pending_requests: count('pending'),
      expired_requests: count('expired'),
      tokens_issued: count('approved'),
      tokens_used: own.filter(({ firstUsedAt }) => firstUsedAt !== undefined).length,
      tokens_revoked: own.filter(({ revokedAt }) => revokedAt !== undefined).length,
      avg_approval_time_ms: waits.length === 0 ? 0 : waits.reduce((a, b) => a + b) / waits.length,
    };
  }
}

/** The status of a permission's token at a time. */
export function tokenStatus({ token }: ModelPermission, now: number): string | undefined {
  return token?.status === 'active' && token.expiresAt <= now ? 'expired' : token?.status;
}
