import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { expect } from 'vitest';
import { Browser } from './browser';
import { isNamedReviewer, mayApprove, type Reviewer } from './check-votes';
import { makeMember } from './members';
import { type Answer, type Json, type TestAccount, type TestAgent, World } from './world';

const DECIDERS = ['owner', 'admin', 'approver'];
/** Who may change members, with a token that was made in that role. */
const MANAGERS = ['owner', 'admin'];
const ROLES = ['owner', 'admin', 'approver', 'developer'] as const;
const FIRST_PEOPLE = ['owner', 'admin', 'approver', 'approver', 'approver', 'developer'];

/** The rule of a policy in a walk. Numbers choose among the people. */
interface DraftRule {
  approvals: number;
  members: number[] | null;
  roles: string[] | null;
  allow_self: boolean;
  passkey: boolean;
  escalation: { after: number; members: number[] | null; roles: string[] | null } | null;
}

/**
 * One step of a walk; numbers choose among what there is. `by` chooses a person or, if null, the
 * account's own token.
 */
type Step =
  | { do: 'request'; agent: number; limit: number; uses: number; ttl: number; expiresIn: number }
  | { do: 'approve'; permission: number; by: number | null; less: Limits; signed: boolean }
  | { do: 'deny'; permission: number; by: number | null }
  | { do: 'withdraw'; permission: number }
  | { do: 'change status'; by: number | null; person: number; status: 'active' | 'suspended' }
  | { do: 'change role'; by: number | null; person: number; role: string }
  | { do: 'remove'; by: number | null; person: number }
  | { do: 'invite'; role: string }
  | { do: 'join' }
  | { do: 'sign in' }
  | { do: 'change owner'; agent: number; person: number }
  | { do: 'edit policy'; rule: DraftRule }
  | { do: 'switch policy' }
  | { do: 'wait'; seconds: number }
  | { do: 'sweep' };

const pick = fc.nat(1_000);
const caller = fc.option(pick, { freq: 20 });
/** Members are changed by the account's token, or by one of them, who often may not. */
const manager = fc.option(pick, { freq: 2 });
const chosenRoles = fc.option(fc.subarray([...DECIDERS], { minLength: 1 }), { freq: 2 });
const chosenPeople = fc.option(fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 4 }), {
  freq: 2,
});
/** By how much less an approval grants than what is proposed; seldom it is more. */
const narrowing = fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, -1);
const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const act = <const D extends string, F extends object>(
  name: D,
  fields: { [K in keyof F]: fc.Arbitrary<F[K]> },
) => fc.record({ do: fc.constant(name), ...fields }) as fc.Arbitrary<{ do: D } & F>;

const step: fc.Arbitrary<Step> = fc.oneof(
  often(
    14,
    act('request', {
      agent: pick,
      limit: fc.integer({ min: 4, max: 9 }),
      uses: fc.integer({ min: 2, max: 5 }),
      ttl: fc.constantFrom(300, 900),
      expiresIn: fc.constantFrom(60, 600, 3_600, 3_600),
    }),
  ),
  often(
    40,
    act('approve', {
      permission: pick,
      by: caller,
      less: fc.record({ limit: narrowing, uses: narrowing, ttl: narrowing }),
      signed: fc.boolean(),
    }),
  ),
  often(4, act('deny', { permission: pick, by: caller })),
  often(2, act('withdraw', { permission: pick })),
  often(
    5,
    act('change status', {
      by: manager,
      person: pick,
      status: fc.constantFrom('active' as const, 'suspended' as const),
    }),
  ),
  often(
    4,
    act('change role', {
      by: manager,
      person: pick,
      role: fc.constantFrom(...ROLES, 'approver', 'admin'),
    }),
  ),
  often(1, act('remove', { by: manager, person: pick })),
  often(2, act('invite', { role: fc.constantFrom('admin', 'approver') })),
  often(3, act('join', {})),
  often(4, act('sign in', {})),
  often(4, act('change owner', { agent: pick, person: pick })),
  often(
    6,
    act('edit policy', {
      rule: fc.record({
        approvals: fc.constantFrom(1, 2, 2, 3),
        members: chosenPeople,
        roles: chosenRoles,
        allow_self: fc.boolean(),
        passkey: fc.boolean(),
        escalation: fc.option(
          fc
            .record({ after: fc.constantFrom(60, 600), members: chosenPeople, roles: chosenRoles })
            .filter(({ members, roles }) => members !== null || roles !== null),
        ),
      }),
    }),
  ),
  often(2, act('switch policy', {})),
  often(4, act('wait', { seconds: fc.constantFrom(1, 30, 60, 600) })),
  often(4, act('sweep', {})),
);

export const reviewWalks = fc.array(step, { minLength: 60, maxLength: 90, size: 'max' });

interface Person extends Reviewer {
  browser: Browser;
  /**
   * The user token, and the role in which it was made: its scopes never become more. Null once it
   * has ended.
   */
  token: { value: string; role: string } | null;
  invitation: string | null;
}

interface Limits {
  limit: number;
  uses: number;
  ttl: number;
}

interface Vote extends Limits {
  by: Person;
  decision: 'approve' | 'deny';
  signed: boolean;
  at: number;
}

interface Request {
  id: string;
  agent: Bot;
  asked: Limits;
  rule: Json | null;
  proposal: Limits;
  ownerThen: string | null;
  createdAt: number;
  expiresAt: number;
  escalatesAt: number | null;
  escalatedAt: number | null;
  status: 'pending' | 'approved' | 'denied' | 'expired';
  votes: Vote[];
  decidedBy: string | null;
}

interface Bot {
  agent: TestAgent;
  owner: string | null;
}

/** What walks begin with. */
interface Beginning {
  world: World;
  account: TestAccount;
  people: Person[];
  bots: Bot[];
  policy: string;
}

/**
 * Makes the account of all walks: people of every role that matters, two agents, and a review
 * policy.
 */
export async function beginWalks(world = new World()): Promise<Beginning> {
  const account = await world.account({ plan: 'pro' });
  const people: Person[] = [];
  for (const role of FIRST_PEOPLE) {
    const { id, token, browser } = await makeMember(account, role);
    const joined = { status: 'active', activeSince: world.now, invitation: null };
    people.push({ id, role, ...joined, browser, token: { value: token, role } });
  }
  const { body } = await account.must(201, 'POST', '/v1/policies', {
    ...{
      name: 'People decide',
      effect: 'review',
      actions: ['*'],
      resources: ['*'],
      review: { approvals: 2 },
    },
  });
  const bots = [await account.agent(), await account.agent()].map((agent) => ({
    agent,
    owner: null,
  }));
  return { world, account, people, bots, policy: body.id };
}

/**
 * A walk of the service beside a model of members, reviews and votes. The model predicts every
 * answer.
 */
class ReviewWalk {
  private readonly people: Person[];
  private readonly bots: Bot[];
  private readonly requests: Request[] = [];
  private rule: Json = {
    ...{
      approvals: 2,
      members: null,
      roles: null,
      allow_self: false,
      passkey: false,
      escalation: null,
    },
  };
  private isPolicyActive = true;

  constructor(private readonly start: Beginning) {
    this.people = start.people.map((person) => ({ ...person }));
    this.bots = start.bots.map((bot) => ({ ...bot }));
  }

  private get now(): number {
    return this.start.world.now;
  }

  async take(step: Step): Promise<void> {
    const { world, account } = this.start;
    world.advance(1);
    switch (step.do) {
      case 'request':
        return this.request(step);
      case 'approve':
      case 'deny':
        return this.decide(step);
      case 'withdraw':
        return this.withdraw(step.permission);
      case 'change status':
      case 'change role':
      case 'remove':
        return this.changePerson(step);
      case 'invite': {
        const body = { email: `${crypto.randomUUID()}@example.com`, role: step.role };
        const { body: made } = await account.must(201, 'POST', '/v1/members', body);
        const invited = { status: 'invited', activeSince: null, invitation: made.invitation.url };
        this.people.push({
          id: made.id,
          role: step.role,
          ...invited,
          browser: new Browser(world),
          token: null,
        });
        return;
      }
      case 'join':
        return this.join();
      case 'sign in': {
        const person = this.people.find(
          ({ status, token }) => status === 'active' && token === null,
        );
        if (!person) return;
        expect((await person.browser.signIn()).status).toBe(201);
        person.token = { value: await person.browser.makeToken(), role: person.role };
        return;
      }
      case 'change owner': {
        const [bot, person] = [choose(this.bots, step.agent), choose(this.people, step.person)];
        const answer = await account.call('PUT', `/v1/agents/${bot.agent.id}`, {
          owner_id: person.id,
        });
        const isActive = person.status === 'active';
        this.expectOutcome(answer, isActive ? '200' : '400 invalid_request');
        if (isActive) bot.owner = person.id;
        return;
      }
      case 'edit policy':
        return this.editPolicy(step.rule);
      case 'switch policy': {
        const switched = { is_active: !this.isPolicyActive };
        const answer = await account.call('PUT', `/v1/policies/${this.start.policy}`, switched);
        const isTaken = !switched.is_active || this.canReview(this.rule);
        this.expectOutcome(answer, isTaken ? '200' : '400 invalid_request');
        if (isTaken) this.isPolicyActive = switched.is_active;
        return;
      }
      case 'wait':
        return world.advance(step.seconds * 1_000);
      case 'sweep':
        await world.sweep();
        for (const request of this.requests.filter(({ status }) => status === 'pending')) {
          if (request.expiresAt <= this.now) request.status = 'expired';
          else if ((request.escalatesAt ?? this.now + 1) <= this.now)
            request.escalatedAt ??= this.now;
        }
    }
  }

  /** Compares every permission, the log and the activity records with the model. */
  async compare(): Promise<void> {
    const { account } = this.start;
    for (const request of this.requests) {
      const { body } = await account.must(200, 'GET', `/v1/permissions/${request.id}`);
      this.expectShown(body, request);
      const { agent } = request.agent;
      const seen = (await agent.must(200, 'GET', `/v1/permissions/${request.id}`)).body.review;
      const { approvals_required, escalates_at, short_of_reviewers } = body.review ?? {};
      expect(seen).toEqual(body.review && { approvals_required, escalates_at, short_of_reviewers });
    }
    const log = await account.log();
    for (const { id, status, rule, votes } of this.requests) {
      const isOwn = (entry: Json) =>
        entry.permission_request_id === id && entry.details.expired !== 'token';
      const [, ending, ...further] = log.filter(isOwn);
      expect(further).toEqual([]);
      expect(ending?.event_type).toBe(
        { pending: undefined, approved: 'approve', denied: 'deny', expired: 'expire' }[status],
      );
      const isListed = rule !== null || votes.some(({ signed }) => signed);
      const listed = votes.map(({ by, decision, signed }) => [by.id, decision, signed]);
      if (!ending) continue;
      expect(
        ending.details.votes?.map(({ by, decision, signed }: Json) => [by, decision, signed]),
      ).toEqual(isListed ? listed : undefined);
      expect(ending.details.review_policy_id).toBe(rule ? this.start.policy : undefined);
    }
    const records = async (action: string) =>
      (await account.must(200, 'GET', `/v1/activity?action=${action}&limit=100`)).body.data
        .map(({ actor, target }: Json) => [actor, target])
        .sort();
    const unsettling = this.requests
      .filter(({ rule }) => rule !== null)
      .flatMap(({ id, votes, status }) =>
        votes
          .slice(0, status === 'approved' || status === 'denied' ? -1 : undefined)
          .map(({ by }) => [by.id, id]),
      );
    expect(await records('permission.voted')).toEqual(unsettling.sort());
    const escalated = this.requests
      .filter(({ escalatedAt }) => escalatedAt !== null)
      .map(({ id }) => [null, id]);
    expect(await records('permission.escalated')).toEqual(escalated.sort());
  }

  private async request({
    agent,
    limit,
    uses,
    ttl,
    expiresIn,
  }: Step & { do: 'request' }): Promise<void> {
    const bot = choose(this.bots, agent);
    const body = {
      ...{ action: 'email.send', resource: 'mailbox:support', scope: { limit } },
      ...{ max_uses: uses, token_ttl: ttl, expires_in: expiresIn },
    };
    const { body: made } = await bot.agent.must(201, 'POST', '/v1/permissions', body);
    const rule = this.isPolicyActive ? this.rule : null;
    const asked = { limit, uses, ttl };
    const request: Request = {
      ...{
        id: made.id,
        agent: bot,
        asked,
        rule,
        proposal: asked,
        ownerThen: bot.owner,
        createdAt: this.now,
      },
      expiresAt: this.now + expiresIn * 1_000,
      escalatesAt: rule?.escalation ? this.now + rule.escalation.after * 1_000 : null,
      ...{ escalatedAt: null, status: 'pending', votes: [], decidedBy: null },
    };
    this.requests.push(request);
  }

  private async decide(step: Step & { do: 'approve' | 'deny' }): Promise<void> {
    if (this.requests.length === 0) return;
    // Mostly one that is pending, so that votes come together.
    const pending = this.requests
      .filter((request) => this.statusOf(request) === 'pending')
      .slice(-3);
    const request = choose(
      step.permission % 8 === 0 || pending.length === 0 ? this.requests : pending,
      step.permission,
    );
    const person = step.by === null ? null : choose(this.people, step.by);
    const signed = step.do === 'approve' && step.signed && person?.token != null;
    const base = request.rule ? request.proposal : request.asked;
    const granted =
      step.do === 'approve'
        ? {
            limit: base.limit - step.less.limit,
            uses: Math.max(1, base.uses - step.less.uses),
            ttl: Math.max(30, base.ttl - 10 * step.less.ttl),
          }
        : request.asked;
    const isWider =
      granted.limit > base.limit || granted.uses > base.uses || granted.ttl > base.ttl;
    const scope = step.do === 'approve' && isWider ? '400 scope_widened' : '200';
    const narrowed =
      step.do === 'approve'
        ? { scope: { limit: granted.limit }, max_uses: granted.uses, token_ttl: granted.ttl }
        : {};
    const refusal = this.refuseDecision(request, person, step) ?? scope;
    const send = (what: string, body: Json) =>
      this.start.world.call('POST', `/v1/permissions/${request.id}/${what}`, {
        token: this.tokenOf(person),
        body,
      });
    let body: Json = narrowed;
    if (signed) {
      const statement = await send('statement', { decision: 'approve', ...narrowed });
      this.expectOutcome(statement, refusal);
      if (statement.status !== 200) return;
      const assertion = await person.browser.authenticator.get(statement.body.options);
      body = { ...narrowed, assertion, signed_at: statement.body.statement.signed_at };
    }
    const answer = await send(step.do, body);
    this.expectOutcome(answer, refusal);
    if (answer.status !== 200) return;
    if (person)
      request.votes.push({ by: person, decision: step.do, ...granted, signed, at: this.now });
    if (step.do === 'approve') request.proposal = granted;
    const isLast = request.rule === null || this.countApprovals(request) >= request.rule.approvals;
    if (step.do === 'deny' || isLast) {
      request.status = step.do === 'deny' ? 'denied' : 'approved';
      request.decidedBy = person?.id ?? this.start.account.id;
    }
    this.expectShown(answer.body, request);
  }

  /** What the service has to answer to a decision, apart from its limits; null if it takes it. */
  private refuseDecision(
    request: Request,
    person: Person | null,
    step: Step & { do: 'approve' | 'deny' },
  ): string | null {
    const access = this.refuseAccess(person, DECIDERS);
    if (access) return access;
    if (this.statusOf(request) !== 'pending') return '409 not_pending';
    const { rule } = request;
    const isApproval = step.do === 'approve';
    if (rule) {
      if (!person) return '403 person_required';
      const facts = this.factsOf(request);
      const isOwner = facts.owners.includes(person.id);
      if (!isNamedReviewer(facts, person, this.now) && (isApproval || !isOwner))
        return '403 not_a_reviewer';
      if (isApproval && isOwner && !rule.allow_self) return '403 self_approval';
      if (isApproval && request.votes.some(({ by }) => by === person)) return '409 already_voted';
      if (isApproval && rule.passkey && !(step.signed && person.token))
        return '403 passkey_required';
    }
    return null;
  }

  private async withdraw(permission: number): Promise<void> {
    if (this.requests.length === 0) return;
    const request = choose(this.requests, permission);
    const answer = await request.agent.agent.call(
      'POST',
      `/v1/permissions/${request.id}/withdraw`,
      {},
    );
    const isPending = this.statusOf(request) === 'pending';
    this.expectOutcome(answer, isPending ? '200' : '409 not_pending');
    if (isPending) request.status = 'expired';
  }

  private async changePerson(
    step: Step & { do: 'change status' | 'change role' | 'remove' },
  ): Promise<void> {
    const caller = step.by === null ? null : choose(this.people, step.by);
    // Who is suspended comes back more often than others are suspended.
    const suspended = this.people.filter(({ status }) => status === 'suspended');
    const comesBack =
      step.do === 'change status' && step.status === 'active' && suspended.length > 0;
    const person = choose(comesBack ? suspended : this.people, step.person);
    const { world } = this.start;
    const body =
      step.do === 'change status'
        ? { status: step.status }
        : step.do === 'change role' && { role: step.role };
    const answer = await world.call(
      step.do === 'remove' ? 'DELETE' : 'PUT',
      `/v1/members/${person.id}`,
      {
        token: this.tokenOf(caller),
        ...(body && { body }),
      },
    );
    const refusal = this.refuseChange(caller, person, step);
    this.expectOutcome(answer, refusal ?? (step.do === 'remove' ? '204' : '200'));
    if (refusal || person.status === 'removed') return;
    const before = { ...person };
    if (step.do === 'remove')
      Object.assign(person, { status: 'removed', token: null, invitation: null });
    else if (step.do === 'change role') person.role = step.role;
    else person.status = step.status;
    if (person.status === 'suspended') person.token = null;
    if (person.status !== 'active') person.activeSince = null;
    else if (before.status !== 'active' || before.role !== person.role)
      person.activeSince = this.now;
  }

  private refuseChange(
    caller: Person | null,
    person: Person,
    step: Step & { do: 'change status' | 'change role' | 'remove' },
  ): string | null {
    const access = this.refuseAccess(caller, MANAGERS);
    if (access) return access;
    const isOwner = caller?.role === 'owner';
    if (
      !isOwner &&
      (person.role === 'owner' || (step.do === 'change role' && step.role === 'owner'))
    ) {
      return '403 insufficient_role';
    }
    if (step.do === 'remove' && person.status === 'removed') return null;
    if (person.status === 'removed') return '409 conflict';
    if (step.do === 'change status' && person.status === 'invited') return '409 conflict';
    const isActiveOwner = ({ role, status }: Person) => role === 'owner' && status === 'active';
    const staysOwner =
      (step.do === 'change role' && step.role === 'owner') ||
      (step.do === 'change status' && step.status === 'active');
    const others = this.people.filter((other) => other !== person && isActiveOwner(other));
    if (isActiveOwner(person) && !staysOwner && others.length === 0) return '409 last_owner';
    return null;
  }

  private async join(): Promise<void> {
    const person = this.people.find(({ status }) => status === 'invited');
    if (!person?.invitation) return;
    expect((await person.browser.join(person.invitation)).status).toBe(201);
    Object.assign(person, { status: 'active', activeSince: this.now, invitation: null });
    person.token = { value: await person.browser.makeToken(), role: person.role };
  }

  private async editPolicy({ escalation, ...draft }: DraftRule): Promise<void> {
    const named = (list: number[] | null) =>
      list?.map((i) => (this.people[i] as Person).id) ?? null;
    const rule = {
      ...{ ...draft, members: named(draft.members) },
      escalation: escalation && { ...escalation, members: named(escalation.members) },
    };
    const answer = await this.start.account.call('PUT', `/v1/policies/${this.start.policy}`, {
      review: rule,
    });
    const isTaken = this.canReview(rule);
    this.expectOutcome(answer, isTaken ? '200' : '400 invalid_request');
    if (isTaken) this.rule = rule;
  }

  /**
   * Whether a policy may have a rule: the people it names are here or invited, and it has enough
   * reviewers.
   */
  private canReview(rule: Json): boolean {
    const named: string[] = [...(rule.members ?? []), ...(rule.escalation?.members ?? [])];
    const isHere = ({ status }: Person) => status === 'active' || status === 'invited';
    const here = this.people.filter(isHere).map(({ id }) => id);
    return named.every((id) => here.includes(id)) && this.countReviewers(rule) >= rule.approvals;
  }

  /** How many people are reviewers by a rule, whoever owns an agent. */
  private countReviewers(rule: Json): number {
    const facts = { rule, createdAt: Number.POSITIVE_INFINITY, escalatesAt: null, owners: [] };
    return this.people.filter((person) => isNamedReviewer(facts, person, this.now)).length;
  }

  private countApprovals(request: Request): number {
    const approvals = request.votes.filter(({ decision }) => decision === 'approve');
    return approvals.filter(({ by }) => mayApprove(this.factsOf(request), by, this.now)).length;
  }

  private factsOf({ rule, createdAt, escalatesAt, ownerThen, agent }: Request) {
    return { rule, createdAt, escalatesAt, owners: [ownerThen, agent.owner] };
  }

  private statusOf({ status, expiresAt }: Request): Request['status'] {
    return status === 'pending' && expiresAt <= this.now ? 'expired' : status;
  }

  private tokenOf(person: Person | null): string {
    // A credential that has ended is as good as one that never was.
    return person
      ? (person.token?.value ?? 'csu_000000000000000000000000000000000000000a')
      : this.start.account.token;
  }

  private refuseAccess(person: Person | null, roles: string[]): string | null {
    if (!person) return null;
    if (!person.token) return '401 unauthorized';
    return roles.includes(person.role) && roles.includes(person.token.role)
      ? null
      : '403 insufficient_scope';
  }

  private expectOutcome(answer: Answer, expected: string): void {
    expect(`${answer.status} ${answer.body?.code ?? ''}`.trim()).toBe(expected);
  }

  /** Compares a permission as the service shows it to people with the model. */
  private expectShown(shown: Json, request: Request): void {
    const { rule, proposal, votes, asked } = request;
    const status = this.statusOf(request);
    const isApproved = status === 'approved';
    expect(shown.status).toBe(status);
    expect([shown.granted_scope, shown.token?.max_uses, shown.decided_by]).toEqual([
      isApproved ? { limit: proposal.limit } : null,
      isApproved ? proposal.uses : undefined,
      request.decidedBy,
    ]);
    const facts = this.factsOf(request);
    const time = (at: number | null) => at && new Date(at).toISOString();
    const field = ({ limit, uses, ttl }: Limits) => ({
      scope: { limit },
      token_ttl: ttl,
      max_uses: uses,
    });
    expect(shown.scope).toEqual({ limit: asked.limit });
    expect(shown.review).toEqual(
      rule && {
        policy_id: this.start.policy,
        ...{ approvals_required: rule.approvals, members: rule.members, roles: rule.roles },
        ...{ passkey: rule.passkey, allow_self: rule.allow_self, proposal: field(proposal) },
        ...{ escalates_at: time(request.escalatesAt), escalated_at: time(request.escalatedAt) },
        short_of_reviewers:
          status === 'pending' &&
          this.people.filter((person) => mayApprove(facts, person, this.now)).length <
            rule.approvals,
        votes: votes.map((vote) => ({
          ...{
            by: vote.by.id,
            name: null,
            decision: vote.decision,
            ...field(vote),
            reason: null,
            via: 'api',
          },
          ...{ signed: vote.signed, at: time(vote.at) },
        })),
      },
    );
  }
}

function choose<T>(list: T[], number: number): T {
  return list[number % list.length] as T;
}

/** Starts at the beginning again: for a walk after another one. */
export async function returnTo(
  beginning: Beginning,
  time: number,
  restore: () => Promise<void>,
): Promise<ReviewWalk> {
  await env.DB.exec('delete from _approvals');
  await restore();
  beginning.world.now = time;
  return new ReviewWalk(beginning);
}
