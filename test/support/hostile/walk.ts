import { withPrefix } from '../../../src/lib/typeid';
import { BackgroundWork } from '../background-work';
import { ORIGIN, type TestAgent } from '../world';
import { type Attempt, type Event, type HostileCall, messageOf } from './attempts';
import { HostileScene } from './scene';
import type { Expected } from './stand-in';
import { AGAIN, CALL } from './usual-calls';

/** How many attempts are made while what the owner has changed stays so. */
const CHANGED_FOR = 2;
const UNKNOWN = 'conn_01h455vb4pex5vsknk084sn02q';
/** More than policies approve. */
const MANY = 1_000;
const TOKEN = 'token_01h455vb4pex5vsknk084sn02q';

type Race = Extract<Attempt, { do: 'race' }>;

/** A run of attempts by the hostile agent, with what came of them. */
export class HostileWalk {
  /** How often each kind of attempt had each result. */
  readonly results = new Map<string, number>();
  readonly faults: string[] = [];
  private changedFor = 0;
  private keys = 0;
  private races = 0;
  private last: { call: HostileCall; key: string | null } | null = null;

  private constructor(readonly scene: HostileScene) {}

  static async begin(): Promise<HostileWalk> {
    return new HostileWalk(await HostileScene.open());
  }

  async take(attempt: Attempt): Promise<void> {
    const { scene } = this;
    scene.world.advance(1);
    if (this.changedFor > 0) this.changedFor -= 1;
    if (this.changedFor === 0) await scene.restore();
    switch (attempt.do) {
      case 'wait':
        return scene.world.advance(attempt.seconds * 1_000);
      case 'event':
        return await this.happen(attempt.what);
      case 'forge':
        return await this.forge(attempt.amount);
      case 'race':
        return await this.race(attempt);
      case 'call':
        return await this.call(attempt);
    }
  }

  private async race({ isAsked, what, moment }: Race): Promise<void> {
    this.races += 1;
    const event = { what, moment };
    if (!isAsked) return await this.take({ ...CALL, key: 'fresh', event });
    await this.take({ ...CALL, amount: MANY + this.races, key: 'fresh' });
    await this.scene.apply('approve');
    await this.take({ ...AGAIN, event });
  }

  private async happen(what: Event): Promise<void> {
    const { targets } = this.scene;
    // Nothing more can be changed of a deleted connection.
    if (targets.own.isDeleted) return;
    this.changedFor = CHANGED_FOR;
    this.count(`event ${what}`);
    await this.scene.apply(what);
  }

  /** Asks for a permission as if a connection had asked, with a token that somebody approves. */
  private async forge(amount: number): Promise<void> {
    const { agents, account, targets } = this.scene;
    const body = {
      action: 'payout.create',
      resource: `url:${targets.own.host}/v1/payouts`,
      scope: { amount },
      input: {
        method: 'POST',
        url: `https://${targets.own.host}/v1/payouts`,
        headers: { 'content-type': 'application/json' },
        body: { amount, to: 'a' },
      },
    };
    const stolen = { ...body, connection_id: targets.own.id };
    this.count(`forge ${(await agents.own.call('POST', '/v1/permissions', stolen)).status}`);
    const asked = await agents.own.call('POST', '/v1/permissions', body);
    this.count(`forge ${asked.status}`);
    if (asked.status !== 201) return;
    this.scene.forged = asked.body.id;
    if (asked.body.status === 'pending')
      await account.call('POST', `/v1/permissions/${asked.body.id}/approve`, {});
  }

  private async call(attempt: HostileCall): Promise<void> {
    const { scene } = this;
    const isAgain = attempt.isAgain && this.last !== null;
    const call = isAgain && this.last ? { ...this.last.call, event: attempt.event } : attempt;
    const key = isAgain && this.last ? this.last.key : this.keyOf(attempt);
    this.last = { call, key };
    const { credential, agent } = this.callerOf(call);
    const expected: Expected = {
      agent: call.credential === 'none' ? null : agent,
      key,
      isAlone: call.copies === 1,
      before: new Map(
        scene.allTargets.map((target) => [target.host, scene.rulesFor(target, agent)]),
      ),
      answer: call.answer,
      arrivals: 0,
    };
    scene.standIn.expected = expected;
    this.schedule(call);
    const copies = Array.from({ length: call.copies }, () => this.send(call, { credential, key }));
    await Promise.all(copies);
    scene.outage.arm(null);
    scene.world.whileAsleep = async () => undefined;
    scene.standIn.beforeAnswer = null;
    scene.standIn.expected = null;
  }

  /** Lets something happen while the call is under way. */
  private schedule({ event }: HostileCall): void {
    if (!event) return;
    const { scene } = this;
    const { what, moment } = event;
    const happen = async () => {
      scene.world.whileAsleep = async () => undefined;
      await this.happen(what);
    };
    if (moment === 'asleep') scene.world.whileAsleep = happen;
    else if (moment === 'arrived') scene.standIn.beforeAnswer = happen;
    else scene.outage.before(moment, happen);
  }

  private keyOf({ key }: HostileCall): string | null {
    const { standIn, forged } = this.scene;
    switch (key) {
      case 'fresh':
        this.keys += 1;
        return `key-${this.keys}`;
      case 'token of the last':
        return standIn.arrivals.at(-1)?.headers.get('Idempotency-Key') ?? TOKEN;
      case 'forged':
        return withPrefix('token', forged);
      default:
        return key;
    }
  }

  /** The credential of a call, and the agent whom it makes known; null if it is nobody's. */
  private callerOf({ caller, credential }: HostileCall): {
    credential: string;
    agent: string | null;
  } {
    const { agents, account, oldKey, forged } = this.scene;
    const isRead = !['two schemes', 'query', 'cookie', 'none'].includes(credential);
    const of = ({ key, id }: TestAgent) => ({ credential: key, agent: isRead ? id : null });
    const nobodys = (text: string) => ({ credential: text, agent: null });
    switch (caller) {
      case 'own':
        return of(agents.own);
      case 'sibling':
        return of(agents.sibling);
      case 'foreign':
        return of(agents.foreign);
      case 'old key':
        return nobodys(oldKey);
      case 'user token':
        return nobodys(account.token);
      case 'token id':
        return nobodys(withPrefix('token', forged));
      case 'garbage':
        return nobodys('csa_garbage');
    }
  }

  private async send(
    call: HostileCall,
    { credential, key }: { credential: string; key: string | null },
  ): Promise<void> {
    const { world } = this.scene;
    const { target, type, raw } = messageOf(call);
    const inQuery = call.credential === 'query' ? `&api_key=${credential}` : '';
    const path = `/v1/connections/${this.placeOf(call)}/proxy${target}${inQuery}`;
    const request = new Request(ORIGIN, {
      method: call.line[0],
      headers: {
        ...(type !== undefined && { 'Content-Type': type }),
        ...credentialHeaders(call.credential, credential, this.scene.agents.foreign.key),
        ...(key !== null && { 'Idempotency-Key': key }),
        ...call.headers,
      },
      body: raw,
    });
    // The constructor would resolve dot segments, and the runtime leaves them as they were sent.
    Object.defineProperty(request, 'url', { value: ORIGIN + path });
    const work = new BackgroundWork();
    const answer = await world.app.fetch(request, world.env, work.context);
    const text = await answer.text();
    await work.finish();
    this.read(call, answer, text);
  }

  private placeOf({ place }: HostileCall): string {
    const { own, sibling, foreign, deleted } = this.scene.targets;
    const places = {
      own: own.id,
      sibling: sibling.id,
      foreign: foreign.id,
      unknown: UNKNOWN,
      encoded: own.id.replace('_', '%5F'),
      deleted: deleted.at(-1)?.id ?? UNKNOWN,
    };
    return places[place];
  }

  private read(call: HostileCall, answer: Response, text: string): void {
    const refusal = answer.headers.get('Countersign-Refusal');
    const came = refusal ?? (answer.headers.has('Countersign-Permission') ? 'act' : 'read');
    this.count(refusal === null ? `${came} ${answer.status}` : `${refusal} ${answer.status}`);
    if (call.trick !== 'none') this.count(`path: ${call.trick}`);
    if (call.body !== 'json') this.count(`body: ${call.body}`);
    if (refusal !== null && answer.status === 500)
      this.faults.push(`500 after ${JSON.stringify(call)}`);
    const whole = JSON.stringify([...answer.headers]) + text;
    for (const { secret } of this.scene.allTargets)
      if (whole.includes(secret)) this.faults.push(`the secret in ${whole}`);
  }

  private count(result: string): void {
    this.results.set(result, (this.results.get(result) ?? 0) + 1);
  }
}

function credentialHeaders(
  form: HostileCall['credential'],
  credential: string,
  foreign: string,
): Record<string, string> {
  switch (form) {
    case 'bearer':
      return { Authorization: `Bearer ${credential}` };
    case 'lower case':
      return { Authorization: `bearer ${credential}` };
    case 'token':
      return { Authorization: `token ${credential}` };
    case 'basic':
      return { Authorization: `Basic ${btoa(`user:${credential}`)}` };
    case 'api key':
      return { 'X-Api-Key': credential };
    case 'two schemes':
      return { Authorization: `Bearer ${credential}, Bearer ${foreign}` };
    case 'with a foreign key':
      return { Authorization: `Bearer ${credential}`, 'X-Api-Key': foreign };
    case 'cookie':
      return { Cookie: `api_key=${credential}` };
    case 'query':
    case 'none':
      return {};
  }
}
