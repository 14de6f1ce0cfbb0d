import { env } from 'cloudflare:test';
import { afterEach, expect, it, vi } from 'vitest';
import { FaultyDatabase } from './support/faults';
import { World } from './support/world';

afterEach(() => vi.restoreAllMocks());

it('lets no credential, in any form, into the database, the logs or a refusal', async () => {
  const logged: string[] = [];
  for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    vi.spyOn(console, method).mockImplementation((...values) => void logged.push(values.map(String).join(' ')));
  }
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  const account = await world.account();
  const agent = await account.agent();
  const { token } = await agent.approved({ max_uses: 3 });
  await account.must(200, 'POST', '/v1/tokens/use', { token: token.value });
  const { body: rotated } = await account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`, {});
  const { body: extra } = await account.must(201, 'POST', '/v1/me/tokens', { name: 'CI' });
  const credentials = [account.token, agent.key, rotated.api_key, extra.token, token.value];

  const refusals: string[] = [];
  for (const credential of [...credentials, env.ADMIN_TOKEN]) {
    for (const path of [
      '/v1/me',
      '/v1/agents',
      '/v1/admin/users',
      '/v1/permissions/x',
      `/v1/audit?cursor=${credential}`,
    ]) {
      refusals.push((await world.call('DELETE', path, { token: credential })).text);
      refusals.push(
        (await world.call('POST', path, { token: credential, body: { name: credential, secret: credential } })).text,
      );
    }
    refusals.push(
      (
        await world.call('POST', '/v1/tokens/use', {
          token: credential,
          raw: `{"token":"${credential}"`,
          headers: { 'Content-Type': 'application/json' },
        })
      ).text,
    );
    database.arm({ call: 1, mode: 'before' });
    refusals.push((await world.call('GET', '/v1/me', { token: credential })).text);
    database.arm({ call: 2, mode: 'after' });
    refusals.push((await world.call('GET', '/v1/agents', { token: credential })).text);
    database.arm(null);
  }
  // Some of these calls succeed, and an agent may well be named like its key by its owner: those are no refusals.
  await world.sweep();
  const kept = await dump(env.DB);

  const secrets = [...credentials.flatMap(forms), ...forms(env.ADMIN_TOKEN), ...forms(env.ROOT_SECRET), ...rootForms()];
  const problems = refusals.filter((text) => text.includes('"code"'));
  expect(problems.length).toBeGreaterThan(50);
  expect(logged.length).toBeGreaterThan(0);
  for (const secret of secrets) {
    expect(kept.includes(secret), `the database holds ${secret}`).toBe(false);
    expect(logged.join('\n').includes(secret), `the log holds ${secret}`).toBe(false);
    expect(problems.join('\n').includes(secret), `a refusal holds ${secret}`).toBe(false);
  }
});

it('would find a credential that was stored', async () => {
  const world = new World();
  const account = await world.account();
  await account.must(201, 'POST', '/v1/agents', { name: account.token });
  expect((await dump(env.DB)).includes(account.token)).toBe(true);
});

/** A credential as it could be written down: whole, without its prefix, in hex, in base64, and its secret part. */
function forms(credential: string): string[] {
  const bytes = new TextEncoder().encode(credential);
  const secret = credential.includes('.') ? (credential.split('.')[2] ?? '') : credential.slice(12, -6);
  return [
    credential,
    secret,
    bytes.toHex(),
    bytes.toHex().toUpperCase(),
    bytes.toBase64({ omitPadding: true }).slice(0, -2),
  ];
}

function rootForms(): string[] {
  const root = Uint8Array.fromBase64(env.ROOT_SECRET);
  return [root.toHex(), root.toHex().toUpperCase(), new TextDecoder().decode(root)];
}

/** Every value of every table, as text and, where it is a blob, in hex. */
async function dump(database: D1Database): Promise<string> {
  const { results: tables } = await database
    .prepare(`select name from sqlite_schema where type = 'table' and name not like '\\_cf%' escape '\\'`)
    .all<{ name: string }>();
  const lines: string[] = [];
  for (const { name } of tables) {
    for (const row of await database.prepare(`select * from ${name}`).raw()) {
      for (const value of row) {
        lines.push(Array.isArray(value) ? Uint8Array.from(value).toHex() : String(value));
        if (Array.isArray(value)) lines.push(new TextDecoder().decode(Uint8Array.from(value)));
      }
    }
  }
  return lines.join('\n');
}
