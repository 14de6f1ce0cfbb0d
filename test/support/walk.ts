import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { expect } from 'vitest';
import { ModelAccount, type ModelAgent, type ModelPermission, tokenStatus } from './model';
import { sealLogs } from './seal';
import { type TestAccount, World } from './world';

export const ACTIONS = ['email.send', 'file.read', 'money.transfer'];

/** One step of a random walk; numbers choose among the existing agents and permissions. */
type Step =
  | { do: 'create agent' }
  | { do: 'switch agent' | 'rotate key' | 'delete agent'; agent: number }
  | {
      do: 'request';
      agent: number;
      action: number;
      limit: number;
      maxUses: number;
      expiresIn: number;
    }
  | { do: 'approve'; permission: number; limit: number; ttl: number }
  | { do: 'deny'; permission: number }
  | { do: 'withdraw'; permission: number }
  | { do: 'use'; permission: number; byAgent: boolean; mismatch: boolean }
  | { do: 'revoke'; permission: number; byAgent: boolean }
  | { do: 'wait'; seconds: number }
  | { do: 'stop or resume' }
  | { do: 'sweep' };

const pick = fc.nat(1_000);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('create agent' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('switch agent' as const, 'rotate key' as const),
      agent: pick,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete agent' as const), agent: pick }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('request' as const),
      agent: pick,
      action: fc.nat(ACTIONS.length - 1),
      limit: fc.integer({ min: 1, max: 100 }),
      maxUses: fc.integer({ min: 1, max: 3 }),
      expiresIn: fc.constantFrom(60, 3_600),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant('approve' as const),
      permission: pick,
      limit: fc.integer({ min: 1, max: 100 }),
      ttl: fc.constantFrom(30, 900),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('deny' as const), permission: pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('withdraw' as const), permission: pick }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('use' as const),
      permission: pick,
      byAgent: fc.boolean(),
      mismatch: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('revoke' as const),
      permission: pick,
      byAgent: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      seconds: fc.constantFrom(1, 29, 31, 59, 61, 900, 3_600, 100_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('stop or resume' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('sweep' as const) }) },
);

export const walks = fc.array(step, { minLength: 20, maxLength: 60, size: 'max' });

/** An account of the service and its model, which take every step together. */
export class Walk {
  readonly model = new ModelAccount();

  private constructor(
    readonly world: World,
    readonly account: TestAccount,
  ) {}

  static async start(): Promise<Walk> {
    const world = new World();
    const walk = new Walk(world, await world.account({ plan: 'free' }));
    await walk.createAgent();
    return walk;
  }

  /** Takes a step in the service and the model, and compares the answers. */
  async take(step: Step): Promise<void> {
    const { model, world, account } = this;
    world.advance(1);
    if (step.do === 'create agent') return this.createAgent();
    if (step.do === 'wait') return world.advance(step.seconds * 1_000);
    if (step.do === 'sweep') return this.sweep();
    if (step.do === 'stop or resume') return this.stopOrResume();
    if ('agent' in step) {
      const agent = model.agents[step.agent % model.agents.length];
      if (!agent) return;
      if (step.do === 'request') return this.request(agent, step);
      if (step.do === 'delete agent') {
        await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
        model.forget(agent);
      } else if (step.do === 'rotate key') {
        const { body } = await account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`, {
          grace_period: 0,
        });
        agent.key = body.api_key;
      } else {
        agent.active = !agent.active;
        await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { is_active: agent.active });
      }
      return;
    }
    const permission = model.permissions[step.permission % model.permissions.length];
    if (!permission) return;
    if (step.do === 'approve') await this.approve(permission, step);
    else if (step.do === 'deny') await this.deny(permission);
    else if (step.do === 'withdraw') await this.withdraw(permission);
    else if (step.do === 'use') await this.use(permission, step);
    else await this.revoke(permission, step);
  }

  /** Compares everything that the service shows with the model. */
  async compare(): Promise<void> {
    const { model, world, account } = this;
    const shown = (await account.log()).map((entry) => ({
      sequence: entry.sequence,
      at: Date.parse(entry.created_at),
      event: entry.event_type,
      agent: entry.agent_id,
      permission: entry.permission_request_id,
      action: entry.details.action,
    }));
    expect(shown).toEqual(this.visibleLog());
    const { stopped } = (await account.must(200, 'GET', '/v1/me')).body;
    expect(stopped !== null).toBe(model.isStopped);
    for (const permission of model.permissions) {
      const { body } = await account.must(200, 'GET', `/v1/permissions/${permission.id}`);
      const overdue = permission.status === 'pending' && permission.expiresAt <= world.now;
      expect(body.status).toBe(overdue ? 'expired' : permission.status);
      expect(body.token?.status).toBe(tokenStatus(permission, world.now));
      expect(body.token?.uses).toBe(permission.token?.uses);
    }
    for (const agent of model.agents) {
      const { body } = await account.must(200, 'GET', `/v1/agents/${agent.id}/stats?period=365d`);
      expect(body).toEqual({ period: '365d', ...model.statistics(agent, world.now) });
    }
  }

  /** The entries of the model's log that the account's plan still keeps. */
  visibleLog() {
    const kept = this.world.now - 7 * 86_400_000;
    return this.model.log.filter(({ at }) => at >= kept);
  }

  private async createAgent(): Promise<void> {
    const { id, key } = await this.account.agent();
    this.model.agents.push({ id, key, active: true });
  }

  private async request(agent: ModelAgent, step: Step & { do: 'request' }): Promise<void> {
    const { world, model } = this;
    const action = ACTIONS[step.action] ?? '';
    const answer = await world.call('POST', '/v1/permissions', {
      token: agent.key,
      body: {
        action,
        resource: 'thing:1',
        scope: { limit: step.limit },
        max_uses: step.maxUses,
        expires_in: step.expiresIn,
      },
    });
    const refusal = model.isStopped ? 'account_stopped' : undefined;
    expect(answer.body.code).toBe(agent.active ? refusal : 'agent_inactive');
    if (answer.status !== 201) return;
    const permission: ModelPermission = {
      id: answer.body.id,
      agent,
      action,
      limit: step.limit,
      maxUses: step.maxUses,
      createdAt: world.now,
      expiresAt: world.now + step.expiresIn * 1_000,
      status: 'pending',
    };
    model.permissions.push(permission);
    model.write('request', permission, world.now);
  }

  private async approve(
    permission: ModelPermission,
    { limit, ttl }: Step & { do: 'approve' },
  ): Promise<void> {
    const { world, account, model } = this;
    const answer = await account.call('POST', `/v1/permissions/${permission.id}/approve`, {
      scope: { limit },
      token_ttl: ttl,
    });
    const open = permission.status === 'pending' && permission.expiresAt > world.now;
    const expected = () => {
      if (!open) return 'not_pending';
      if (model.isStopped) return 'account_stopped';
      return limit > permission.limit ? 'scope_widened' : 200;
    };
    expect(answer.body.code ?? answer.status).toBe(expected());
    if (answer.status !== 200) return;
    permission.status = 'approved';
    permission.approvedAt = world.now;
    permission.token = {
      value: '',
      status: 'active',
      uses: 0,
      maxUses: permission.maxUses,
      expiresAt: (Math.floor(world.now / 1_000) + ttl) * 1_000,
    };
    model.write('approve', permission, world.now);
    if (!permission.agent.active) return;
    const seen = await world.must(200, 'GET', `/v1/permissions/${permission.id}`, {
      token: permission.agent.key,
    });
    permission.token.value = seen.body.token.value;
  }

  private async deny(permission: ModelPermission): Promise<void> {
    const { world, account, model } = this;
    const answer = await account.call('POST', `/v1/permissions/${permission.id}/deny`);
    const open = permission.status === 'pending' && permission.expiresAt > world.now;
    expect(answer.body.code ?? answer.status).toBe(open ? 200 : 'not_pending');
    if (!open) return;
    permission.status = 'denied';
    model.write('deny', permission, world.now);
  }

  private async withdraw(permission: ModelPermission): Promise<void> {
    const { world, model } = this;
    const { key: token, active } = permission.agent;
    const answer = await world.call('POST', `/v1/permissions/${permission.id}/withdraw`, { token });
    const open = permission.status === 'pending' && permission.expiresAt > world.now;
    expect(answer.body.code ?? answer.status).toBe(
      active ? (open ? 200 : 'not_pending') : 'agent_inactive',
    );
    if (!active || !open) return;
    permission.status = 'expired';
    model.write('expire', permission, world.now);
  }

  private async use(permission: ModelPermission, step: Step & { do: 'use' }): Promise<void> {
    const { world, account, model } = this;
    const { token, agent } = permission;
    if (!token?.value) return;
    const answer = await world.call('POST', '/v1/tokens/use', {
      token: step.byAgent ? agent.key : account.token,
      body: { token: token.value, action: step.mismatch ? 'other.action' : permission.action },
    });
    const status = tokenStatus(permission, world.now);
    if (step.byAgent && !agent.active) expect(answer.body.code).toBe('agent_inactive');
    else if (model.isStopped) expect(answer.body.code).toBe('account_stopped');
    else if (status !== 'active') expect(answer.body.reason).toBe(status);
    else if (!agent.active) expect(answer.body.reason).toBe('agent_inactive');
    else if (step.mismatch) expect(answer.body.reason).toBe('mismatch');
    else {
      token.uses += 1;
      permission.firstUsedAt ??= world.now;
      if (token.uses === token.maxUses) token.status = 'used';
      expect([answer.status, answer.body.uses, answer.body.remaining_uses]).toEqual([
        200,
        token.uses,
        token.maxUses - token.uses,
      ]);
      model.write('use', permission, world.now);
    }
  }

  private async revoke(permission: ModelPermission, step: Step & { do: 'revoke' }): Promise<void> {
    const { world, account, model } = this;
    const { token, agent } = permission;
    const answer = await world.call('POST', '/v1/tokens/revoke', {
      token: step.byAgent ? agent.key : account.token,
      body: { token_id: `token_${permission.id.slice('perm_'.length)}` },
    });
    const refused = step.byAgent && !agent.active;
    expect(answer.status).toBe(refused ? 403 : 200);
    if (refused || !token || tokenStatus(permission, world.now) !== 'active') return;
    token.status = 'revoked';
    permission.revokedAt = world.now;
    model.write('revoke', permission, world.now);
  }

  private async stopOrResume(): Promise<void> {
    const { account, model } = this;
    model.isStopped = !model.isStopped;
    await account.must(200, 'POST', model.isStopped ? '/v1/me/stop' : '/v1/me/resume');
  }

  private async sweep(): Promise<void> {
    const { world, account, model } = this;
    const due = model.due(world.now);
    const last = (await account.log()).at(-1)?.sequence ?? 0;
    await sealLogs(env.DB, { time: world.now });
    await world.sweep();
    const entries = (await account.log()).filter(({ sequence }) => sequence > last);
    const order = entries.map((entry) => entry.permission_request_id);
    expect(order.toSorted()).toEqual(
      [...due.requests, ...due.tokens].map(({ id }) => id).toSorted(),
    );
    model.expire(world.now, order);
  }
}
