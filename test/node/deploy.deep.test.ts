import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeployFolder, type DeployRun } from '../support/local/deploy-folder';
import { FakeAccount } from '../support/local/fake-account';

const HOUR = 3_600_000;
const OWNER = 'owner@example.com';
const TAKEN = 'taken.example.com';

/** The lines of a run by their marks. */
function marked({ stdout }: DeployRun, mark: string): string[] {
  return stdout.split('\n').filter((line) => line.startsWith(mark));
}

describe('npm run deploy, from an empty account to updates', { timeout: 600_000 }, () => {
  const folder = new DeployFolder();
  const { cloudflare } = folder;

  beforeAll(() => folder.open());
  afterAll(() => folder.close());

  it('shows the plan with --dry-run and changes nothing', async () => {
    const run = await folder.deploy(['--dry-run']);
    expect(run).toMatchObject({ code: 0, stderr: '', writes: [] });
    expect(marked(run, '+').join('\n')).toMatch(
      /database +countersign \(DB\)[\s\S]*(\d+) of \1[\s\S]*code +a new version/,
    );
    expect(
      ['.deploy.vars', 'wrangler.remote.toml', 'dist'].filter((name) =>
        existsSync(join(folder.path, name)),
      ),
    ).toEqual([]);
  });

  it('shows the plan for an empty account with --dry-run where there is no login', async () => {
    const run = await folder.deploy(['--dry-run'], { CLOUDFLARE_API_TOKEN: '' });
    expect(run).toMatchObject({ code: 0, stderr: '', writes: [] });
    expect(run.stdout).toMatch(
      /^· Cloudflare +no login: the plan for an account in which nothing exists\n/,
    );
    expect(marked(run, '+').join('\n')).toMatch(
      /database +countersign \(DB\)[\s\S]*(\d+) of \1[\s\S]*code +a new version/,
    );
    expect(run.stdout).toMatch(/Sign in to see what exists: npx wrangler login\n$/);
    expect(existsSync(join(folder.path, '.deploy.vars'))).toBe(false);
  });

  it.each([
    ['the token is wrong', { CLOUDFLARE_API_TOKEN: 'wrong' }, /Sign in again: npx wrangler login/],
    [
      'there is no login',
      { CLOUDFLARE_API_TOKEN: '' },
      /Cannot read the Cloudflare login\. npx wrangler .*\nNot logged in/,
    ],
    ['R2 is off', {}, /not switched R2 on/],
    [
      'the login has several accounts',
      {},
      /several accounts.*\n +Acme \(0123.*\n +Other\\u\{1b\}\[2J \(f/,
    ],
    ['another Worker consumes a queue', {}, /The Worker shop consumes the queue jobs/],
    ['there is no name under workers.dev', {}, /--subdomain acme/],
  ])('stops before it changes anything if %s', async (what, variables, message) => {
    const account = new FakeAccount();
    cloudflare.account = account;
    if (what.includes('R2')) account.hasR2 = false;
    if (what.includes('several'))
      account.accounts.push({ id: 'f'.repeat(32), name: 'Other\u001b[2J' });
    if (what.includes('workers.dev')) account.subdomain = null;
    if (what.includes('another')) {
      const consumers = [{ consumer_id: 'c', type: 'worker', script: 'shop' }];
      account.queues.set('jobs', { queue_id: 'q', queue_name: 'jobs', consumers });
    }
    const run = await folder.deploy([], variables);
    expect(run).toMatchObject({ code: 1, writes: [] });
    expect(run.stderr).toMatch(message);
    expect(run.stderr).toMatch(/Nothing was changed\.\n$/);
    expect(run.stdout).toMatch(/^✗ Cloudflare /);
    cloudflare.account = new FakeAccount();
  });

  it.each([
    ['--domain', ['--domain', TAKEN]],
    ['a route in wrangler.toml', []],
    ['the deployed PUBLIC_URL', []],
  ])('refuses the domain of another Worker that comes from %s', async (source, words) => {
    const account = new FakeAccount();
    cloudflare.account = account;
    account.domains.set(TAKEN, 'shop');
    const settings = folder.read('wrangler.toml');
    if (source.includes('route')) {
      const routes = `routes = [{ pattern = "${TAKEN}", custom_domain = true }]`;
      writeFileSync(join(folder.path, 'wrangler.toml'), `${routes}\n${settings}`);
    }
    if (source.includes('deployed')) {
      const bindings = [{ type: 'plain_text', name: 'PUBLIC_URL', text: `https://${TAKEN}` }];
      const versions = [{ id: 'v', bindings, annotations: {} }];
      account.workers.set('countersign', {
        versions,
        deployments: [],
        crons: [],
        servesWorkersDev: false,
      });
    }
    const run = await folder.deploy(['--dry-run', ...words]);
    expect(run).toMatchObject({ code: 1, writes: [] });
    expect(run.stderr).toMatch(
      /^taken\.example\.com is served by the Worker shop\. .*\n\nNothing was changed\.\n$/,
    );
    writeFileSync(join(folder.path, 'wrangler.toml'), settings);
    cloudflare.account = new FakeAccount();
  });

  it('makes everything and prints the invitation of the owner', async () => {
    const run = await folder.deploy(['--email', OWNER]);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(marked(run, '✗')).toEqual([]);
    const invitations = run.stdout.match(
      /https:\/\/countersign\.acme\.workers\.dev\/console\/join\/\S+/g,
    );
    expect(invitations).toHaveLength(1);
    expect(run.stdout).not.toContain('csu_');
    expect(cloudflare.account.unknown).toEqual([]);
    expect([...cloudflare.account.buckets.values()][0]?.rules.map(({ id }) => id)).toContain(
      'leftovers',
    );
    expect(
      [...cloudflare.account.queues.values()].flatMap(({ consumers }) => consumers),
    ).toHaveLength(3);
    expect(cloudflare.service.accounts).toMatchObject([{ email: OWNER, plan: 'pro' }]);
  });

  it('keeps the secrets in a file of the operator, and shows them nowhere', () => {
    const secrets = parseEnv(folder.read('.deploy.vars'));
    expect(Object.keys(secrets).sort()).toEqual(['ADMIN_TOKEN', 'ROOT_SECRET']);
    expect(Buffer.from(secrets.ROOT_SECRET ?? '', 'base64')).toHaveLength(32);
    expect(statSync(join(folder.path, '.deploy.vars')).mode & 0o777).toBe(0o600);
    const kept = readdirSync(folder.path, { recursive: true, withFileTypes: true }).filter(
      (entry) =>
        entry.isFile() &&
        !entry.parentPath.includes('node_modules') &&
        entry.name !== '.deploy.vars',
    );
    for (const secret of Object.values(secrets)) {
      expect(folder.printed).not.toContain(secret);
      for (const { parentPath, name } of kept) {
        expect([
          name,
          folder.read(join(parentPath, name).slice(folder.path.length)).includes(String(secret)),
        ]).toEqual([name, false]);
      }
    }
  });

  it('changes nothing when it is repeated', async () => {
    const run = await folder.deploy(['--email', OWNER]);
    expect(run).toMatchObject({ code: 0, stderr: '', writes: [] });
    expect(marked(run, '+')).toEqual([]);
    const elsewhere = await folder.deploy([], { CLOUDFLARE_ACCOUNT_ID: 'f'.repeat(32) });
    expect(elsewhere.stderr).toContain(
      'Deploy to another account from another copy of the folder.',
    );
  });

  it('shows an invitation whose answer was lost, also after a run for another address', async () => {
    const words = ['--email', 'lost@example.com'];
    cloudflare.fail = ({ kind }) => (kind === 'POST service /v1/admin/users' ? 'lost' : null);
    expect((await folder.deploy(words)).stderr).toMatch(
      /^The service did not answer\.\n\nThe steps above are complete\. .*it continues here\.\n$/,
    );
    cloudflare.fail = () => null;
    expect((await folder.deploy(['--email', 'other@example.com'])).stdout).toContain(
      'Invitation for other@',
    );
    expect((await folder.deploy(words)).stdout).toMatch(
      /Invitation for lost@.*\n\n +https:.*\/console\/join\/secret-/,
    );
    expect(cloudflare.service.accounts.map(({ email }) => email)).toEqual([
      OWNER,
      'lost@example.com',
      'other@example.com',
    ]);
  });

  it('applies a contraction only after the version that contains it has run', async () => {
    // An earlier run left the contraction for wrangler, beside a migration that is pending.
    for (const directory of ['migrations', 'dist/migrations']) {
      writeFileSync(
        join(folder.path, directory, '0899_new.sql'),
        'CREATE INDEX `accounts_by_plan` ON `accounts` (`plan`);',
      );
      writeFileSync(
        join(folder.path, directory, '0900_old.sql'),
        '-- contract: the inbox lists by another index\nDROP INDEX `permissions_waiting`;',
      );
    }
    const first = await folder.deploy();
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.writes.filter((kind) => kind.endsWith('migration'))).toHaveLength(2);
    expect(marked(first, '·')).toEqual([
      expect.stringContaining('0900_old.sql: applied by a deployment after'),
    ]);
    // Cloudflare says that the version was deployed an hour ago.
    for (const deployment of cloudflare.account.workers.get('countersign')?.deployments ?? [])
      deployment.created_on = new Date(Date.now() - HOUR).toISOString();
    const second = await folder.deploy();
    expect(second.writes.filter((kind) => kind.endsWith('migration'))).toHaveLength(2);
    expect(marked(second, '·')).toEqual([]);
  });

  it('refuses a migration that would break the running version', async () => {
    writeFileSync(join(folder.path, 'migrations/0901_drop.sql'), 'DROP TABLE `receivers`;');
    const run = await folder.deploy();
    expect(run).toMatchObject({ code: 1, writes: [] });
    expect(run.stderr).toContain(
      '0901_drop.sql would break the version that is running, because it drops the table receivers',
    );
    rmSync(join(folder.path, 'migrations/0901_drop.sql'));
  });

  it('says when the service does not become healthy', async () => {
    cloudflare.service.isBroken = true;
    const run = await folder.deploy();
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(
      /healthz was answered 503\.\n\n.*npx wrangler tail countersign[\s\S]*it continues here/,
    );
    cloudflare.service.isBroken = false;
  });

  it('refuses another address unless that is meant, and a domain with a DNS record', async () => {
    const words = ['--domain', 'countersign.example.com'];
    expect((await folder.deploy(words)).stderr).toMatch(
      /no passkey works[\s\S]*Nothing was changed/,
    );
    cloudflare.account.records.add('countersign.example.com');
    const refused = await folder.deploy([...words, '--change-address']);
    expect(refused.stderr).toMatch(/has a DNS record[\s\S]*--replace-dns[\s\S]*it continues here/);
    expect(cloudflare.account.domains.size).toBe(0);
    const run = await folder.deploy([...words, '--replace-dns']);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect([...cloudflare.account.domains]).toEqual([['countersign.example.com', 'countersign']]);
    expect(await folder.deploy()).toMatchObject({ code: 0, writes: [] });
  });

  it('makes no new root secret for a database that has accounts', async () => {
    cloudflare.account.workers.clear();
    writeFileSync(join(folder.path, '.deploy.vars'), '');
    for (const { database } of cloudflare.account.databases.values())
      database.exec(
        `insert into accounts (id, email, plan, is_active, created_at, updated_at) values (x'01', '', 0, 1, 0, 0)`,
      );
    const run = await folder.deploy();
    expect(run.stderr).toMatch(
      /has accounts, but neither the Worker nor \.deploy\.vars has their root secret/,
    );
    expect(folder.read('.deploy.vars')).not.toContain('ROOT_SECRET');
  });
});
