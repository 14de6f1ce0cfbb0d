import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { SCOPE_OF_ROUTE } from '../../support/access-rules';
import { makeMember, type TestMember } from '../../support/members';
import { TestDevice } from '../../support/push';
import { aim, makeScene, type Scene } from '../../support/scene';
import { saveTables } from '../../support/tables';

const EVERY = ['owner', 'admin', 'approver', 'developer', 'auditor'];

/** The roles that have each scope. */
const ROLES: Record<string, string[]> = {
  'account:read': EVERY,
  'account:write': ['owner', 'admin'],
  'agents:read': EVERY,
  'agents:write': ['owner', 'admin', 'developer'],
  'permissions:read': EVERY,
  'permissions:decide': ['owner', 'admin', 'approver'],
  'policies:read': EVERY,
  'policies:write': ['owner', 'admin'],
  'audit:read': EVERY,
  'audit:export': ['owner', 'admin', 'auditor'],
  'tokens:use': ['owner', 'admin', 'developer'],
  'webhooks:read': ['owner', 'admin', 'developer', 'auditor'],
  'webhooks:write': ['owner', 'admin', 'developer'],
  'connections:read': ['owner', 'admin', 'developer', 'auditor'],
  'connections:write': ['owner', 'admin'],
  'channels:read': ['owner', 'admin', 'developer', 'auditor'],
  'channels:write': ['owner', 'admin'],
};

/** With `account:read` alone a token deletes only itself; here it deletes another one. */
const ROUTES = { ...SCOPE_OF_ROUTE, 'DELETE /v1/me/tokens/:id': 'account:write' };

/** Routes that refuse what the scene asks: it gave no series, and nobody took a use. */
const REFUSING: Record<string, number> = {
  'DELETE /v1/permissions/:id/series': 404,
  'POST /v1/permissions/:id/outcome': 409,
};

describe.each(EVERY)('a member with the role %s', (role) => {
  let scene: Scene;
  let member: TestMember;
  let restore: () => Promise<void>;

  beforeAll(async () => {
    scene = await makeScene();
    member = await makeMember(scene.account, role);
    // Only members have sessions and devices, and a member ends only the own tokens.
    scene.session = (
      await scene.world.must(200, 'GET', '/v1/me/sessions', { token: member.token })
    ).body.data[0].id;
    scene.device = (await new TestDevice(scene.world).subscribe(member)).body.id;
    if (role === 'owner' || role === 'admin') {
      scene.spareToken = (
        await scene.world.must(201, 'POST', '/v1/me/tokens', { token: member.token })
      ).body.id;
    }
    restore = await saveTables(env.DB);
  });

  it.each(Object.entries(ROUTES))(
    'may call %s exactly if the role has the scope %s',
    async (route, scope) => {
      const { method, path, body } = aim(route, scene);
      const answer = await scene.world.call(method, path, {
        token: member.token,
        ...(body !== undefined && { body }),
      });
      if (ROLES[scope]?.includes(role)) {
        if (route in REFUSING) expect(answer.status).toBe(REFUSING[route]);
        else expect(answer.status).toBeLessThan(400);
      } else expect([answer.status, answer.body.code]).toEqual([403, 'insufficient_scope']);
      if (method !== 'GET' && answer.status < 400) await restore();
    },
  );
});
