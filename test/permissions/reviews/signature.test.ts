import { describe, expect, it } from 'vitest';
import { fromBase64Url, toBase64Url } from '../../../src/lib/bytes';
import { canonical } from '../../support/canonical-json';
import { makeMember, type TestMember } from '../../support/members';
import { approve, deny, makeReview, type People, refusal, sign } from '../../support/reviews';
import { type Json, ORIGIN, World } from '../../support/world';

const NEEDS_PASSKEY = { passkey: true };

async function state(
  { world }: { world: World },
  member: TestMember,
  id: string,
  decision: Json,
): Promise<Json> {
  return (
    await world.must(200, 'POST', `/v1/permissions/${id}/statement`, {
      token: member.token,
      body: decision,
    })
  ).body;
}

describe('the statement of a decision', () => {
  it('is everything that the decision is about, and its challenge the hash of its canonical form', async () => {
    const scene = await makeReview();
    const { account, agent, people } = scene;
    const request = {
      scope: { n: 9 },
      max_uses: 3,
      input: { to: 'ada' },
      preview: { title: 'Reply' },
    };
    const { id, input_digest, preview_digest } = await agent.request(request);
    const decision = { decision: 'approve', scope: { n: 1 }, token_ttl: 60, reason: ' Once ' };
    const { statement, challenge, options } = await state(scene, people[0], id, decision);
    expect(statement).toEqual({
      type: 'countersign/decision/v1',
      origin: ORIGIN,
      account_id: account.id,
      member_id: people[0].id,
      permission_id: id,
      agent_id: agent.id,
      decision: 'approve',
      action: 'email.send',
      resource: 'mailbox:support',
      scope: { n: 1 },
      token_ttl: 60,
      max_uses: 3,
      input_digest,
      preview_digest,
      reason: 'Once',
      signed_at: '2026-01-31T12:00:00.001Z',
    });
    const hash = await crypto.subtle.digest(
      'SHA-256',
      new TextEncoder().encode(canonical(statement)),
    );
    expect(challenge).toBe(toBase64Url(new Uint8Array(hash)));
    const { body: passkeys } = await scene.world.must(200, 'GET', '/v1/me/passkeys', {
      token: people[0].token,
    });
    expect(options).toEqual({
      challenge,
      rpId: new URL(ORIGIN).hostname,
      allowCredentials: [{ type: 'public-key', id: passkeys.data[0].id }],
      userVerification: 'required',
      timeout: 300_000,
    });
    expect((await account.must(200, 'GET', `/v1/permissions/${id}`)).body.review.votes).toEqual([]);
  });

  it('of a denial has the requested limits, and takes no others', async () => {
    const scene = await makeReview({ approvals: 2 }, undefined, { token_ttl: 60 });
    const { id } = await scene.agent.request({ scope: { n: 9 }, token_ttl: 900 });
    await approve(scene, scene.people[0], id, { scope: { n: 1 } });
    const { statement } = await state(scene, scene.people[1], id, { decision: 'deny' });
    expect(statement).toMatchObject({ scope: { n: 9 }, token_ttl: 900 });
    const answer = await scene.world.call('POST', `/v1/permissions/${id}/statement`, {
      token: scene.people[1].token,
      body: { decision: 'deny', max_uses: 1 },
    });
    expect(answer.body.errors).toEqual([
      { path: 'body.max_uses', message: 'is only for approvals' },
    ]);
  });

  it('is refused as the decision would be, except for the missing signature', async () => {
    const scene = await makeReview(([first]: People) => ({ members: [first.id], passkey: true }));
    const { account, agent, people, world } = scene;
    const { id } = await agent.request({ scope: { n: 1 } });
    const path = `/v1/permissions/${id}/statement`;
    const ask = (token: string, body: Json) => world.call('POST', path, { token, body });
    const approval = { decision: 'approve' };
    expect(refusal(await ask(account.token, approval))).toEqual([403, 'person_required']);
    expect(refusal(await ask(people[1].token, approval))).toEqual([403, 'not_a_reviewer']);
    const wide = { ...approval, scope: { n: 2 } };
    expect(refusal(await ask(people[0].token, wide))).toEqual([400, 'scope_widened']);
    expect((await ask(people[0].token, approval)).status).toBe(200);
    await deny(scene, people[0], id);
    expect(refusal(await ask(people[0].token, approval))).toEqual([409, 'not_pending']);
  });
});

describe('a signed decision', () => {
  it('is accepted, shown as signed, and kept in the log with everything that an auditor verifies', async () => {
    const scene = await makeReview({ approvals: 2, passkey: true });
    const { account, agent, people, world } = scene;
    const { id } = await agent.request({ scope: { n: 9 } });
    const first = await sign(scene, people[0], id, {
      decision: 'approve',
      scope: { n: 5 },
      reason: 'Five',
    });
    const { body } = await approve(scene, people[0], id, first);
    expect(body.review.votes).toMatchObject([{ by: people[0].id, signed: true, scope: { n: 5 } }]);
    expect(JSON.stringify(body)).not.toContain(first.assertion.response.signature);
    world.advance(60_000);
    const second = await sign(scene, people[1], id, { decision: 'approve' });
    expect((await approve(scene, people[1], id, second)).body.status).toBe('approved');
    const { details } = (await account.log()).at(-1);
    expect(details.votes.map(({ signature }: Json) => signature)).toEqual(
      [first, second].map(({ assertion, signed_at }) => ({
        credential_id: assertion.id,
        signed_at,
        authenticator_data: assertion.response.authenticatorData,
        client_data_json: assertion.response.clientDataJSON,
        signature: assertion.response.signature,
      })),
    );
  });

  it('has its vote in the log also without a review', async () => {
    const world = new World();
    const account = await world.account();
    const member = await makeMember(account, 'owner');
    const agent = await account.agent();
    for (const decision of ['approve', 'deny']) {
      const { id } = await agent.request();
      const fields = await sign({ world }, member, id, { decision });
      const { body } = await world.must(200, 'POST', `/v1/permissions/${id}/${decision}`, {
        token: member.token,
        body: fields,
      });
      expect([body.review, body.decided_by]).toEqual([null, member.id]);
      const { details } = (await account.log()).at(-1);
      expect(details.votes).toMatchObject([{ by: member.id, decision, signed: true }]);
      expect(details).not.toHaveProperty('review_policy_id');
    }
    const { id } = await agent.request();
    await account.must(200, 'POST', `/v1/permissions/${id}/approve`, {});
    expect((await account.log()).at(-1).details).not.toHaveProperty('votes');
  });

  it.each<[string, (signed: Json, other: Json) => Json]>([
    ['other limits than those signed', (signed) => ({ ...signed, scope: { n: 4 } })],
    ['another reason', (signed) => ({ ...signed, reason: 'Other' })],
    ['another time', (signed) => ({ ...signed, signed_at: '2026-01-31T12:00:00.002Z' })],
    [
      'the passkey of another member',
      (signed, other) => ({
        ...signed,
        assertion: { ...signed.assertion, id: other.assertion.id, rawId: other.assertion.id },
      }),
    ],
    [
      'the assertion of another member',
      (signed, other) => ({ ...signed, assertion: other.assertion }),
    ],
    ['a changed signature', (signed) => change(signed, 'signature')],
    ['changed authenticator data', (signed) => change(signed, 'authenticatorData')],
    ['changed client data', (signed) => change(signed, 'clientDataJSON')],
    [
      'an unknown passkey',
      (signed) => ({ ...signed, assertion: { ...signed.assertion, id: 'AAAA', rawId: 'AAAA' } }),
    ],
  ])('with %s is refused, and nothing is written', async (_, alter) => {
    const scene = await makeReview(NEEDS_PASSKEY);
    const { account, agent, people } = scene;
    const { id } = await agent.request({ scope: { n: 9 } });
    const signed = await sign(scene, people[0], id, {
      decision: 'approve',
      scope: { n: 5 },
      reason: 'Five',
    });
    const other = await sign(scene, people[1], id, {
      decision: 'approve',
      scope: { n: 5 },
      reason: 'Five',
    });
    const entries = await account.log();
    expect(refusal(await approve(scene, people[0], id, alter(signed, other)))).toEqual([
      400,
      'invalid_assertion',
    ]);
    expect((await account.must(200, 'GET', `/v1/permissions/${id}`)).body).toMatchObject({
      status: 'pending',
      review: { votes: [] },
    });
    expect(await account.log()).toEqual(entries);
    expect((await approve(scene, people[0], id, signed)).body.status).toBe('approved');
  });

  it.each<[string, Json]>([
    ['from another origin', { origin: 'https://evil.test' }],
    ['for another service', { rpId: 'evil.test' }],
    ['without verification of the user', { flags: 0x01 }],
    ['from a frame of another site', { clientData: { crossOrigin: true } }],
    ['to another challenge', { challenge: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }],
    ['of registration', { clientData: { type: 'webauthn.create' } }],
    ['by a passkey that was cloned', { counter: 0 }],
  ])('with an assertion %s is refused', async (_, tampering) => {
    const scene = await makeReview(NEEDS_PASSKEY);
    const { id } = await scene.agent.request();
    const { options, statement } = await state(scene, scene.people[0], id, { decision: 'approve' });
    // A first use, so that the counter of a clone is behind.
    await scene.people[0].browser.signIn();
    const assertion = await scene.people[0].browser.authenticator.get(options, tampering);
    const answer = await approve(scene, scene.people[0], id, {
      assertion,
      signed_at: statement.signed_at,
    });
    expect(refusal(answer)).toEqual([400, 'invalid_assertion']);
  });

  it('is accepted within five minutes of the service clock only', async () => {
    for (const [passed, outcome] of [
      [300_000, 200],
      [300_001, 400],
    ] as const) {
      const scene = await makeReview(NEEDS_PASSKEY);
      const { id } = await scene.agent.request();
      const signed = await sign(scene, scene.people[0], id, { decision: 'approve' });
      scene.world.advance(passed);
      expect((await approve(scene, scene.people[0], id, signed)).status).toBe(outcome);
    }
  });

  it('is refused when another vote has narrowed the proposal since, and cannot be sent for another permission', async () => {
    const scene = await makeReview({ approvals: 3 });
    const { agent, people } = scene;
    const { id } = await agent.request({ scope: { n: 9 } });
    const { id: elsewhere } = await agent.request({ scope: { n: 9 } });
    const signed = await sign(scene, people[0], id, { decision: 'approve' });
    expect(refusal(await approve(scene, people[0], elsewhere, signed))).toEqual([
      400,
      'invalid_assertion',
    ]);
    expect(refusal(await deny(scene, people[0], id, signed))).toEqual([400, 'invalid_assertion']);
    await approve(scene, people[1], id, { scope: { n: 5 } });
    expect(refusal(await approve(scene, people[0], id, signed))).toEqual([
      400,
      'invalid_assertion',
    ]);
  });

  it('needs assertion and signed_at together, and a member', async () => {
    const scene = await makeReview();
    const { account, agent, people } = scene;
    const { id } = await agent.request();
    const { assertion, signed_at } = await sign(scene, people[0], id, { decision: 'approve' });
    const lone = await approve(scene, people[0], id, { assertion });
    expect(lone.body.errors).toEqual([
      { path: 'body.signed_at', message: 'is needed together with `assertion`' },
    ]);
    const time = await approve(scene, people[0], id, { signed_at });
    expect(time.body.errors).toEqual([
      { path: 'body.assertion', message: 'is needed together with `signed_at`' },
    ]);
    await account.must(200, 'PUT', `/v1/policies/${scene.policy.id}`, { is_active: false });
    const { id: free } = await agent.request();
    const answer = await account.call('POST', `/v1/permissions/${free}/approve`, {
      assertion,
      signed_at,
    });
    expect(refusal(answer)).toEqual([403, 'person_required']);
  });

  it('is kept in the one form of base64url that a verifier expects', async () => {
    const scene = await makeReview(NEEDS_PASSKEY);
    const { id } = await scene.agent.request();
    const signed = await sign(scene, scene.people[0], id, { decision: 'approve' });
    // 16 and 37 bytes leave four and two bits of the last character unused.
    const [key, data] = [signed.assertion.id, signed.assertion.response.authenticatorData];
    const stray = { id: withStrayBit(key), rawId: withStrayBit(key) };
    const response = { ...signed.assertion.response, authenticatorData: withStrayBit(data) };
    const sent = { ...signed, assertion: { ...signed.assertion, ...stray, response } };
    expect((await approve(scene, scene.people[0], id, sent)).body.status).toBe('approved');
    const { details } = (await scene.account.log()).at(-1);
    expect(details.votes[0].signature).toMatchObject({
      credential_id: key,
      authenticator_data: data,
    });
  });

  it('whose passkey has no text as its id is refused as malformed', async () => {
    const scene = await makeReview();
    const { id } = await scene.agent.request();
    const assertion = { id: { toString: 1 } };
    const { status, body } = await approve(scene, scene.people[0], id, {
      assertion,
      signed_at: '2026-01-31T12:00:00.001Z',
    });
    expect([status, body.errors[0].path]).toEqual([400, 'body.assertion.id']);
    const simulation = { action: 'a.b', resource: 'c:d', agent_id: { toString: 1 } };
    const simulated = await scene.account.call('POST', '/v1/policies/simulate', simulation);
    expect([simulated.status, simulated.body.errors[0].path]).toEqual([400, 'body.agent_id']);
  });

  it('by a removed passkey is refused', async () => {
    const scene = await makeReview(NEEDS_PASSKEY);
    const { id } = await scene.agent.request();
    const [member] = scene.people;
    const signed = await sign(scene, member, id, { decision: 'approve' });
    const { body: options } = await member.browser.change('POST', '/console/me/passkeys/options');
    const response = await member.browser.authenticator.create(options);
    expect(
      (await member.browser.change('POST', '/console/me/passkeys', { name: 'B', response })).status,
    ).toBe(201);
    expect(
      (await member.browser.change('DELETE', `/console/me/passkeys/${signed.assertion.id}`)).status,
    ).toBe(204);
    expect(refusal(await approve(scene, member, id, signed))).toEqual([400, 'invalid_assertion']);
  });
});

/** Changes one bit in the middle of a field of the assertion. */
function change(signed: Json, field: string): Json {
  const bytes = fromBase64Url(signed.assertion.response[field]) ?? new Uint8Array();
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  const response = { ...signed.assertion.response, [field]: toBase64Url(bytes) };
  return { ...signed, assertion: { ...signed.assertion, response } };
}

/** The same bytes in base64url, with a bit set in the last character that belongs to no byte. */
function withStrayBit(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return text.slice(0, -1) + alphabet[alphabet.indexOf(text.at(-1) ?? '') | 1];
}
