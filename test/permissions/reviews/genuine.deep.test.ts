import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { encodeUserHandle } from '../../../src/identity/passkeys/registration';
import { type Id, idBytes, type Prefix } from '../../../src/lib/typeid';
import { makeMember, type TestMember } from '../../support/members';
import { approve, deny, makeReview, type ReviewScene, refusal, sign } from '../../support/reviews';
import { type Json, World } from '../../support/world';

// An attacker who can write to the database, but does not have ROOT_SECRET.

const TWO_SIGN = { approvals: 2, passkey: true };

/** A scene in an account that is not the first one of its database. */
async function makeScene(rule: Json, roles?: string[]): Promise<ReviewScene> {
  const world = new World();
  const other = await makeReview({}, ['approver'], { world });
  await approve(other, other.people[0], (await other.agent.request()).id);
  return makeReview(rule, roles, { world });
}

function attack(sql: string, ...values: unknown[]): Promise<D1Result> {
  return env.DB.prepare(sql)
    .bind(...values)
    .run();
}

function bytesOf(prefix: Prefix, id: string): Uint8Array {
  expect(id.startsWith(`${prefix}_`)).toBe(true);
  return idBytes(id as Id<Prefix>);
}

/** Inserts an unsigned approval of a member. */
function insertVote(member: TestMember, permission: string): Promise<D1Result> {
  return attack(
    `insert into votes (account, permission, ordinal, member, decision, scope, token_ttl, max_uses, via, created_at)
      select account, id, 1 + (select count(*) from votes where permission = permissions.id), ?2, 0, scope, token_ttl,
        max_uses, 0, created_at
      from permissions where id = ?1`,
    bytesOf('perm', permission),
    bytesOf('member', member.id),
  );
}

async function approveSigned(scene: ReviewScene, member: TestMember, id: string) {
  return approve(scene, member, id, await sign(scene, member, id, { decision: 'approve' }));
}

async function statusOf({ account }: ReviewScene, id: string): Promise<string> {
  return (await account.must(200, 'GET', `/v1/permissions/${id}`)).body.status;
}

/** The voters in the entry that ended a request. */
async function settledBy({ account }: ReviewScene, id: string): Promise<string[]> {
  const { body } = await account.must(
    200,
    'GET',
    `/v1/audit?permission_id=${id}&event_type=approve`,
  );
  expect(body.data).toHaveLength(1);
  return body.data[0].details.votes.map(({ by }: Json) => by);
}

describe('a vote that was inserted', () => {
  it('does not count beside a signed one where two have to sign', async () => {
    const scene = await makeScene(TWO_SIGN);
    const [forged, second, third] = scene.people;
    const { id } = await scene.agent.request();
    await insertVote(forged, id);
    const { body } = await approveSigned(scene, second, id);
    expect(body).toMatchObject({ status: 'pending', token: null });
    expect(await statusOf(scene, id)).toBe('pending');
    expect((await approveSigned(scene, third, id)).body.status).toBe('approved');
    expect(await settledBy(scene, id)).toEqual([second.id, third.id]);
  });

  it('does not keep the person from voting whose vote it pretends to be', async () => {
    const scene = await makeScene({ approvals: 2 });
    const [forged, second] = scene.people;
    const { id } = await scene.agent.request();
    await insertVote(forged, id);
    expect((await approve(scene, forged, id)).body.status).toBe('pending');
    expect((await approve(scene, second, id)).body.status).toBe('approved');
    expect(await settledBy(scene, id)).toEqual([forged.id, second.id]);
  });

  it('does not count where nobody has to sign', async () => {
    const scene = await makeScene({ approvals: 2 });
    const { id } = await scene.agent.request();
    await insertVote(scene.people[0], id);
    expect((await approve(scene, scene.people[1], id)).body.status).toBe('pending');
  });

  it.each([
    ['unsigned', { approvals: 2 }, approve],
    ['signed', TWO_SIGN, approveSigned],
  ] as const)(
    'as a copy of an %s one on another permission does not count',
    async (_, rule, vote) => {
      const scene = await makeScene(rule);
      const [first, second] = scene.people;
      const [source, target] = [await scene.agent.request(), await scene.agent.request()];
      expect((await vote(scene, first, source.id)).body.status).toBe('pending');
      await attack(
        `insert into votes select account, ?2, ordinal, member, decision, scope, token_ttl, max_uses, series,
        reason, via, signature, created_at, mac from votes where permission = ?1`,
        bytesOf('perm', source.id),
        bytesOf('perm', target.id),
      );
      expect((await vote(scene, second, target.id)).body.status).toBe('pending');
      // The original counts.
      expect((await vote(scene, second, source.id)).body.status).toBe('approved');
    },
  );

  it('does not stand in a denial either', async () => {
    const scene = await makeScene(TWO_SIGN);
    const { id } = await scene.agent.request();
    await insertVote(scene.people[0], id);
    const { body } = await deny(scene, scene.people[1], id);
    expect(body.status).toBe('denied');
    const { data } = (
      await scene.account.must(200, 'GET', `/v1/audit?permission_id=${id}&event_type=deny`)
    ).body;
    expect(data[0].details.votes.map(({ by }: Json) => by)).toEqual([scene.people[1].id]);
  });
});

describe('a vote that was changed', () => {
  it.each([
    ['the member', 'member = ?2'],
    ['the decision', 'decision = 1'],
    ['the limits', "scope = '{}'"],
    ['the lifetime', 'token_ttl = token_ttl - 1'],
    ['the number of uses', 'max_uses = max_uses + 1'],
    ['the reason', "reason = 'changed'"],
    ['the channel', 'via = 1'],
    ['the time', 'created_at = created_at - 1'],
    ['its number', 'ordinal = 3'],
    ['a MAC that is missing', 'mac = null'],
  ])('does not count: %s', async (_, change) => {
    const scene = await makeScene({ approvals: 2 });
    const [first, second, third] = scene.people;
    const { id } = await scene.agent.request({ scope: { n: 9 } });
    await approve(scene, first, id, { scope: { n: 8 } });
    const other = bytesOf('member', third.id);
    await attack(
      `update votes set ${change} where permission = ?1 and ?2 is not null`,
      bytesOf('perm', id),
      other,
    );
    expect((await approve(scene, second, id)).body.status).not.toBe('approved');
    expect(await statusOf(scene, id)).toBe('pending');
  });

  it.each([
    ['the signature is taken away', 'signature = null'],
    ['the signed reason', "reason = 'changed'"],
    ['the signed limits', 'max_uses = max_uses + 1'],
    ['the passkey', "signature = json_set(signature, '$.credential_id', 'AAAA')"],
    ['the signature', "signature = json_set(signature, '$.signature', 'AAAA')"],
  ])('does not count where two have to sign: %s', async (_, change) => {
    const scene = await makeScene(TWO_SIGN);
    const [first, second] = scene.people;
    const { id } = await scene.agent.request();
    await approveSigned(scene, first, id);
    await attack(`update votes set ${change} where permission = ?`, bytesOf('perm', id));
    expect((await approveSigned(scene, second, id)).body.status).toBe('pending');
  });
});

describe('a request that was changed in the database', () => {
  let scene: ReviewScene;
  let id: string;

  beforeEach(async () => {
    scene = await makeScene(TWO_SIGN);
    ({ id } = await scene.agent.request({ scope: { n: 1 }, max_uses: 1 }));
    await approveSigned(scene, scene.people[0], id);
  });

  it.each([
    ['fewer approvals', "update reviews set rule = json_set(rule, '$.approvals', 1)"],
    ['no passkey', "update reviews set rule = json_set(rule, '$.passkey', json('false'))"],
    [
      'approval of one’s own agent',
      "update reviews set rule = json_set(rule, '$.allow_self', json('true'))",
    ],
    [
      'other reviewers',
      "update reviews set rule = json_set(rule, '$.roles', json('[0, 1, 2, 3]'))",
    ],
    ['another owner', 'update reviews set owner = randomblob(16)'],
    ['an earlier escalation', 'update reviews set escalates_at = 1'],
    ['a wider proposal', "update reviews set proposed_scope = '{}'"],
    ['a proposal of more uses', 'update reviews set proposed_max_uses = 9'],
    ['no review', 'delete from reviews'],
    ['another scope', `update permissions set scope = '{"n":2}'`],
    ['another action', "update permissions set action = 'email.delete'"],
    ['another resource', "update permissions set resource = 'mailbox:all'"],
    ['another reason', "update permissions set reason = 'harmless'"],
    ['more time', 'update permissions set expires_at = expires_at + 1'],
    ['no MAC', 'update permissions set mac = null'],
    ['a MAC of another permission', 'update permissions set mac = randomblob(32)'],
  ])('cannot be approved with %s, but denied', async (_, change) => {
    await attack(`${change} where id = ?`, bytesOf('perm', id));
    const [, second] = scene.people;
    const body = { decision: 'approve' };
    const path = `/v1/permissions/${id}/statement`;
    const statement = await scene.world.call('POST', path, { token: second.token, body });
    expect(refusal(statement)).toEqual([409, 'conflict']);
    expect(statement.body.detail).toContain('Deny it, and let the agent ask again.');
    expect(refusal(await approve(scene, second, id))).toEqual([409, 'conflict']);
    expect(await statusOf(scene, id)).toBe('pending');
    expect((await deny(scene, second, id)).status).toBe(200);
  });

  it('cannot be approved with the account’s own token once its review is deleted and its MAC with it', async () => {
    await attack('delete from reviews where id = ?', bytesOf('perm', id));
    await attack('delete from votes where permission = ?', bytesOf('perm', id));
    const approval = () => scene.account.call('POST', `/v1/permissions/${id}/approve`);
    expect(refusal(await approval())).toEqual([409, 'conflict']);
    await attack('update permissions set mac = null where id = ?', bytesOf('perm', id));
    expect(refusal(await approval())).toEqual([409, 'conflict']);
  });

  it('is approved if nothing was changed', async () => {
    expect((await approveSigned(scene, scene.people[1], id)).body.status).toBe('approved');
  });
});

it('the entry of a request has the rule by which it is reviewed', async () => {
  const scene = await makeScene({ ...TWO_SIGN, roles: ['approver'] });
  const { id } = await scene.agent.request();
  await scene.account.must(200, 'PUT', `/v1/policies/${scene.policy.id}`, {
    review: { approvals: 1 },
  });
  const { data } = (await scene.account.must(200, 'GET', `/v1/audit?permission_id=${id}`)).body;
  expect(data[0].details).toMatchObject({
    review_policy_id: scene.policy.id,
    review: {
      ...TWO_SIGN,
      members: null,
      roles: ['approver'],
      allow_self: false,
      escalation: null,
    },
  });
});

describe('a passkey', () => {
  async function makePeople() {
    const scene = await makeScene({}, ['owner', 'auditor', 'approver']);
    const [owner, auditor] = scene.people;
    const shard = '00';
    const account = scene.account.id as Id<'user'>;
    const userHandle = encodeUserHandle({ shard, account, member: owner.id as Id<'member'> });
    return {
      scene,
      owner,
      auditor,
      userHandle: userHandle.toBase64({ alphabet: 'base64url', omitPadding: true }),
    };
  }

  it('that was inserted for another member signs nobody in', async () => {
    const { owner, auditor, userHandle } = await makePeople();
    expect((await auditor.browser.signIn()).status).toBe(201);
    await attack(
      'update passkeys set member = ?2 where member = ?1',
      bytesOf('member', auditor.id),
      bytesOf('member', owner.id),
    );
    expect((await auditor.browser.signIn({ userHandle })).status).toBe(401);
    expect((await owner.browser.signIn()).status).toBe(201);
  });

  it.each([
    ['without a MAC', 'mac = null'],
    ['with another key', 'public_key = (select public_key from passkeys where member = ?2)'],
    ['with the MAC of another', 'mac = (select mac from passkeys where member = ?2)'],
    ['added at another time', 'added_at = added_at - 1'],
    ['with another first counter', 'first_counter = first_counter + 1'],
    ['without its first counter', 'first_counter = null'],
  ])('%s signs nobody in, and signs no decision', async (_, change) => {
    const { scene, owner, auditor } = await makePeople();
    const [, , voter] = scene.people;
    const { id } = await scene.agent.request();
    await attack(
      `update passkeys set ${change} where member = ?1 and ?2 is not null`,
      bytesOf('member', (voter as TestMember).id),
      bytesOf('member', auditor.id),
    );
    expect((await (voter as TestMember).browser.signIn()).status).toBe(401);
    expect(refusal(await approveSigned(scene, voter as TestMember, id))).toEqual([
      400,
      'invalid_assertion',
    ]);
    expect((await owner.browser.signIn()).status).toBe(201);
  });

  it('renews its MAC when it signs in while the old and the new root secret stand', async () => {
    const { scene, owner, auditor } = await makePeople();
    const { world } = scene;
    const old = world.env.ROOT_SECRET;
    const newest = btoa('another secret of thirty-two by.');
    world.restart({ ROOT_SECRET: `${newest},${old}` });
    expect((await owner.browser.signIn()).status).toBe(201);
    world.restart({ ROOT_SECRET: newest });
    expect((await owner.browser.signIn()).status).toBe(201);
    expect((await auditor.browser.signIn()).status).toBe(401);
  });

  it('of somebody who joins later than another account’s people works as theirs do', async () => {
    const { scene } = await makePeople();
    const late = await makeMember(scene.account, 'approver');
    expect((await late.browser.signIn()).status).toBe(201);
  });
});
