import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { Client } from './client';
import {
  OPENAI,
  type Sdk,
  type SdkCalls,
  type SdkError,
  type Settings,
  saveGuideModules,
} from './sdks';
import { prepareState, type Service, startService } from './service';
import { answers, type Reply, StandIn } from './stand-in';
import { createTenant } from './tenant';

export const SECRET = 'sk_live_of_the_other_service';
/** How long a background write may take on a busy machine, in milliseconds. */
const PATIENCE = 30_000;

interface Permission {
  id: string;
  status: string;
  action: string;
  outcome: { status: string; summary: string } | null;
}

/** What the tests of one file share: a service with two accounts, of which the second is tested. */
export interface SdkScene {
  /** The folder from which clients are loaded as the guide sets them up. */
  folder: string;
  /** The key of an agent of the other account. */
  foreignKey: () => string;
  /**
   * Connects a new agent with a new stand-in of the service that an SDK is for. After the test it is
   * checked by {@link ConnectedAgent.expectSafe}.
   */
  connect: (sdk: Sdk, fields?: ConnectionFields) => Promise<Connected>;
}

interface Connected {
  agent: ConnectedAgent;
  standIn: StandIn;
  calls: SdkCalls;
}

/** Registers the hooks that start and stop the scene of a file. */
export function sdkScene(): SdkScene {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-sdks-'));
  let service: Service;
  let owner: Client;
  let neighbour: ConnectedAgent;
  let agents: ConnectedAgent[] = [];

  beforeAll(async () => {
    saveGuideModules(folder);
    await prepareState(folder);
    service = await startService(folder);
    const other = await createAccount(service);
    neighbour = await connectAgent(service, other, OPENAI, { action: 'people.act' });
    await errorOf((await neighbour.load(OPENAI, folder)).act());
    owner = await createAccount(service);
  });
  afterEach(() => {
    for (const agent of agents) {
      agent.expectSafe();
      agent.standIn.stop();
    }
    agents = [];
  });
  afterAll(async () => {
    expect((await neighbour.permissions()).map(({ status }) => status)).toEqual(['pending']);
    expect(neighbour.standIn.received).toEqual([]);
    neighbour.standIn.stop();
    await service.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  });

  return {
    folder,
    foreignKey: () => neighbour.settings.key,
    connect: async (sdk, fields = {}) => {
      const usual = answers(sdk.act.answer);
      const agent = await connectAgent(service, owner, sdk, { usual, ...fields });
      agents.push(agent);
      return { agent, standIn: agent.standIn, calls: await agent.load(sdk, folder) };
    },
  };
}

/**
 * Creates an account with policies: actions `policy.*` are approved, `never.*` denied, and for all
 * else people are asked.
 */
async function createAccount({ origin }: Service): Promise<Client> {
  const { token } = await createTenant(origin, 'team', 1);
  const owner = new Client(origin, token);
  for (const [effect, action] of Object.entries({ approve: 'policy.*', deny: 'never.*' })) {
    const policy = { name: effect, effect, actions: [action], resources: ['*'] };
    await owner.expect(201, 'POST', '/v1/policies', policy);
  }
  return owner;
}

async function connectAgent(
  { origin }: Service,
  owner: Client,
  sdk: Sdk,
  { action = 'policy.act', usual = answers({}), ...fields }: ConnectionFields,
): Promise<ConnectedAgent> {
  const standIn = await StandIn.start(usual);
  type Created = { id: string; api_key: string };
  const named = { name: `Agent of ${sdk.name}` };
  const agent = (await owner.expect<Created>(201, 'POST', '/v1/agents', named)).body;
  const connection = {
    name: sdk.name,
    slug: `c${agent.id.slice(-20)}`,
    base_url: standIn.origin + sdk.basePath,
    auth: { type: 'header' },
    secret: SECRET,
    agent_ids: [agent.id],
    rules: [
      { ...sdk.reads, effect: 'allow' },
      { effect: 'ask', action },
    ],
    wait: 0,
    ...fields,
  };
  const { body } = await owner.expect<{ id: string }>(201, 'POST', '/v1/connections', connection);
  const baseUrl = `${origin}/v1/connections/${body.id}/proxy`;
  return new ConnectedAgent(owner, agent.id, { baseUrl, key: agent.api_key }, standIn);
}

/** Fields of a connection, and what else its test decides. */
interface ConnectionFields {
  /** The action of what asks. */
  action?: string;
  /** How the stand-in answers. */
  usual?: Reply;
  rules?: object[];
  forward_headers?: string[];
  wait?: number;
  timeout?: number;
}

/** An agent that makes calls through a connection. */
export class ConnectedAgent {
  constructor(
    private readonly owner: Client,
    private readonly id: string,
    readonly settings: Settings,
    readonly standIn: StandIn,
  ) {}

  load(sdk: Sdk, folder: string): Promise<SdkCalls> {
    return sdk.load(folder, this.settings);
  }

  /** The permissions of the agent, oldest first, once every outcome is known. */
  async permissions(): Promise<Permission[]> {
    for (const deadline = Date.now() + PATIENCE; ; ) {
      const { body } = await this.owner.get<{ data: Permission[] }>('/v1/permissions', {
        agent_id: this.id,
        limit: 50,
      });
      const isKnown = body.data.every(({ outcome }) => outcome?.status !== 'awaited');
      if (isKnown || Date.now() > deadline) return body.data.reverse();
      await pause(50);
    }
  }

  /** The input of the only permission. */
  async input(): Promise<unknown> {
    const [permission] = await this.permissions();
    const path = `/v1/permissions/${permission?.id}`;
    return (await this.owner.get<{ input: unknown }>(path)).body.input;
  }

  /** The outcomes of the acts, oldest first. */
  async outcomes(): Promise<(string | undefined)[]> {
    return (await this.permissions()).map(({ outcome }) => outcome?.status);
  }

  /** Decides the request that waits, as soon as there is one. */
  async decide(decision: 'approve' | 'deny', reason = 'A test'): Promise<void> {
    for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await pause(50)) {
      const waiting = (await this.permissions()).find(({ status }) => status === 'pending');
      if (!waiting) continue;
      const path = `/v1/permissions/${waiting.id}/${decision}`;
      await this.owner.expect(200, 'POST', path, { reason });
      return;
    }
    throw new Error('the call does not ask');
  }

  /**
   * Expects that the stand-in performed each act at most once, and has seen the credential of the
   * connection and never a key of Countersign.
   */
  expectSafe(): void {
    const acts = this.standIn.performed.map(({ headers }) => headers['idempotency-key']);
    const named = acts.filter((key) => key !== undefined);
    expect(new Set(named).size).toBe(named.length);
    for (const { headers, head, body } of this.standIn.received) {
      expect(headers.authorization).toBe(`Bearer ${SECRET}`);
      expect(head + body.toString('latin1')).not.toMatch(/cs[au]_/);
    }
  }
}

/** What a call throws. */
export async function errorOf(call: Promise<unknown>): Promise<SdkError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('the call was answered');
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
