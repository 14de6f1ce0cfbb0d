import { certaintyOf } from '../client.ts';
import type { KnownAgent, KnownPermission, KnownSeries, Step } from '../memory.ts';
import type { Actor } from './actor.ts';
import { SUMMED, TENTHS } from './budgets.ts';
import { markOfAct, termsOf } from './series-terms.ts';

const ACTIONS = ['mail.send', 'mail.send', 'money.move', 'auto.approve', 'auto.deny'];
/** Actions choose among this many of the newest permissions. */
const RECENT = 40;

interface Answered {
  id: string;
  status: string;
  token: { value?: string } | null;
  input_digest: string | null;
}

/** Text that CSV has to quote and that no single-byte encoding can represent. */
const AWKWARD = ', "é" 📦';

/** The resource of a request, which contains its mark. */
function resourceOf(mark: string): string {
  return `box:${mark}${AWKWARD}`;
}

/** The mark of a request, which a request of a series has in its scope. */
export function markOfRequest({ resource, scope }: Record<string, unknown>): string {
  const mark = markOfAct(scope);
  return mark ?? String(resource).replace('box:', '').replace(AWKWARD, '');
}

/** Has an agent request a permission. */
export async function request(actor: Actor): Promise<void> {
  const { memory, random } = actor;
  const agents = memory.agents.filter(({ alive }) => alive === 'yes');
  if (agents.length === 0) return;
  const agent = random.pick(agents);
  const mark = memory.newMark();
  const reportsOutcome = random.chance(0.5);
  const body = {
    action: random.pick(ACTIONS),
    resource: resourceOf(mark),
    scope: { [SUMMED]: random.below(1_000) / TENTHS, names: ['a', 'b'] },
    ...(random.chance(0.2) && { expires_in: 60 }),
    ...(random.chance(0.3) && { token_ttl: 30 }),
    ...(reportsOutcome ? { reports_outcome: true } : { max_uses: 1 + random.below(4) }),
    ...(random.chance(0.5) && { input: { mark }, preview: { title: mark }, external_id: mark }),
  };
  await sendRequest(actor, { agent, mark, body, series: null });
}

/** Sends a request, and remembers it and what was answered. */
export async function sendRequest(
  { memory, random }: Actor,
  {
    agent,
    mark,
    body,
    series,
  }: { agent: KnownAgent; mark: string; body: object; series: KnownSeries | null },
): Promise<void> {
  const step: Step = {
    event: 'request',
    agent,
    certainty: 'lost',
    sentAt: Date.now(),
    answeredAt: 0,
  };
  memory.steps.set(mark, step);
  const { client } = agent;
  const outcome = random.chance(0.4)
    ? await client.insist<Answered>('POST', '/v1/permissions', body, random.chance(0.2))
    : await client.ask<Answered>('POST', '/v1/permissions', body);
  step.certainty = certaintyOf(outcome);
  step.answeredAt = Date.now();
  if (!outcome || step.certainty !== 'done') return;
  const { id, status, token, input_digest: digest } = outcome.body;
  Object.assign(step, { permission: id, decision: status });
  memory.permissions.push({
    id,
    agent,
    status,
    digest,
    reportsOutcome: 'reports_outcome' in body,
    series,
    user: null,
    reports: [],
    ...(token?.value && { token: token.value }),
  });
}

/** Approves or denies a request, or does both concurrently. */
export async function decide(actor: Actor): Promise<void> {
  const permission = pickRecent(actor, ({ status }) => status === 'pending');
  if (!permission) return;
  const events = actor.random.pick([
    ['approve'],
    ['approve'],
    ['deny'],
    ['approve', 'deny'],
  ] as const);
  await Promise.all(events.map((event) => decideAs(actor, permission, event)));
}

/** Approves or denies a request, and remembers what was answered. */
export async function decideAs(
  { memory, random }: Actor,
  permission: KnownPermission,
  event: 'approve' | 'deny',
) {
  const mark = memory.newMark();
  const step: Step = {
    event,
    agent: permission.agent,
    certainty: 'lost',
    sentAt: Date.now(),
    answeredAt: 0,
    permission: permission.id,
  };
  memory.steps.set(mark, step);
  const path = `/v1/permissions/${permission.id}/${event}`;
  const series =
    event === 'approve' && memory.giver && random.chance(0.8) ? permission.series : null;
  const terms = series && termsOf(series);
  const body = { reason: mark, ...(terms && { series: terms }) };
  const client = series ? (memory.giver?.client ?? memory.user) : memory.user;
  if (series) series.given = 'lost';
  const outcome = random.chance(0.4)
    ? await client.insist('POST', path, body)
    : await client.ask('POST', path, body);
  step.certainty = certaintyOf(outcome);
  step.answeredAt = Date.now();
  if (series) series.given = step.certainty;
  if (step.certainty === 'done') permission.status = event === 'approve' ? 'approved' : 'denied';
  // The request may have expired: no further decision is tried.
  if (step.certainty === 'refused' && permission.status === 'pending')
    permission.status = 'unknown';
}

/** Uses a token, as its agent or as the account that guards the resource. */
export async function useToken(actor: Actor): Promise<void> {
  const { memory, random } = actor;
  const permission = pickRecent(actor, ({ status }) => status === 'approved');
  if (!permission) return;
  const token = await readToken(permission);
  if (!token) return;
  const client = random.chance(0.5) ? memory.user : permission.agent.client;
  const use = { token, ...(permission.digest !== null && { input_digest: permission.digest }) };
  const uses = memory.usesOf(permission.id);
  const outcome = random.chance(0.3)
    ? await client.insist<{ uses: number }>('POST', '/v1/tokens/use', use)
    : await client.ask<{ uses: number }>('POST', '/v1/tokens/use', use);
  if (outcome === null) uses.lost += 1;
  else if (outcome.status === 200) {
    uses.answered.push(outcome.body.uses);
    permission.user = client;
  } else permission.status = 'over';
}

async function readToken(permission: KnownPermission): Promise<string | undefined> {
  if (permission.token) return permission.token;
  const answer = await permission.agent.client.ask<Answered>(
    'GET',
    `/v1/permissions/${permission.id}`,
  );
  if (answer && !answer.body.token?.value) permission.status = 'over';
  const value = answer?.body.token?.value;
  if (value) permission.token = value;
  return value;
}

const OUTCOMES = ['succeeded', 'failed', 'unknown'];

/** Reports what happened after a use, or two different outcomes concurrently. */
export async function reportOutcome(actor: Actor): Promise<void> {
  const { random } = actor;
  const permission = pickRecent(
    actor,
    ({ reportsOutcome, user }) => reportsOutcome && user !== null,
  );
  if (!permission) return;
  const reported = permission.reports.at(-1)?.status;
  const first = reported && random.chance(0.3) ? reported : random.pick(OUTCOMES);
  const statuses = random.chance(0.3) ? [first, random.pick(OUTCOMES)] : [first];
  await Promise.all(
    statuses.map(async (status) => {
      const report: KnownPermission['reports'][number] = { status, certainty: 'lost' };
      permission.reports.push(report);
      const path = `/v1/permissions/${permission.id}/outcome`;
      const outcome = (await permission.user?.ask('POST', path, { status })) ?? null;
      report.certainty = certaintyOf(outcome);
    }),
  );
}

/** Revokes a token. The answer does not say whether the token was still active. */
export async function revoke(actor: Actor): Promise<void> {
  const { memory } = actor;
  const permission = pickRecent(actor, ({ status }) => status === 'approved');
  if (!permission) return;
  const mark = memory.newMark();
  const step: Step = {
    event: 'revoke',
    agent: permission.agent,
    certainty: 'lost',
    sentAt: Date.now(),
    answeredAt: 0,
    permission: permission.id,
  };
  memory.steps.set(mark, step);
  const body = { token_id: permission.id.replace('perm_', 'token_'), reason: mark };
  const outcome = await memory.user.ask('POST', '/v1/tokens/revoke', body);
  step.certainty = certaintyOf(outcome);
  step.answeredAt = Date.now();
  if (step.certainty === 'done') permission.status = 'over';
}

function pickRecent({ memory, random }: Actor, isWanted: (permission: KnownPermission) => boolean) {
  const wanted = memory.permissions.slice(-RECENT).filter(isWanted);
  return wanted.length === 0 ? undefined : random.pick(wanted);
}
