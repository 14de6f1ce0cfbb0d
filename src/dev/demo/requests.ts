import type { Countersign } from '../../client/countersign.ts';
import { type RequestTemplate, ROUNDS } from './cast.ts';
import type { Actor, PlannedRequest } from './types.ts';

/** Makes all requests of all agents, the agents at the same time. */
export async function askForPermissions(actors: Actor[]): Promise<PlannedRequest[]> {
  const asked = await Promise.all(
    actors.map(async (actor) => {
      const requests: PlannedRequest[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        for (const template of actor.role.templates)
          requests.push(await ask(actor, template, round));
      }
      return requests;
    }),
  );
  return asked.flat();
}

async function ask(
  actor: Actor,
  template: RequestTemplate,
  round: number,
): Promise<PlannedRequest> {
  const resource = pick(template.resources, round);
  const permission = await actor.api.requestPermission({
    action: template.action,
    resource,
    preview: { title: template.reason, fields: [{ label: 'Resource', value: resource }] },
    scope: template.scope,
    reason: template.reason,
    max_uses: template.uses,
  });
  const [verdict, remark] = pick(template.verdicts, round);
  return { actor, template, permission, verdict, remark };
}

function pick<T>(choices: T[], round: number): T {
  return choices[round % choices.length] as T;
}

/** The number of decisions of each kind. */
interface Decisions {
  approved: number;
  narrowed: number;
  denied: number;
  waiting: number;
}

/** Decides the agents' pending requests as planned, as the user. */
export async function decideRequests(
  user: Countersign,
  actors: Actor[],
  requests: PlannedRequest[],
): Promise<Decisions> {
  const decisions: Decisions = { approved: 0, narrowed: 0, denied: 0, waiting: 0 };
  const byId = new Map(requests.map((request) => [request.permission.id, request]));
  await Promise.all(
    actors.map(async (actor) => {
      const filters = { status: 'pending', agent_id: actor.id } as const;
      for await (const { id } of user.listPermissions(filters)) {
        const request = byId.get(id);
        if (request) decisions[await decideOne(user, request)]++;
      }
    }),
  );
  return decisions;
}

async function decideOne(user: Countersign, request: PlannedRequest): Promise<keyof Decisions> {
  const { verdict, remark, permission } = request;
  if (verdict === 'leave') return 'waiting';
  if (verdict === 'deny') {
    request.permission = await user.denyPermission(permission.id, { reason: remark });
    return 'denied';
  }
  const narrower = typeof verdict === 'object' ? { scope: verdict.narrow } : {};
  request.permission = await user.approvePermission(permission.id, { reason: remark, ...narrower });
  return typeof verdict === 'object' ? 'narrowed' : 'approved';
}
