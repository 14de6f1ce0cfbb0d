import { setTimeout as sleep } from 'node:timers/promises';
import type { Actor } from './actor.ts';

/** Plans of which all but the last keep the old entries. */
const PLANS = ['pro', 'team', 'enterprise', 'free'];
const KEPT_DAYS = [2_557, 38, 34, 30, 26, 22, 18, 14];

/** Has the operator change the plan or the retention of an account. */
export async function changeAccount({ memory, random, operator }: Actor): Promise<void> {
  const { traits, id } = memory;
  const path = `/v1/admin/users/${id}`;
  if (traits.isOld && random.chance(0.5)) {
    const body = { plan: 'enterprise', audit_retention_days: random.pick(KEPT_DAYS) };
    await operator.ask('PATCH', path, body);
  } else if (traits.isOld) {
    await operator.ask('PATCH', path, { plan: random.pick(PLANS) });
  } else if (traits.changesPlan) {
    await operator.ask('PATCH', path, { plan: random.pick(['pro', 'team', 'enterprise']) });
  }
}

/** Reads a random resource of the account, or its newest head. */
export async function read({ memory, random }: Actor): Promise<void> {
  if (random.chance(0.3)) {
    const head = await memory.user.ask<{ tree_size: number; note: string }>(
      'GET',
      '/v1/audit/checkpoint',
    );
    if (head?.status === 200) memory.checkpoints.set(head.body.tree_size, head.body.note);
    return;
  }
  const paths = [
    '/v1/agents',
    '/v1/audit?limit=100',
    '/v1/permissions?status=pending',
    '/v1/audit/export',
    '/v1/activity',
    '/v1/webhooks',
    '/v1/me',
    ...memory.agents
      .filter(({ alive }) => alive === 'yes')
      .map(({ id }) => `/v1/agents/${id}/stats?period=2h`),
  ];
  await memory.user.ask('GET', random.pick(paths));
}

/** The longest time for which an account is stopped, in milliseconds. */
const LONGEST_STOP = 300;

/** Stops the account, and resumes it after a moment. */
export async function stopForAMoment({ memory, random }: Actor): Promise<void> {
  await memory.user.ask('POST', '/v1/me/stop', { reason: memory.newMark() });
  await sleep(random.below(LONGEST_STOP));
  await memory.user.repeat('POST', '/v1/me/resume');
}
