import { makeMember, type TestMember } from './members';
import { type Answer, type Json, type TestAccount, type TestAgent, World } from './world';

/** Members of a scene: a test names no more than it asked for. */
export type People = [TestMember, TestMember, TestMember, TestMember, ...TestMember[]];

/**
 * An account with a review policy for every request, members of some roles, and an agent that
 * nobody owns.
 */
export interface ReviewScene {
  world: World;
  account: TestAccount;
  agent: TestAgent;
  policy: Json;
  /** In the order of the roles. */
  people: People;
}

/**
 * Makes members of some roles, then a policy that sends every request to reviewers, by a rule that
 * may depend on the members. Time passes before the first request, so that all of them are
 * reviewers of it.
 */
export async function makeReview(
  rule: Json | ((people: People) => Json) = {},
  roles: string[] = ['approver', 'approver', 'approver'],
  { world = new World(), ...policy }: { world?: World } & Json = {},
): Promise<ReviewScene> {
  const account = await world.account();
  const people = [] as unknown as People;
  for (const role of roles) people.push(await makeMember(account, role));
  const review = typeof rule === 'function' ? rule(people) : rule;
  const { body } = await account.must(201, 'POST', '/v1/policies', {
    name: 'People decide',
    effect: 'review',
    actions: ['*'],
    resources: ['*'],
    review,
    ...policy,
  });
  world.advance(1);
  return { world, account, agent: await account.agent(), policy: body, people };
}

/** Makes a review policy for one action, and a permission that a member approves under it. */
export async function addReview(
  account: TestAccount,
  agent: TestAgent,
  member: TestMember,
): Promise<void> {
  const policy = { name: 'Reviewed', effect: 'review', actions: ['review.me'], resources: ['*'] };
  await account.must(201, 'POST', '/v1/policies', policy);
  const { id } = await agent.request({ action: 'review.me' });
  await approve(account, member, id);
}

/** Approves a permission with a member's credential. */
export function approve(
  { world }: Pick<ReviewScene, 'world'>,
  member: TestMember,
  id: string,
  body: Json = {},
) {
  return world.call('POST', `/v1/permissions/${id}/approve`, { token: member.token, body });
}

/** Denies a permission with a member's credential. */
export function deny(
  { world }: Pick<ReviewScene, 'world'>,
  member: TestMember,
  id: string,
  body: Json = {},
) {
  return world.call('POST', `/v1/permissions/${id}/deny`, { token: member.token, body });
}

/**
 * Signs a decision with the newest passkey of a member: returns the fields to approve or deny with.
 */
export async function sign(
  { world }: Pick<ReviewScene, 'world'>,
  member: TestMember,
  id: string,
  decision: Json,
) {
  const { body } = await world.must(200, 'POST', `/v1/permissions/${id}/statement`, {
    token: member.token,
    body: decision,
  });
  const { decision: _, ...fields } = decision;
  const assertion = await member.browser.authenticator.get(body.options);
  return { ...fields, signed_at: body.statement.signed_at, assertion };
}

/** The status and code of a refusal. */
export function refusal({ status, body }: Answer): [number, string] {
  return [status, body.code];
}
