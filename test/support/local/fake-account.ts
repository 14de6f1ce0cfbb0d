import type { IncomingHttpHeaders } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { type Answer, failure, newId, success } from './fake-answer.ts';
import { FakeWorkers } from './fake-workers.ts';

const ACCOUNT = '0123456789abcdef0123456789abcdef';

interface FakeQueue {
  queue_id: string;
  queue_name: string;
  consumers: { consumer_id: string; type: string; script: string; dead_letter_queue?: string }[];
}

/** What a Cloudflare account holds, and the answers of its API about that. */
export class FakeAccount extends FakeWorkers {
  accounts = [{ id: ACCOUNT, name: 'Acme' }];
  databases = new Map<string, { uuid: string; name: string; database: DatabaseSync }>();
  buckets = new Map<string, { rules: { id: string }[] }>();
  queues = new Map<string, FakeQueue>();
  subdomain: string | null = 'acme';
  hasR2 = true;
  /** What the API does not know, for the test to look at. */
  unknown: string[] = [];

  /** Answers one call of the API. */
  async answer(
    method: string,
    url: string,
    headers: IncomingHttpHeaders,
    body: Buffer,
  ): Promise<Answer> {
    const { pathname, searchParams } = new URL(url, 'http://api.test');
    const [, , id, ...path] = pathname.split('/');
    const info = { page: 1, per_page: 50, count: 1, total_count: 1, total_pages: 1 };
    if (pathname === '/accounts') return success(this.accounts, info);
    if (pathname === '/memberships')
      return success(
        this.accounts.map((account) => ({ id: account.id, account })),
        info,
      );
    if (id !== ACCOUNT) return failure(404, 7_003, `no such account: ${url}`);
    const text = body.toString();
    const json = () => JSON.parse(text);
    const route = `${method} ${path.slice(0, 2).join('/')}`;
    const answer =
      (path[0] === 'd1' && this.answerDatabase(method, path.slice(2), text)) ||
      (path[0] === 'r2' && this.answerBucket(method, path.slice(2), text)) ||
      (path[0] === 'queues' && this.answerQueue(method, path.slice(1), searchParams, text)) ||
      (path[1] === 'scripts' && (await this.answerScript(method, path.slice(2), headers, body))) ||
      (route === 'GET workers/services' && this.answerService(path[2] ?? '')) ||
      (route === 'GET workers/workers' && this.answerWorker(path[2] ?? '')) ||
      (route === 'GET workers/domains' && success(this.listDomains(searchParams))) ||
      (route === 'GET workers/subdomain' && this.answerSubdomain()) ||
      (route === 'PUT workers/subdomain' && this.register(json().subdomain));
    if (answer) return answer;
    this.unknown.push(`${method} ${url}`);
    return failure(404, 7_000, `no such address: ${method} ${url}`);
  }

  private register(subdomain: string): Answer {
    this.subdomain = subdomain;
    return this.answerSubdomain();
  }

  private answerSubdomain(): Answer {
    if (this.subdomain !== null) return success({ subdomain: this.subdomain });
    return failure(404, 10_007, 'There is no workers.dev subdomain on this account');
  }

  private answerDatabase(
    method: string,
    [key = '', action]: string[],
    text: string,
  ): Answer | null {
    if (key === '' && method === 'POST') {
      const { name } = JSON.parse(text) as { name: string };
      if ([...this.databases.values()].some((database) => database.name === name))
        return failure(400, 7_502, 'A database with that name already exists');
      const database = { uuid: newId(), name, database: new DatabaseSync(':memory:') };
      this.databases.set(database.uuid, database);
      return success({ uuid: database.uuid, name });
    }
    const found =
      this.databases.get(key) ?? [...this.databases.values()].find(({ name }) => name === key);
    if (!found) return failure(404, 7_404, `The database ${key} could not be found`);
    if (method === 'GET')
      return success({ uuid: found.uuid, name: found.name, version: 'production' });
    return action === 'query'
      ? runQuery(found.database, (JSON.parse(text) as { sql: string }).sql)
      : null;
  }

  private answerBucket(method: string, [name, action]: string[], text: string): Answer | null {
    if (!this.hasR2)
      return failure(403, 10_042, 'Please enable R2 through the Cloudflare Dashboard.');
    if (name === undefined) {
      const bucket = (JSON.parse(text) as { name: string }).name;
      if (this.buckets.has(bucket))
        return failure(409, 10_004, 'The bucket you tried to create already exists');
      this.buckets.set(bucket, { rules: [{ id: 'Default Multipart Abort Rule' }] });
      return success({ name: bucket });
    }
    const bucket = this.buckets.get(name);
    if (!bucket) return failure(404, 10_006, 'The specified bucket does not exist.');
    if (action === 'lifecycle' && method === 'PUT') bucket.rules = JSON.parse(text).rules;
    return success(action === 'lifecycle' ? { rules: bucket.rules } : { name });
  }

  private answerQueue(
    method: string,
    [id, , consumer]: string[],
    search: URLSearchParams,
    text: string,
  ): Answer | null {
    if (id === undefined && method === 'GET') {
      const names = search.getAll('name');
      const queues = [...this.queues.values()].filter((queue) => names.includes(queue.queue_name));
      return success(queues, {
        page: 1,
        per_page: 100,
        total_count: queues.length,
        total_pages: 1,
      });
    }
    if (id === undefined) {
      const name = (JSON.parse(text) as { queue_name: string }).queue_name;
      if (this.queues.has(name))
        return failure(409, 11_009, `Queue name '${name}' is already taken.`);
      this.queues.set(name, { queue_id: newId(), queue_name: name, consumers: [] });
      return success(this.queues.get(name));
    }
    const queue = [...this.queues.values()].find(({ queue_id }) => queue_id === id);
    if (!queue) return null;
    const { script_name: script, dead_letter_queue, type } = JSON.parse(text);
    if (!this.queues.has(dead_letter_queue))
      return failure(400, 11_003, 'Dead letter queue not found');
    if (!consumer && queue.consumers.length > 0)
      return failure(409, 11_004, 'This queue already has a consumer.');
    queue.consumers = [{ consumer_id: consumer ?? newId(), type, script, dead_letter_queue }];
    return success(queue.consumers[0]);
  }
}

/** Runs statements as D1 does: all or none. */
function runQuery(database: DatabaseSync, sql: string): Answer {
  const meta = {
    served_by: 'v3-prod',
    duration: 0.2,
    changes: 0,
    last_row_id: 0,
    changed_db: false,
    size_after: 8_192,
  };
  try {
    if (/^\s*select/i.test(sql))
      return success([{ results: database.prepare(sql).all(), success: true, meta }]);
    database.exec('begin');
    database.exec(sql);
    database.exec('commit');
    return success([{ results: [], success: true, meta }]);
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    return failure(400, 7_500, `${error instanceof Error ? error.message : error}: SQLITE_ERROR`);
  }
}
