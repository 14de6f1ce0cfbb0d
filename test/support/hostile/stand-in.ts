import type { Received } from '../internet';
import type { World } from '../world';
import type { StandInAnswer } from './attempts';
import type { Arrived, Rule } from './oracle';

/** A connection as the owner has set it. */
export interface Target {
  id: string;
  host: string;
  secret: string;
  rules: Rule[];
  agentIds: string[];
  isActive: boolean;
  isDeleted: boolean;
}

/** What an attempt may do: the agent whose key it has, and what was true when it began. */
export interface Expected {
  /** The agent that may call; null if the credential is nobody's. */
  agent: string | null;
  /** The caller's own name for the call; null for the digest of its input. */
  key: string | null;
  isAlone: boolean;
  /** What the owner had set before it began. */
  before: Map<string, Rule[] | null>;
  answer: StandInAnswer;
  /** How many requests arrived. */
  arrivals: number;
}

/** A request that arrived, with what was true in that moment. */
export interface Arrival extends Arrived {
  host: string;
  at: number;
  expected: Expected;
  /** The rules by which the caller could call; null if it could not. */
  rules: Rule[] | null;
  /** The permissions that were used before the last change of what the owner has set. */
  usesBefore: ReadonlySet<string>;
  /** The status of the answer; null if the connection was cut. */
  status: number | null;
}

const EVIL = 'evil.example';

/** The service behind all connections, which remembers what arrived, and how it answered. */
export class StandIn {
  readonly arrivals: Arrival[] = [];
  /** What somebody does before it answers. */
  beforeAnswer: (() => Promise<unknown>) | null = null;
  /** The attempt that is being made. */
  expected: Expected | null = null;

  constructor(
    private readonly world: World,
    private readonly state: {
      rulesFor: (target: Target, agent: string | null) => Rule[] | null;
      uses: () => ReadonlySet<string>;
    },
  ) {
    world.internet.on(EVIL, () => {
      throw new Error('a request arrived at another host');
    });
  }

  /** Whether anything was sent to the host of the attacker. */
  get isEvilReached(): boolean {
    return this.world.internet.sentTo(EVIL).length > 0;
  }

  serve(target: Target): void {
    this.world.internet.on(target.host, (received) => this.receive(target, received));
  }

  private async receive(target: Target, { url, headers }: Received): Promise<Response> {
    const { options } = this.world.internet.requests.at(-1) ?? {};
    const { expected } = this;
    if (!expected) throw new Error('a request arrived that nobody made');
    expected.arrivals += 1;
    const status = statusOf(expected);
    this.arrivals.push({
      host: target.host,
      url,
      headers,
      method: String(options?.method),
      body: (options?.body ?? null) as Arrival['body'],
      at: this.world.now,
      expected,
      rules: this.state.rulesFor(target, expected.agent),
      usesBefore: this.state.uses(),
      status,
    });
    const { beforeAnswer } = this;
    this.beforeAnswer = null;
    await beforeAnswer?.();
    if (status === null) throw new TypeError('Network connection lost.');
    return new Response(status === 304 ? null : '{"done":true}', {
      status,
      headers: {
        'Content-Type': 'application/json',
        ...(status >= 300 && status < 400 && { Location: `https://${EVIL}/v1/payouts` }),
        ...(expected.answer === '429 once' && status === 429 && { 'Retry-After': '0' }),
      },
    });
  }
}

function statusOf({ answer, arrivals }: Expected): number | null {
  if (answer === 'lost') return null;
  if (answer === '429 once') return arrivals === 1 ? 429 : 200;
  return Number(answer);
}

/** What is known about an act after its last answer. */
export function outcomeOf(status: number | null): string {
  if (status === null) return 'unknown';
  if (status < 300 || status === 304) return 'succeeded';
  if (status === 307 || status === 308) return 'failed';
  return status >= 400 && status < 500 && status !== 408 && status !== 409 ? 'failed' : 'unknown';
}
