import type { IncomingHttpHeaders } from 'node:http';
import { type Answer, failure, newId, success } from './fake-answer.ts';

/** A version of a Worker, as it was uploaded. */
export interface FakeVersion {
  id: string;
  bindings: { type: string; name: string; [field: string]: unknown }[];
  annotations: Record<string, string>;
}

interface FakeWorker {
  versions: FakeVersion[];
  deployments: {
    id: string;
    created_on: string;
    versions: { version_id: string; percentage: number }[];
  }[];
  crons: string[];
  servesWorkersDev: boolean;
}

/**
 * The Workers of a Cloudflare account with their versions and domains, and the answers of its API
 * about them.
 */
export class FakeWorkers {
  workers = new Map<string, FakeWorker>();
  /** The Worker that each custom domain is attached to. */
  domains = new Map<string, string>();
  /** Hosts with a DNS record. */
  records = new Set<string>();
  zones = ['example.com'];

  protected listDomains(search: URLSearchParams): object[] {
    const [hostname, service] = [search.get('hostname'), search.get('service')];
    return [...this.domains]
      .filter(
        ([host, worker]) => (!hostname || host === hostname) && (!service || worker === service),
      )
      .map(([host, worker]) => ({
        id: host,
        hostname: host,
        service: worker,
        environment: 'production',
      }));
  }

  protected answerService(name: string): Answer {
    if (!this.workers.has(name)) return failure(404, 10_090, 'workers.api.error.service_not_found');
    const script = { tag: 'tag', tags: [`cf:service=${name}`], last_deployed_from: 'wrangler' };
    return success({ default_environment: { environment: 'production', script } });
  }

  protected answerWorker(name: string): Answer {
    const worker = this.workers.get(name);
    if (!worker) return failure(404, 10_007, 'This Worker does not exist on your account.');
    return success({
      id: name,
      name,
      subdomain: { enabled: worker.servesWorkersDev, previews_enabled: false },
    });
  }

  protected async answerScript(
    method: string,
    [name = '', ...path]: string[],
    headers: IncomingHttpHeaders,
    body: Buffer,
  ): Promise<Answer | null> {
    const route = `${method} ${path.join('/')}`;
    if (route === 'POST assets-upload-session') return success({ jwt: 'e30.e30.e30', buckets: [] });
    if (route === 'PUT ') return this.upload(name, headers, body, true);
    const worker = this.workers.get(name);
    if (!worker) return failure(404, 10_007, 'This Worker does not exist on your account.');
    const current = worker.versions.at(-1);
    const json = () => JSON.parse(body.toString());
    switch (route.replace(/^GET versions\/.*/, 'GET version')) {
      case 'POST versions':
        return this.upload(name, headers, body, false);
      case 'POST deployments':
        this.deploy(worker, json().versions);
        return success({ id: worker.deployments[0]?.id });
      case 'GET deployments':
        return success({ deployments: worker.deployments });
      case 'GET version':
        return success(worker.versions.find(({ id }) => id === path[1]));
      case 'GET settings':
        return success({ bindings: hideSecrets(current?.bindings ?? []) });
      case 'GET secrets':
        return success(
          hideSecrets(current?.bindings ?? []).filter(({ type }) => type === 'secret_text'),
        );
      case 'PUT secrets': {
        // A new version without a tag, deployed at once.
        const { name: secret, text } = json();
        const kept = (current?.bindings ?? []).filter((binding) => binding.name !== secret);
        const bindings = [...kept, { type: 'secret_text', name: secret, text }];
        worker.versions.push({ id: newId(), bindings, annotations: {} });
        this.deploy(worker, [{ version_id: worker.versions.at(-1)?.id ?? '', percentage: 100 }]);
        return success({ name: secret, type: 'secret_text' });
      }
      case 'PATCH script-settings':
        return success({});
      case 'GET schedules':
        return success({ schedules: worker.crons.map((cron) => ({ cron })) });
      case 'PUT schedules':
        worker.crons = json().map(({ cron }: { cron: string }) => cron);
        return success({ schedules: [] });
      case 'GET subdomain':
        return success({ enabled: worker.servesWorkersDev, previews_enabled: false });
      case 'POST subdomain':
        worker.servesWorkersDev = json().enabled;
        return success({ enabled: worker.servesWorkersDev, previews_enabled: false });
      case 'POST domains/changeset': {
        const hosts = json().map(({ hostname }: { hostname: string }) => hostname) as string[];
        const conflicting = hosts.filter(
          (host) => this.records.has(host) && !this.domains.has(host),
        );
        return success({
          added: [],
          removed: [],
          updated: [],
          conflicting: conflicting.map((hostname) => ({ hostname })),
        });
      }
      case 'PUT domains/records':
        return this.attach(name, json().origins);
      default:
        return null;
    }
  }

  private attach(name: string, origins: { hostname: string }[]): Answer {
    const foreign = origins.find(
      ({ hostname }) => !this.zones.some((zone) => `.${hostname}`.endsWith(`.${zone}`)),
    );
    if (foreign) return failure(400, 100_117, `Could not find zone for ${foreign.hostname}.`);
    for (const [host, worker] of this.domains) if (worker === name) this.domains.delete(host);
    for (const { hostname } of origins) this.domains.set(hostname, name);
    return success([]);
  }

  private async upload(
    name: string,
    headers: IncomingHttpHeaders,
    body: Buffer,
    deploys: boolean,
  ): Promise<Answer> {
    const type = headers['content-type'] ?? '';
    const form = await new Response(new Uint8Array(body), {
      headers: { 'Content-Type': type },
    }).formData();
    const metadata = JSON.parse(String(form.get('metadata'))) as {
      bindings: FakeVersion['bindings'];
      annotations?: Record<string, string>;
    };
    const worker = this.workers.get(name) ?? {
      versions: [],
      deployments: [],
      crons: [],
      servesWorkersDev: false,
    };
    this.workers.set(name, worker);
    // Secrets and variables that an upload does not name stay.
    const kept = (worker.versions.at(-1)?.bindings ?? []).filter(
      ({ type, name }) =>
        ['secret_text', 'plain_text'].includes(type) &&
        !metadata.bindings.some((binding) => binding.name === name),
    );
    const bindings = [...metadata.bindings.filter(({ type }) => type !== 'inherit'), ...kept];
    const version = { id: newId(), bindings, annotations: metadata.annotations ?? {} };
    worker.versions.push(version);
    if (deploys) this.deploy(worker, [{ version_id: version.id, percentage: 100 }]);
    return success({
      id: version.id,
      deployment_id: version.id.replaceAll('-', ''),
      startup_time_ms: 30,
      resources: { script: { etag: 'e' } },
    });
  }

  private deploy(
    worker: FakeWorker,
    versions: FakeWorker['deployments'][number]['versions'],
  ): void {
    worker.deployments.unshift({ id: newId(), created_on: new Date().toISOString(), versions });
  }
}

function hideSecrets(bindings: FakeVersion['bindings']): FakeVersion['bindings'] {
  return bindings.map(({ text, ...binding }) =>
    binding.type === 'secret_text' ? binding : { ...binding, text },
  );
}
