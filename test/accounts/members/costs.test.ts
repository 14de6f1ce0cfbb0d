import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { makeMember } from '../../support/members';
import { type Call, makeAgent } from '../../support/world';

/** An account that is not the first one, with an owner who has a passkey. */
async function makeAccount() {
  const { world } = await makeAgent();
  const { account, agent } = await makeAgent(world, { plan: 'enterprise' });
  const owner = await makeMember(account, 'owner');
  return { world, account, agent, owner };
}

/**
 * Adds members with a status to the newest account, by copies of its owner. Each has a passkey, and
 * another one that was removed.
 */
async function addMembers(count: number, status: 'active' | 'removed'): Promise<void> {
  const isActive = status === 'active';
  const columns = {
    id: "unhex(printf('%012x', created_at) || hex(randomblob(10)))",
    ...{ email: "n.i || '@example.com'", role: '2', status: isActive ? '1' : '3' },
    ...{ identity: 'null', active_since: isActive ? 'active_since' : 'null' },
    erase_at: isActive ? 'null' : 'updated_at',
  };
  const newest = '(select max(number) from accounts)';
  await copy(
    'members',
    columns,
    `(with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n) as n
     cross join members where account = ${newest} and role = 0 and status = 1`,
  );
  for (const removedAt of ['erase_at', 'created_at']) {
    await copy(
      'passkeys',
      { id: 'randomblob(16)', member: 'member.id', removed_at: `member.${removedAt}` },
      `(select * from passkeys where account = ${newest} limit 1) as passkeys
       cross join members as member where member.account = ${newest} and member.role = 2`,
    );
  }
}

async function copy(table: string, columns: Record<string, string>, from: string): Promise<void> {
  const { results } = await env.DB.prepare(`select name from pragma_table_info('${table}')`).all();
  const values = results.map(({ name }) => columns[String(name)] ?? `${table}."${name}"`);
  await env.DB.prepare(`insert into ${table} select ${values} from ${from}`).run();
}

/** Calls that read members and passkeys, with their costs in rows read. */
async function measure({ world, account, agent, owner }: Awaited<ReturnType<typeof makeAccount>>) {
  const email = () => `${crypto.randomUUID()}@example.com`;
  const { id } = await agent.request();
  const invitation = { email: email(), role: 'approver' };
  const { body: invited } = await account.must(201, 'POST', '/v1/members', invitation);
  const approver = await makeMember(account, 'approver');
  const asOwner = { token: owner.token };
  const asOperator = { token: world.env.ADMIN_TOKEN ?? '' };
  const calls: [method: string, path: string, call?: Call][] = [
    ['GET', '/v1/members?limit=1'],
    ['GET', `/v1/members/${owner.id}`],
    ['GET', '/v1/me', asOwner],
    ['GET', '/v1/me/passkeys', asOwner],
    ['POST', `/v1/permissions/${id}/statement`, { ...asOwner, body: { decision: 'approve' } }],
    ['PUT', `/v1/members/${approver.id}`, { body: { role: 'auditor' } }],
    ['POST', `/v1/members/${invited.id}/invitation`, { body: {} }],
    ['DELETE', `/v1/members/${approver.id}`],
    ['POST', `/v1/admin/users/${account.id}/owner`, { ...asOperator, body: { email: email() } }],
  ];
  const costs: { name: string; read: number }[] = [];
  for (const [method, path, call] of calls) {
    const { status, text, cost } = await world.call(method, path, {
      token: account.token,
      ...call,
    });
    expect([path, status < 300, text]).toEqual([path, true, text]);
    costs.push({ name: `${method} ${path}`, read: cost.read });
  }
  const pages = ['/console', '/console/members'];
  for (const name of pages) costs.push({ name, read: (await owner.browser.get(name)).cost.read });
  return { calls: costs.slice(0, calls.length), pages: costs.slice(calls.length) };
}

describe('a request about members', () => {
  it('reads nobody who left, and no passkeys of others', async () => {
    const scene = await makeAccount();
    const before = await measure(scene);
    await addMembers(300, 'removed');
    const after = await measure(scene);
    const grown = after.calls.filter(({ read }, i) => read > (before.calls[i]?.read ?? 0) + 50);
    expect(grown).toEqual([]);
    await addMembers(600, 'active');
    const { calls, pages } = await measure(scene);
    // Pages read the names of up to 500 members, and of as many who left.
    expect(calls.filter(({ read }) => read > 1_000)).toEqual([]);
    expect(pages.filter(({ read }) => read > 5_000)).toEqual([]);
  });
});
