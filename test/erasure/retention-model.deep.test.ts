import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Id, idBytes } from '../../src/lib/typeid';
import { checkErasure } from '../support/erasure';
import { sealLogs } from '../support/seal';
import { countRows, emptyTables } from '../support/tables';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const DAYS: Record<string, number> = { free: 7, pro: 90, team: 365, enterprise: 1 };

type Step =
  | { do: 'request' | 'deny' | 'approve' | 'use' | 'delete agent'; pick: number }
  | { do: 'wait'; hours: number }
  | { do: 'change plan'; plan: string }
  | { do: 'seal' | 'sweep' | 'clean' };

const pick = fc.nat(1_000);
const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant('request' as const), pick }) },
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constantFrom('deny' as const, 'approve' as const), pick }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('use' as const), pick }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('seal' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('delete agent' as const), pick }) },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('wait' as const),
        hours: fc.constantFrom(1, 30, 100, 300),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('change plan' as const),
        plan: fc.constantFrom('enterprise', 'enterprise', 'free', 'pro', 'team'),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constantFrom('sweep' as const, 'clean' as const, 'clean' as const),
      }),
    },
  ),
  { minLength: 20, maxLength: 60, size: 'max' },
);

interface Entry {
  sequence: number;
  at: number;
  agent: number;
  permission: string;
  event: number;
}

/** The expiries of a request and of a token. */
const EXPIRIES = [4, 6];
const USE = 3;
const DENY = 2;
const MAX_USES = 2;

/** An account and a model of the entries that it should still have. */
class Walk {
  readonly agents: { agent: TestAgent; number: number; isGone: boolean }[] = [];
  /** Every entry that was ever written. */
  readonly entries: Entry[] = [];
  readonly gone = new Set<number>();
  /** When the tokens end that were used, by the permission. */
  readonly ends = new Map<string, number>();
  lastSweep = 0;
  sealed = 0;
  plan = 'free';

  constructor(
    readonly world: World,
    readonly account: TestAccount,
  ) {}

  async take(step: Step): Promise<void> {
    const { world, account } = this;
    world.advance(1);
    const alive = this.agents.filter(({ isGone }) => !isGone);
    switch (step.do) {
      case 'wait':
        return world.advance(step.hours * HOUR);
      case 'request': {
        const chosen = alive[step.pick % alive.length] ?? (await this.addAgent());
        const token_ttl = step.pick % 2 === 0 ? 3_600 : 604_800;
        await chosen.agent.request({ expires_in: 604_800, token_ttl, max_uses: MAX_USES });
        return this.readLog();
      }
      case 'deny':
      case 'approve': {
        const { body } = await account.must(200, 'GET', '/v1/permissions?status=pending&limit=100');
        const chosen = body.data[step.pick % Math.max(1, body.data.length)];
        if (chosen) await account.must(200, 'POST', `/v1/permissions/${chosen.id}/${step.do}`);
        return this.readLog();
      }
      case 'use': {
        const { agent } = alive[step.pick % Math.max(1, alive.length)] ?? {};
        if (!agent) return;
        const { body } = await agent.must(200, 'GET', '/v1/permissions?status=approved&limit=100');
        const tokens = body.data.filter(({ token }: Json) => token.status === 'active');
        const chosen = tokens[step.pick % Math.max(1, tokens.length)];
        if (!chosen) return;
        await agent.must(200, 'POST', '/v1/tokens/use', { token: chosen.token.value });
        this.ends.set(
          idBytes(chosen.id as Id<'perm'>)
            .toHex()
            .toUpperCase(),
          Date.parse(chosen.token.expires_at),
        );
        return this.readLog();
      }
      case 'seal': {
        await sealLogs(env.DB, { time: this.world.now });
        this.sealed = this.entries.length;
        return;
      }
      case 'delete agent': {
        const chosen = alive[step.pick % Math.max(1, alive.length)];
        if (!chosen) return;
        await account.must(204, 'DELETE', `/v1/agents/${chosen.agent.id}`);
        chosen.isGone = true;
        return;
      }
      case 'change plan':
        this.plan = step.plan;
        await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
          ...{ token: world.env.ADMIN_TOKEN ?? '', body: planOf(step.plan) },
        });
        return;
      case 'sweep':
        await world.sweep();
        this.lastSweep = world.now;
        await this.readLog();
        this.sealed = this.entries.length;
        // Retention may have erased more of what the hourly sweep left.
        return this.compare(
          (entry) => this.isOfGone(entry),
          (entry) => this.isExpired(entry),
        );
      case 'clean':
        // After an hour, entries that could not be erased before are due again.
        world.advance(HOUR);
        await world.clean();
        return this.compare(
          (entry) => this.isExpired(entry),
          () => false,
        );
    }
  }

  async addAgent() {
    const agent = await this.account.agent();
    const number =
      (await env.DB.prepare('select max(number) as number from agents').first<number>('number')) ??
      0;
    const added = { agent, number, isGone: false };
    this.agents.push(added);
    return added;
  }

  /** Adds the newly written entries to the model. */
  private async readLog(): Promise<void> {
    const { results } = await env.DB.prepare(
      `select pos % 4294967296 as sequence, created_at as at, agent, hex(permission) as permission, event
       from audit_entries where pos % 4294967296 > ? order by pos`,
    )
      .bind(this.entries.length)
      .all<Entry>();
    expect(results.map(({ sequence }) => sequence)).toEqual(
      results.map((_, i) => this.entries.length + 1 + i),
    );
    this.entries.push(...results);
  }

  private isExpired({ sequence, at }: Entry): boolean {
    return sequence <= this.sealed && at < this.world.now - (DAYS[this.plan] ?? 0) * DAY;
  }

  private isOfGone({ sequence, agent }: Entry): boolean {
    return (
      sequence <= this.sealed &&
      this.agents.some(({ number, isGone }) => isGone && number === agent)
    );
  }

  /**
   * Checks the erased entries against the model, and that permissions are erased with their last
   * entry.
   */
  private async compare(
    must: (entry: Entry) => boolean,
    may: (entry: Entry) => boolean,
  ): Promise<void> {
    const { results } = await env.DB.prepare(
      'select pos % 4294967296 as sequence from audit_entries',
    ).all<Entry>();
    const left = new Set(results.map(({ sequence }) => sequence));
    const before = this.entries.filter(({ sequence }) => !this.gone.has(sequence));
    for (const entry of before) {
      if (left.has(entry.sequence)) expect([entry, must(entry)]).toEqual([entry, false]);
      else expect([entry, must(entry) || may(entry)]).toEqual([entry, true]);
      if (!left.has(entry.sequence)) this.gone.add(entry.sequence);
    }
    expect(await checkErasure(env.DB, this.lastSweep)).toEqual([]);
    // Until the next sweep the permission of a token that ended may be there or not.
    const isCertain = (permission: string) => {
      const end = this.ends.get(permission) ?? 0;
      return end <= this.lastSweep || end > this.world.now;
    };
    expect((await this.storedPermissions()).filter(isCertain)).toEqual(
      this.expectedPermissions().filter(isCertain),
    );
  }

  private async storedPermissions(): Promise<string[]> {
    const { results } = await env.DB.prepare(
      'select hex(id) as id from permissions where agent in (select number from agents) order by id',
    ).all<{ id: string }>();
    return results.map(({ id }) => id);
  }

  private expectedPermissions(): string[] {
    const alive = new Set(this.agents.filter(({ isGone }) => !isGone).map(({ number }) => number));
    const all = Map.groupBy(
      this.entries.filter(({ agent }) => alive.has(agent)),
      ({ permission }) => permission,
    );
    const kept = [...all].filter(([, entries]) => {
      const [{ permission } = { permission: '' }] = entries;
      const isSettled =
        entries.some(({ event }) => event === DENY || EXPIRIES.includes(event)) ||
        entries.filter(({ event }) => event === USE).length === MAX_USES ||
        (this.ends.get(permission) ?? Number.POSITIVE_INFINITY) <= this.lastSweep;
      return !isSettled || entries.some(({ sequence }) => !this.gone.has(sequence));
    });
    return kept.map(([permission]) => permission).toSorted();
  }

  /** Checks that nothing is left of the agents when all are deleted, whatever the walk left. */
  async compareEnd(): Promise<void> {
    const alive = this.agents.filter(({ isGone }) => !isGone);
    for (const { agent } of alive) await this.account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    await sealLogs(env.DB, { time: this.world.now });
    await this.world.sweep();
    const { audit_entries, permissions, erasures } = await countRows(env.DB);
    expect({ audit_entries, permissions, erasures }).toEqual({
      ...{ audit_entries: 0, permissions: 0, erasures: 0 },
    });
  }

  /** Checks that the API shows the entries within retention of agents that are not deleted. */
  async compareLog(): Promise<void> {
    const oldest = this.world.now - (DAYS[this.plan] ?? 0) * DAY;
    const shown = (await this.account.log()).map(({ sequence }: Json) => sequence);
    const expected = this.entries.filter(
      ({ sequence, at, agent }) =>
        !this.gone.has(sequence) &&
        at >= oldest &&
        !this.agents.some(({ number, isGone }) => isGone && number === agent),
    );
    expect(shown).toEqual(expected.map(({ sequence }) => sequence));
  }
}

function planOf(plan: string) {
  return plan === 'enterprise' ? { plan, audit_retention_days: 1 } : { plan };
}

it('retention and the erasure of agents agree with a model after any sequence of steps', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (walk) => {
      await emptyTables(env.DB);
      const world = new World();
      const model = new Walk(world, await world.account({ plan: 'free' }));
      for (let agent = 1; agent <= 3; agent++) await model.addAgent();
      for (const step of walk) await model.take(step);
      await model.compareLog();
      await model.compareEnd();
    }),
    { numRuns: 20 },
  );
});
