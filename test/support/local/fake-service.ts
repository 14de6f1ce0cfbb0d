import type { IncomingHttpHeaders } from 'node:http';
import type { FakeAccount } from './fake-account.ts';
import type { Answer } from './fake-answer.ts';

const WORKER = 'countersign';

/**
 * Answers for the Worker that is deployed to a fake account: its health, and the creation of
 * accounts.
 */
export class FakeService {
  readonly accounts: { id: string; email: string; plan: string; created_at: string }[] = [];
  private readonly answers = new Map<string, Answer>();
  private readonly findAccount: () => FakeAccount;
  /** Why the service is not healthy, although it is deployed. */
  isBroken = false;

  constructor(findAccount: () => FakeAccount) {
    this.findAccount = findAccount;
  }

  answer(
    method: string,
    host: string,
    path: string,
    headers: IncomingHttpHeaders,
    body: string,
  ): Answer {
    const account = this.findAccount();
    const worker = account.workers.get(WORKER);
    const isServed =
      account.domains.get(host) === WORKER ||
      (worker?.servesWorkersDev && host === `${WORKER}.${account.subdomain}.workers.dev`);
    const running = worker?.deployments[0]?.versions[0]?.version_id;
    const version = worker?.versions.find(({ id }) => id === running);
    if (!isServed || !version) return { status: 404, body: 'There is nothing here yet' };
    const setting = (name: string) =>
      version.bindings.find((binding) => binding.name === name)?.text;
    const bound = version.bindings.filter(({ type }) => type === 'd1');
    const hasTables = bound.every(({ id, database_id }) => {
      const database = account.databases.get(String(id ?? database_id))?.database;
      return (
        database?.prepare(`select 1 from sqlite_master where name = 'accounts'`).get() !== undefined
      );
    });
    const isHealthy =
      hasTables && setting('ROOT_SECRET') && setting('PUBLIC_URL') === `https://${host}`;
    if (this.isBroken || !isHealthy || bound.length === 0)
      return { status: 503, body: { code: 'unavailable', detail: '' } };
    if (path === '/healthz') return { status: 200, body: { status: 'ok' } };
    if (headers.authorization !== `Bearer ${setting('ADMIN_TOKEN')}`)
      return { status: 401, body: { code: 'unauthorized', detail: 'The credential is unknown.' } };
    if (method === 'GET') {
      const email = new URL(path, 'https://x.test').searchParams.get('email');
      return {
        status: 200,
        body: { data: this.accounts.filter((made) => made.email === email), next_cursor: null },
      };
    }
    return this.create(String(headers['idempotency-key']), host, JSON.parse(body));
  }

  private create(
    key: string,
    host: string,
    { email, plan }: { email: string; plan: string },
  ): Answer {
    const stored = this.answers.get(key);
    if (stored) return stored;
    const account = {
      id: `user_${this.accounts.length}`,
      email,
      plan,
      created_at: new Date().toISOString(),
    };
    this.accounts.push(account);
    const invitation = {
      url: `https://${host}/console/join/secret-${key}`,
      expires_at: '2026-12-01T00:00:00.000Z',
    };
    const answer = {
      status: 201,
      body: { ...account, token: { token: 'csu_never_shown' }, owner: { invitation } },
    };
    this.answers.set(key, answer);
    return answer;
  }
}
