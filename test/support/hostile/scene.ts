import { env } from 'cloudflare:test';
import { makeMember, type TestMember } from '../members';
import { orderMove, settleMoves } from '../moves';
import { Outage } from '../outage';
import { approve } from '../reviews';
import { emptyTables } from '../tables';
import { type Json, type TestAccount, TestAgent, World } from '../world';
import type { Event } from './attempts';
import type { Rule } from './oracle';
import { StandIn, type Target } from './stand-in';

const DENY_ALL: Rule[] = [{ effect: 'deny' }];

/** Most reads are allowed, some acts are asked for, and the rest is denied. */
const RULES: Rule[] = [
  { methods: ['DELETE'], effect: 'deny' },
  { paths: ['/admin*'], effect: 'deny' },
  { methods: ['GET', 'HEAD'], effect: 'allow' },
  {
    methods: ['POST', 'PUT'],
    paths: ['/payouts', '/payouts/*'],
    effect: 'ask',
    action: 'payout.create',
    scope: { amount: '{amount}' },
    title: 'Pay {amount}',
  },
  {
    methods: ['POST'],
    paths: ['/runs'],
    effect: 'ask',
    action: 'run.act',
    resource: 'run:1',
    scope: { amount: '{amount}' },
    series: { requests: 40, expires_in: 86_400, varies: ['amount'] },
  },
  { methods: ['PATCH'], effect: 'ask', action: 'item.change', whole_input: true },
];
/** What a policy approves. */
export const MOST_BY_POLICY = 10;
const POLICIES = [
  {
    name: 'Small payments',
    effect: 'approve',
    actions: ['payout.create'],
    conditions: { amount: { max: MOST_BY_POLICY } },
  },
  { name: 'Closed', effect: 'deny', actions: ['payout.*'], resources: ['url:*/payouts/7'] },
];

let hosts = 0;

/**
 * A service with two accounts that have connections. An agent of the second account is hostile: it
 * has its own key, an old one, that of another agent of its account and that of a foreign agent.
 */
export class HostileScene {
  readonly outage: Outage;
  readonly world: World;
  readonly standIn: StandIn;
  readonly targets: { own: Target; sibling: Target; foreign: Target; deleted: Target[] };
  readonly inactiveAgents = new Set<string>();
  isStopped = false;
  /** The permissions that were used when the owner last changed something. */
  uses: ReadonlySet<string> = new Set();
  oldKey = '';
  /** The permission that the hostile agent asked for by itself last. */
  forged = 'perm_01h455vb4pex5vsknk084sn02q';
  private shard = '00';

  private constructor(
    outage: Outage,
    world: World,
    readonly account: TestAccount,
    readonly other: TestAccount,
    readonly agents: { own: TestAgent; sibling: TestAgent; foreign: TestAgent },
    private readonly approver: TestMember,
  ) {
    this.outage = outage;
    this.world = world;
    this.standIn = new StandIn(world, {
      rulesFor: (target, agent) => this.rulesFor(target, agent),
      uses: () => this.uses,
    });
    this.targets = {} as HostileScene['targets'];
  }

  static async open(): Promise<HostileScene> {
    for (const database of [env.DB, env.DB_01]) await emptyTables(database);
    const outage = new Outage();
    const world = new World({ DB: outage.database(env.DB) });
    const other = await world.account({ email: 'other@example.com' });
    const foreign = await other.agent();
    await foreign.request();
    const account = await world.account();
    const approver = await makeMember(account, 'approver');
    const [sibling, own] = [await account.agent(), await account.agent()];
    Object.assign(world.env, { DB_01: outage.database(env.DB_01) });
    const agents = { own, sibling, foreign };
    const scene = new HostileScene(outage, world, account, other, agents, approver);
    scene.targets.foreign = await scene.makeTarget(foreign);
    scene.targets.sibling = await scene.makeTarget(sibling);
    scene.targets.own = await scene.makeTarget(own);
    scene.targets.deleted = [];
    for (const policy of POLICIES)
      await account.must(201, 'POST', '/v1/policies', { resources: ['*'], ...policy });
    await scene.apply('rotate');
    return scene;
  }

  /** Whether an agent may call a connection, as the owner has set it: its rules, or null. */
  rulesFor(target: Target, agent: string | null): Rule[] | null {
    const isOff = target.isDeleted || !target.isActive;
    if (agent === null || isOff || !target.agentIds.includes(agent)) return null;
    if (this.inactiveAgents.has(agent)) return null;
    return this.isStopped && target !== this.targets.foreign ? null : target.rules;
  }

  get allTargets(): Target[] {
    const { own, sibling, foreign, deleted } = this.targets;
    return [own, sibling, foreign, ...deleted];
  }

  /** The databases, past the outage. */
  get databases(): D1Database[] {
    return [env.DB, env.DB_01];
  }

  /** What somebody does: the owner, an approver, or the agent itself. */
  async apply(event: Event): Promise<void> {
    const { account, agents, targets, world } = this;
    const { own } = targets;
    const change = (fields: Json) => account.must(200, 'PUT', `/v1/connections/${own.id}`, fields);
    switch (event) {
      case 'stop':
        await account.must(200, 'POST', '/v1/me/stop', { reason: 'Test' });
        this.isStopped = true;
        break;
      case 'deactivate':
        await account.must(200, 'PUT', `/v1/agents/${agents.own.id}`, { is_active: false });
        this.inactiveAgents.add(agents.own.id);
        break;
      case 'switch off':
        await change({ is_active: false });
        own.isActive = false;
        break;
      case 'deny':
        await change({ rules: DENY_ALL });
        own.rules = DENY_ALL;
        break;
      case 'touch':
        await change({ wait: 2 });
        break;
      case 'unname':
        await change({ agent_ids: [agents.sibling.id] });
        own.agentIds = [agents.sibling.id];
        break;
      case 'delete':
        await account.must(204, 'DELETE', `/v1/connections/${own.id}`);
        own.isDeleted = true;
        break;
      case 'rotate': {
        const path = `/v1/agents/${agents.own.id}/rotate-key`;
        const { body } = await account.must(200, 'POST', path, { grace_period: 0 });
        this.oldKey = agents.own.key;
        agents.own = new TestAgent(account, agents.own.id, body.api_key);
        break;
      }
      case 'move': {
        const from = this.shard === '00' ? env.DB : env.DB_01;
        this.shard = this.shard === '00' ? '01' : '00';
        await orderMove(world, account.id, this.shard, from);
        await settleMoves(world);
        break;
      }
      default:
        await this.decide(event);
    }
    this.uses = await this.readUses();
  }

  /** Undoes what the owner has changed; a deleted connection is made again. */
  async restore(): Promise<void> {
    const { account, agents, targets } = this;
    if (this.isStopped) await account.must(200, 'POST', '/v1/me/resume', {});
    this.isStopped = false;
    if (this.inactiveAgents.size > 0)
      await account.must(200, 'PUT', `/v1/agents/${agents.own.id}`, { is_active: true });
    this.inactiveAgents.clear();
    const { own } = targets;
    if (own.isDeleted) {
      targets.deleted.push(own);
      targets.own = await this.makeTarget(agents.own);
    } else if (!own.isActive || own.rules !== RULES || !own.agentIds.includes(agents.own.id)) {
      const fields = { is_active: true, rules: RULES, agent_ids: [agents.own.id] };
      await account.must(200, 'PUT', `/v1/connections/${own.id}`, fields);
      Object.assign(own, { isActive: true, rules: RULES, agentIds: [agents.own.id] });
    }
    this.uses = await this.readUses();
  }

  /** The ids of the permissions that were used, in hexadecimal. */
  async readUses(): Promise<Set<string>> {
    const found = this.databases.map((database) =>
      database
        .prepare('select hex(permission) as id from audit_entries where event = 3')
        .all<{ id: string }>(),
    );
    const results = await Promise.all(found);
    return new Set(results.flatMap((each) => each.results.map(({ id }) => id.toLowerCase())));
  }

  private async makeTarget(agent: TestAgent): Promise<Target> {
    hosts += 1;
    const target = {
      host: `api-${hosts}.hostile-test.com`,
      secret: `sk_HOSTILE_${hosts}_26PHem9AhJZvU623`,
      rules: RULES,
      agentIds: [agent.id],
      isActive: true,
      isDeleted: false,
    };
    const { body } = await agent.account.must(201, 'POST', '/v1/connections', {
      name: `API ${hosts}`,
      slug: `api-${hosts}`,
      base_url: `https://${target.host}/v1`,
      auth: { type: 'header' },
      secret: target.secret,
      rules: RULES,
      agent_ids: target.agentIds,
      forward_headers: ['Accept', 'Content-Type', 'X-Trace'],
      wait: 2,
      repeat_after: 600,
    });
    const made = { id: body.id as string, ...target };
    this.standIn.serve(made);
    return made;
  }

  /** Decides about a request of the hostile agent, or ends an approval, if there is one. */
  private async decide(event: Event): Promise<void> {
    const { account, agents, approver, world } = this;
    const status = event === 'revoke' ? 'approved' : 'pending';
    const query = `?status=${status}&agent_id=${agents.own.id}&limit=100`;
    const { data } = (await account.must(200, 'GET', `/v1/permissions${query}`)).body;
    const wanted = data.filter(({ token }: Json) => status === 'pending' || token?.uses === 0);
    const newest = wanted[0];
    if (!newest) return;
    const path = `/v1/permissions/${newest.id}`;
    switch (event) {
      case 'approve':
        for (const { id, series } of wanted.slice(0, 3))
          await approve({ world }, approver, id, series ? { series } : {});
        break;
      case 'refuse':
        await account.call('POST', `${path}/deny`, { reason: 'No' });
        break;
      case 'withdraw':
        await agents.own.call('POST', `${path}/withdraw`, {});
        break;
      case 'revoke':
        await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: newest.token.id });
    }
  }
}
