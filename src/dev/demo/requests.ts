import type { Api } from '../api.ts';
import { type DemoRequest, ROUNDS } from './cast.ts';
import type { Actor, Page, Permission, Request } from './types.ts';

/** All agents concurrently request the permissions for their duties. */
export async function askForPermissions(actors: Actor[]): Promise<Request[]> {
  const asked = await Promise.all(
    actors.map(async (actor) => {
      const requests: Request[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        for (const duty of actor.role.duties) requests.push(await ask(actor, duty, round));
      }
      return requests;
    }),
  );
  return asked.flat();
}

async function ask(actor: Actor, duty: DemoRequest, round: number): Promise<Request> {
  const permission = await actor.api.call<Permission>('POST', '/v1/permissions', {
    action: duty.action,
    resource: pick(duty.resources, round),
    scope: duty.scope,
    reason: duty.reason,
    max_uses: duty.uses,
  });
  const [verdict, remark] = pick(duty.verdicts, round);
  return { actor, duty, permission, verdict, remark };
}

function pick<T>(choices: T[], round: number): T {
  return choices[round % choices.length] as T;
}

/** The number of decisions of each kind. */
export interface Decisions {
  approved: number;
  narrowed: number;
  denied: number;
  waiting: number;
}

/** The user goes through each agent's pending requests, page by page, and decides most of them. */
export async function decide(user: Api, actors: Actor[], requests: Request[]): Promise<Decisions> {
  const decisions: Decisions = { approved: 0, narrowed: 0, denied: 0, waiting: 0 };
  const byId = new Map(requests.map((request) => [request.permission.id, request]));
  await Promise.all(
    actors.map(async (actor) => {
      let cursor: string | null = null;
      do {
        const page: Page<Permission> = await user.call(
          'GET',
          `/v1/permissions?status=pending&agent_id=${actor.id}${cursor ? `&cursor=${cursor}` : ''}`,
        );
        for (const { id } of page.data) {
          const request = byId.get(id);
          if (request) decisions[await decideOne(user, request)]++;
        }
        cursor = page.next_cursor;
      } while (cursor);
    }),
  );
  return decisions;
}

async function decideOne(user: Api, request: Request): Promise<keyof Decisions> {
  const { verdict, remark, permission } = request;
  if (verdict === 'leave') return 'waiting';
  const call = verdict === 'deny' ? 'deny' : 'approve';
  const narrowed = typeof verdict === 'object';
  request.permission = await user.call('POST', `/v1/permissions/${permission.id}/${call}`, {
    reason: remark,
    ...(narrowed && { scope: verdict.narrow }),
  });
  if (request.permission.status === 'denied') return 'denied';
  return narrowed ? 'narrowed' : 'approved';
}
