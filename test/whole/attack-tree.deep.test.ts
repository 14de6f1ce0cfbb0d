/*
 * The attack tree of one goal: to decide a request as another person, or to have a decision count for one. Each leaf says
 * what the attacker tries, and fails. Leaves with a file name are tested there.
 *
 * 1. Invitations: to become a person who may decide
 *    - uses an invitation twice, or one that is replaced, withdrawn or expired: console/sign-in
 *    - invites an existing member again, to get at the identity: accounts/members/members
 * 2. User tokens: to have one of somebody else, or one that may do more
 *    - grants itself scopes, reads or deletes the tokens of others: accounts/tokens, accounts/members/members
 *    - decides with a token that ends while the request is in flight: identity/credentials-in-flight
 *    - decides with the account's own token: permissions/reviews/votes
 * 3. Agents' keys: the agent decides its own request
 *    - approves or denies: permissions/decide
 * 4. Sessions: to act in the console as somebody else
 *    - uses one without its CSRF token, from another site, or after it ended: console/sign-in
 *    - signs in with a user token to exceed it, or acts after the token was deleted: console/tokens
 * 5. Passkeys: to sign as somebody else
 *    - changes anything of a signed decision, or sends it elsewhere: permissions/reviews/signature
 *    - answers the challenge of somebody else: console/sign-in
 * 6. Policies: to change who has to decide
 *    - edits or deletes the policy of a pending request: permissions/reviews/votes
 * 7. Owner changes: to approve what the own agent asks for
 *    - approves as the owner at the request, or as the one now: permissions/reviews/votes, permissions/reviews/races
 * 8. Operator calls
 * 9. Roles: to become a reviewer in time
 *    - calls what the role does not allow: accounts/members/roles
 *    - gets the role after the request, or again: permissions/reviews/votes, permissions/reviews/walk
 * 10. Idempotency keys: to have an answer or a vote of somebody else
 *    - reuses one for another path or body: http/idempotency
 * 11. JWTs
 *    - forges one, or uses one of another issuer or audience: identity/oidc
 * 12. Other accounts
 *    - calls any operation on what belongs to another account: http/access
 */
import { env } from 'cloudflare:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fromBase64Url } from '../../src/lib/bytes';
import { Browser } from '../support/browser';
import { checkVotes, watchApprovals } from '../support/check-votes';
import { makeMember, type TestMember } from '../support/members';
import { approve, deny, refusal, sign } from '../support/reviews';
import { saveTables } from '../support/tables';
import { type Json, ORIGIN, type TestAccount, type TestAgent, World } from '../support/world';

const ISSUER = 'https://id.example.com';
const pair = await generateKeyPair('RS256', { extractable: true });

const world = new World({ OIDC_ISSUER: ISSUER, OIDC_AUDIENCE: ORIGIN });
const operator = env.ADMIN_TOKEN ?? '';
let account: TestAccount;
let owner: TestMember;
let admin: TestMember;
let alice: TestMember;
let bob: TestMember;
let developer: TestMember;
let agent: TestAgent;
/** What the attacker wants decided: it takes two approvers. */
let target: string;
let start: number;
let restore: () => Promise<void>;

beforeAll(async () => {
  await watchApprovals(env.DB);
  world.internet.on('id.example.com', () =>
    Response.json({ issuer: ISSUER, jwks_uri: 'https://keys.example.com/' }),
  );
  const key = { ...(await exportJWK(pair.publicKey)), kid: 'first', use: 'sig', alg: 'RS256' };
  world.internet.on('keys.example.com', () => Response.json({ keys: [key] }));
  account = await world.account({ plan: 'pro' });
  owner = await makeMember(account, 'owner', 'olga@example.com');
  admin = await makeMember(account, 'admin');
  alice = await makeMember(account, 'approver', 'alice@example.com');
  bob = await makeMember(account, 'approver');
  developer = await makeMember(account, 'developer');
  await account.must(201, 'POST', '/v1/policies', {
    ...{ name: 'Two approvers', effect: 'review', actions: ['money.*'], resources: ['*'] },
    review: { approvals: 2, roles: ['approver'] },
  });
  agent = await account.agent({ name: 'Payer' });
  await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: admin.id });
  world.advance(1);
  target = (
    await agent.request({ action: 'money.transfer', resource: 'account:1', scope: { limit: 9 } })
  ).id;
  start = world.now;
  restore = await saveTables(env.DB);
});

beforeEach(async () => {
  await env.DB.exec('delete from _approvals');
  await restore();
  world.now = start;
});

// Whatever the attacker has tried: nobody has decided, and nobody's vote is stored but that of the
// one who sent it.
afterEach(async () => {
  expect(await checkVotes(env.DB)).toEqual([]);
  const { body } = await account.must(200, 'GET', `/v1/permissions/${target}`);
  expect([body.status, body.token, body.decided_by]).toEqual(['pending', null, null]);
  expect(
    (await account.log(`&permission_id=${target}`)).map(({ event_type: type }) => type),
  ).toEqual(['request']);
});

const as =
  (token: string) =>
  (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    world.call(method, path, { token, headers, ...(body !== undefined && { body }) });
const path = (what: string) => `/v1/permissions/${target}/${what}`;

async function votes(): Promise<[string, string | null][]> {
  const { body } = await account.must(200, 'GET', `/v1/permissions/${target}`);
  return body.review.votes.map(({ by, name }: Json) => [by, name]);
}

describe('1. by an invitation, the attacker', () => {
  it('who is an admin invites a second self after the request, and votes twice: the new member is no reviewer', async () => {
    world.advance(1);
    const puppet = await makeMember(account, 'approver');
    for (const decide of [approve, deny]) {
      expect(refusal(await decide({ world }, puppet, target))).toEqual([403, 'not_a_reviewer']);
    }
  });

  it('takes the e-mail address of a member who approved and was removed: the vote is not theirs, and counts no longer', async () => {
    await approve({ world }, alice, target);
    world.advance(1);
    await account.must(204, 'DELETE', `/v1/members/${alice.id}`);
    const heir = await makeMember(account, 'approver', 'alice@example.com');
    expect(heir.id).not.toBe(alice.id);
    expect(refusal(await approve({ world }, heir, target))).toEqual([403, 'not_a_reviewer']);
    expect((await approve({ world }, bob, target)).body.status).toBe('pending');
    expect((await votes()).map(([by]) => by)).toEqual([alice.id, bob.id]);
  });

  it('invites somebody under the address of a member, in other letters: it is taken', async () => {
    const answer = await as(admin.token)('POST', '/v1/members', {
      email: 'ALICE@example.com',
      role: 'approver',
    });
    expect(refusal(answer)).toEqual([409, 'conflict']);
  });

  it('names another member, or a higher role, when accepting an invitation: the fields are unknown', async () => {
    const body = { email: 'x@example.com', role: 'developer' };
    const { body: invited } = await account.must(201, 'POST', '/v1/members', body);
    const url = new URL(invited.invitation.url).pathname;
    const browser = new Browser(world);
    const { body: options } = await browser.change('POST', `${url}/options`);
    const response = await browser.authenticator.create(options);
    for (const field of [{ id: alice.id }, { member_id: alice.id }, { role: 'approver' }]) {
      const answer = await browser.change('POST', url, { name: 'Laptop', response, ...field });
      expect(refusal(answer)).toEqual([400, 'invalid_request']);
    }
    const { body: member } = await account.must(200, 'GET', `/v1/members/${invited.id}`);
    expect([member.status, member.role]).toEqual(['invited', 'developer']);
  });
});

describe('2. with a user token, the attacker', () => {
  it('says in the body for whom it decides: the fields are unknown', async () => {
    const fields = {
      by: alice.id,
      member_id: alice.id,
      decided_by: alice.id,
      decided_via: 'console',
      votes: [],
    };
    for (const [name, value] of Object.entries(fields)) {
      for (const what of ['approve', 'deny']) {
        const answer = await as(bob.token)('POST', path(what), { [name]: value });
        expect([...refusal(answer), answer.body.errors[0].path]).toEqual([
          400,
          'invalid_request',
          `body.${name}`,
        ]);
      }
    }
  });

  it('says in headers who it is: the vote is that of the one who owns the token', async () => {
    const headers = {
      ...{
        'X-Member-Id': alice.id,
        'X-User-Id': account.id,
        'X-Forwarded-User': 'alice@example.com',
      },
      ...{
        'Cf-Access-Authenticated-User-Email': 'alice@example.com',
        Cookie: alice.browser.cookie,
      },
    };
    expect((await as(bob.token)('POST', path('approve'), {}, headers)).status).toBe(200);
    expect(await votes()).toEqual([[bob.id, null]]);
  });

  it('makes a token for another member: it has no such field, and the token is the own one', async () => {
    const answer = await as(admin.token)('POST', '/v1/me/tokens', {
      name: 'x',
      member_id: alice.id,
    });
    expect(refusal(answer)).toEqual([400, 'invalid_request']);
    const made = await as(account.token)('POST', '/v1/me/tokens', { name: 'x' });
    expect(made.body.member_id).toBeNull();
    expect(refusal(await as(made.body.token)('POST', path('approve'), {}))).toEqual([
      403,
      'person_required',
    ]);
  });

  it('approves with several own tokens at once: it is one person', async () => {
    const tokens = [
      bob.token,
      await bob.browser.makeToken('Two'),
      await bob.browser.makeToken('Three'),
    ];
    const answers = await Promise.all(
      tokens.map((token) => as(token)('POST', path('approve'), {})),
    );
    expect(answers.map(({ body }) => body.code ?? body.status).toSorted()).toEqual([
      ...['already_voted', 'already_voted', 'pending'],
    ]);
  });

  it('sends two credentials, in a header or in the address: only the one header counts', async () => {
    const two = await world.call('POST', path('approve'), {
      ...{ body: {}, headers: { Authorization: `Bearer ${alice.token}, Bearer ${bob.token}` } },
    });
    expect(two.status).toBe(401);
    const inAddress = await as(account.token)(
      'POST',
      `${path('approve')}?access_token=${alice.token}`,
      {},
    );
    expect(refusal(inAddress)).toEqual([400, 'invalid_request']);
  });
});

describe('3. with an agent key, the attacker', () => {
  it('decides, or asks for the statement of a decision: an agent is no person', async () => {
    const calls: [string, Json][] = [
      ['approve', {}],
      ['deny', {}],
      ['statement', { decision: 'approve' }],
    ];
    for (const [what, body] of calls) {
      const answer = await as(agent.key)('POST', path(what), body, {
        Cookie: alice.browser.cookie,
      });
      expect(refusal(answer)).toEqual([403, 'wrong_credential']);
    }
  });

  it('says in the request how it is decided, by whom, or who owns the agent: the fields are unknown', async () => {
    const fields = {
      ...{
        status: 'approved',
        decided_by: alice.id,
        policy_id: null,
        owner_id: bob.id,
        granted_scope: {},
      },
      review: { approvals: 1 },
    };
    for (const [name, value] of Object.entries(fields)) {
      const request = { action: 'money.transfer', resource: 'account:1', [name]: value };
      expect(refusal(await agent.call('POST', '/v1/permissions', request))).toEqual([
        400,
        'invalid_request',
      ]);
    }
  });

  it('of another agent withdraws the request, or gets its answer by the same external id: it is not found', async () => {
    const other = await account.agent();
    expect(refusal(await other.call('POST', path('withdraw'), {}))).toEqual([404, 'not_found']);
    const named = { action: 'money.transfer', resource: 'account:1', external_id: 'call-1' };
    const { id } = await agent.request(named);
    expect((await other.request(named)).id).not.toBe(id);
  });

  it('changes the owner of the agent: only people and the account do', async () => {
    const answer = await agent.call('PUT', `/v1/agents/${agent.id}`, { owner_id: bob.id });
    expect(refusal(answer)).toEqual([403, 'wrong_credential']);
  });
});

describe('4. with a session, the attacker', () => {
  it('sends the cookie of a reviewer with the own credential, or as one: the API knows no cookies', async () => {
    const headers = { Cookie: alice.browser.cookie };
    expect(refusal(await as(account.token)('POST', path('approve'), {}, headers))).toEqual([
      403,
      'person_required',
    ]);
    expect(refusal(await as(developer.token)('POST', path('approve'), {}, headers))).toEqual([
      ...[403, 'insufficient_scope'],
    ]);
    const secret = alice.browser.cookie.split('=')[1] ?? '';
    expect(refusal(await as(secret)('POST', path('approve'), {}))).toEqual([401, 'unauthorized']);
    expect((await world.call('POST', path('approve'), { body: {}, headers })).status).toBe(401);
  });

  it('makes a token in the session of a reviewer with the own CSRF token: it is refused', async () => {
    const csrf = await bob.browser.csrf();
    const answer = await world.call('POST', '/console/me/tokens', {
      raw: new URLSearchParams({ csrf, name: 'x' }).toString(),
      headers: {
        ...{
          Cookie: alice.browser.cookie,
          Origin: ORIGIN,
          'Content-Type': 'application/x-www-form-urlencoded',
        },
      },
    });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).not.toContain('csu_');
  });
});

describe('4. with a session of a user token, the attacker', () => {
  const enter = async (token: string) => {
    const browser = new Browser(world);
    expect((await browser.signInWithToken(token)).status).toBe(303);
    return browser;
  };
  const decide = async (
    browser: Browser,
    decision = 'approve',
    fields: Record<string, string> = {},
  ) => {
    const raw = new URLSearchParams({
      csrf: await browser.csrf(),
      decision,
      reason: '',
      ...fields,
    }).toString();
    const headers = { Origin: ORIGIN, 'Content-Type': 'application/x-www-form-urlencoded' };
    return (await browser.send('POST', `/console/permissions/${target}/decide`, { raw, headers }))
      .status;
  };

  it('decides as the account, or as a member who is no reviewer: a token gives no more in the console', async () => {
    for (const token of [account.token, owner.token, developer.token]) {
      const browser = await enter(token);
      for (const decision of ['approve', 'deny']) expect(await decide(browser, decision)).toBe(403);
    }
    // Who owns the agent may deny.
    expect(await decide(await enter(admin.token))).toBe(403);
    expect(await votes()).toEqual([]);
  });

  it('decides with a token of a reviewer that lacks the scope, or says in the form who it is: it does not count', async () => {
    await account.must(200, 'PUT', `/v1/members/${bob.id}`, { role: 'admin' });
    const { body } = await world.must(201, 'POST', '/v1/me/tokens', {
      ...{
        token: await bob.browser.makeToken(),
        body: { scopes: ['permissions:read', 'account:read'] },
      },
    });
    await account.must(200, 'PUT', `/v1/members/${bob.id}`, { role: 'approver' });
    const browser = await enter(body.token);
    expect(
      await decide(browser, 'approve', { member: alice.id, by: alice.id, token: alice.token }),
    ).toBe(403);
    expect(await votes()).toEqual([]);
  });

  it('approves once with a passkey and once with a token: it is one person', async () => {
    expect(await decide(bob.browser)).toBe(303);
    expect(await decide(await enter(bob.token))).toBe(409);
    expect(await votes()).toEqual([[bob.id, null]]);
  });

  it('who has stolen a token of a reviewer makes a passkey or a token that outlives it: both need the person', async () => {
    const browser = await enter(alice.token);
    const { body: options } = await bob.browser.change('POST', '/console/me/passkeys/options');
    const response = await browser.authenticator.create(options);
    const attempts = [
      await browser.change('POST', '/console/me/passkeys/options'),
      await browser.change('POST', '/console/me/passkeys', { name: 'Mine', response }),
      await browser.submit('/console/me/tokens', { name: 'Mine' }, 'application/json'),
    ];
    expect(attempts.map(refusal)).toEqual(attempts.map(() => [403, 'person_required']));
    const { body } = await world.must(200, 'GET', '/v1/me/passkeys', { token: alice.token });
    expect(body.data).toHaveLength(1);
  });

  it('who has the cookie of one whose token was deleted decides: the session is over', async () => {
    const browser = await enter(alice.token);
    const csrf = await browser.csrf();
    await account.must(200, 'PUT', `/v1/members/${alice.id}`, { status: 'suspended' });
    await account.must(200, 'PUT', `/v1/members/${alice.id}`, { status: 'active' });
    const answer = await browser.send('POST', `/console/permissions/${target}/decide`, {
      raw: new URLSearchParams({ csrf, decision: 'approve', reason: '' }).toString(),
      headers: { Origin: ORIGIN, 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    expect(refusal(answer)).toEqual([401, 'unauthorized']);
  });

  it('makes the browser of a reviewer sign in with the own token: another site cannot send the form', async () => {
    const before = alice.browser.cookie;
    const answer = await alice.browser.send('POST', '/console/sign-in/token', {
      raw: new URLSearchParams({ token: bob.token }).toString(),
      headers: {
        Origin: 'https://evil.example.com',
        'Content-Type': 'application/x-www-form-urlencoded',
      },
    });
    expect(refusal(answer)).toEqual([403, 'wrong_credential']);
    expect(alice.browser.cookie).toBe(before);
  });
});

describe('5. with a passkey, the attacker', () => {
  it('registers a passkey under the id of the one of a reviewer: the id is taken, and the reviewer still signs', async () => {
    const { body } = await world.must(200, 'GET', '/v1/me/passkeys', { token: alice.token });
    const credentialId = fromBase64Url(body.data[0].id) as Uint8Array;
    const { body: options } = await bob.browser.change('POST', '/console/me/passkeys/options');
    const response = await bob.browser.authenticator.create(options, { credentialId });
    const added = await bob.browser.change('POST', '/console/me/passkeys', { name: 'x', response });
    expect(added.status).toBeGreaterThanOrEqual(400);
    expect(added.status).toBeLessThan(500);
    // The attacker's key of that id signs nothing, neither for the reviewer nor for the attacker.
    const forged = await sign({ world }, bob, target, { decision: 'approve' });
    expect(refusal(await approve({ world }, bob, target, forged))).toEqual([
      400,
      'invalid_assertion',
    ]);
    expect(refusal(await approve({ world }, alice, target, forged))).toEqual([
      400,
      'invalid_assertion',
    ]);
    const signed = await sign({ world }, alice, target, { decision: 'approve' });
    expect((await approve({ world }, alice, target, signed)).status).toBe(200);
  });

  it('joins with a passkey under the id of the one of a reviewer: the invitation is refused', async () => {
    const { body } = await world.must(200, 'GET', '/v1/me/passkeys', { token: alice.token });
    const credentialId = fromBase64Url(body.data[0].id) as Uint8Array;
    const invitee = { email: 'x@example.com', role: 'approver' };
    const { body: invited } = await account.must(201, 'POST', '/v1/members', invitee);
    expect((await new Browser(world).join(invited.invitation.url, { credentialId })).status).toBe(
      404,
    );
    expect((await account.must(200, 'GET', `/v1/members/${invited.id}`)).body.status).toBe(
      'invited',
    );
  });

  it('sends a signed approval again, as the signer or as somebody else: it counts once', async () => {
    const signed = await sign({ world }, alice, target, { decision: 'approve' });
    expect((await approve({ world }, alice, target, signed)).status).toBe(200);
    expect(refusal(await approve({ world }, alice, target, signed))).toEqual([
      409,
      'already_voted',
    ]);
    expect(refusal(await approve({ world }, bob, target, signed))).toEqual([
      400,
      'invalid_assertion',
    ]);
    expect(refusal(await as(account.token)('POST', path('approve'), signed))).toEqual([
      403,
      'person_required',
    ]);
  });
});

describe('6. by a policy, the attacker', () => {
  it('who is an admin has later requests approved by a policy: what waits for people still waits', async () => {
    await as(admin.token)('POST', '/v1/policies', {
      ...{ name: 'All', effect: 'approve', actions: ['*'], resources: ['*'], priority: 1_000 },
    });
    expect((await votes()).length).toBe(0);
    expect(refusal(await as(admin.token)('POST', path('approve'), {}))).toEqual([
      403,
      'not_a_reviewer',
    ]);
  });

  it('makes a review policy without people, or with a person of another account: it is refused', async () => {
    const stranger = await makeMember(await world.account(), 'approver');
    const few = {
      path: 'body.review.approvals',
      message: 'must be at most the number of reviewers',
    };
    const foreign = {
      path: 'body.review.members',
      message: 'must be active or invited members of this account',
    };
    for (const [review, fault] of [
      [{ members: [stranger.id] }, foreign],
      [{ members: [stranger.id, alice.id] }, foreign],
      [{ roles: ['auditor'] }, few],
      [{ approvals: 3, roles: ['approver'] }, few],
    ]) {
      const policy = { name: 'x', effect: 'review', actions: ['*'], resources: ['*'], review };
      const answer = await as(admin.token)('POST', '/v1/policies', policy);
      expect(answer.body.errors).toEqual([fault]);
    }
  });
});

describe('7. by changing the owner of the agent, the attacker', () => {
  it('who owns it hands it to somebody else after the request: it remembers its owner then', async () => {
    await account.must(200, 'PUT', `/v1/members/${admin.id}`, { role: 'approver' });
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: developer.id });
    const token = await admin.browser.makeToken();
    // The role is also too new.
    expect(refusal(await as(token)('POST', path('approve'), {}))).toEqual([403, 'not_a_reviewer']);
    const mine = await makeMember(account, 'approver');
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: mine.id });
    world.advance(1);
    const { id } = await agent.request({ action: 'money.transfer', resource: 'account:1' });
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: developer.id });
    expect(refusal(await approve({ world }, mine, id))).toEqual([403, 'self_approval']);
  });

  it('makes a reviewer who approved the owner: the vote counts no longer', async () => {
    await approve({ world }, alice, target);
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: alice.id });
    expect((await approve({ world }, bob, target)).body.status).toBe('pending');
  });
});

describe('8. as the operator, the attacker', () => {
  it('decides with the operator token: it is for the operator alone', async () => {
    for (const what of ['approve', 'deny', 'statement']) {
      const answer = await as(operator)(
        'POST',
        path(what),
        what === 'statement' ? { decision: 'approve' } : {},
      );
      expect(refusal(answer)).toEqual([403, 'wrong_credential']);
    }
  });

  it('makes a user token for the account: it belongs to no person', async () => {
    const { body } = await world.must(201, 'POST', `/v1/admin/users/${account.id}/tokens`, {
      ...{ token: operator, body: {} },
    });
    expect(refusal(await as(body.token)('POST', path('approve'), {}))).toEqual([
      403,
      'person_required',
    ]);
    expect(refusal(await as(body.token)('POST', path('deny'), {}))).toEqual([
      403,
      'person_required',
    ]);
  });

  it('invites an owner, under the address of one or as a new one, who is no reviewer of what already waits', async () => {
    const invitation = `/v1/admin/users/${account.id}/owner`;
    const taken = await as(operator)('POST', invitation, { email: 'OLGA@example.com' });
    expect(refusal(taken)).toEqual([409, 'conflict']);
    world.advance(1);
    const late = await makeMember(account, 'owner');
    await as(owner.token)('PUT', `/v1/members/${late.id}`, { role: 'approver' });
    expect((await approve({ world }, late, target)).body.code).toBe('not_a_reviewer');
  });
});

describe('9. by a role, the attacker', () => {
  it('gives itself a role or the name of a reviewer: approvers change no members, and a name is no identity', async () => {
    for (const fields of [{ role: 'admin' }, { name: 'Alice' }]) {
      const answer = await as(bob.token)('PUT', `/v1/members/${bob.id}`, fields);
      expect(refusal(answer)).toEqual([403, 'insufficient_scope']);
    }
    await account.must(200, 'PUT', `/v1/members/${bob.id}`, { name: 'Alice' });
    await approve({ world }, bob, target);
    expect(await votes()).toEqual([[bob.id, 'Alice']]);
  });

  it('who is an admin becomes an approver, or makes a helper one: both are too late', async () => {
    world.advance(1);
    await as(owner.token)('PUT', `/v1/members/${admin.id}`, { role: 'approver' });
    expect((await approve({ world }, admin, target)).body.code).toBe('not_a_reviewer');
    await account.must(200, 'PUT', `/v1/members/${developer.id}`, { role: 'approver' });
    const token = await developer.browser.makeToken();
    expect(refusal(await as(token)('POST', path('approve'), {}))).toEqual([403, 'not_a_reviewer']);
  });

  it('suspends all other reviewers to be the only one: it is then short of reviewers, and stays pending', async () => {
    await as(admin.token)('PUT', `/v1/members/${alice.id}`, { status: 'suspended' });
    expect((await approve({ world }, bob, target)).body).toMatchObject({
      ...{ status: 'pending', review: { short_of_reviewers: true } },
    });
  });
});

describe('10. by an idempotency key, the attacker', () => {
  it('sends the key of a reviewer: it gets an answer and a vote of its own', async () => {
    const headers = { 'Idempotency-Key': 'same' };
    expect((await as(alice.token)('POST', path('deny'), { x: 1 }, headers)).status).toBe(400);
    await as(alice.token)('POST', path('approve'), {}, headers);
    await account.must(200, 'PUT', `/v1/members/${bob.id}`, { role: 'admin' });
    const token = await bob.browser.makeToken();
    const answer = await as(token)('POST', path('approve'), {}, headers);
    expect([...refusal(answer), answer.headers.get('Idempotent-Replayed')]).toEqual([
      403,
      'not_a_reviewer',
      null,
    ]);
    expect((await votes()).map(([by]) => by)).toEqual([alice.id]);
  });

  it('sends an approval again with other keys: the person has voted', async () => {
    for (const key of ['one', 'two', 'three']) {
      const answer = await as(alice.token)('POST', path('approve'), {}, { 'Idempotency-Key': key });
      expect(answer.body.code ?? answer.status).toBe(key === 'one' ? 200 : 'already_voted');
    }
  });
});

describe('11. with a JWT, the attacker', () => {
  const now = () => Math.floor(world.now / 1_000);
  const jwt = (claims: Json, type?: string) =>
    new SignJWT({
      iss: ISSUER,
      aud: ORIGIN,
      sub: 'mallory',
      iat: now(),
      nbf: now(),
      exp: now() + 600,
      ...claims,
    })
      .setProtectedHeader({ alg: 'RS256', kid: 'first', ...(type && { typ: type }) })
      .sign(pair.privateKey);

  it('of the provider claims to be a reviewer: it is a stranger, with an account of its own', async () => {
    const claims = [
      {},
      { sub: alice.id },
      { sub: account.id, member_id: alice.id, account_id: account.id },
      { email: 'alice@example.com', email_verified: true, role: 'approver' },
    ];
    for (const claim of claims) {
      const answer = await as(await jwt(claim))('POST', path('approve'), {});
      expect(refusal(answer)).toEqual([404, 'not_found']);
    }
  });

  it('that is the token of an approved permission decides: it is no credential', async () => {
    const permission = await agent.request();
    await account.must(200, 'POST', `/v1/permissions/${permission.id}/approve`, {});
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${permission.id}`);
    expect(refusal(await as(body.token.value)('POST', path('approve'), {}))).toEqual([
      401,
      'unauthorized',
    ]);
  });
});

describe('12. from another account, the attacker', () => {
  it('who reviews requests of its own account decides: it finds no such request', async () => {
    const stranger = await makeMember(await world.account(), 'owner');
    const { id } = await agent.request();
    for (const what of ['approve', 'deny', 'statement']) {
      const body = what === 'statement' ? { decision: 'approve' } : {};
      expect(
        refusal(await as(stranger.token)('POST', `/v1/permissions/${id}/${what}`, body)),
      ).toEqual([...[404, 'not_found']]);
    }
  });
});
