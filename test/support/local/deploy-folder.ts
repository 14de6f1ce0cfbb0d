import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ROOT } from '../../../src/tools/project.ts';
import { FakeCloudflare, TOKEN } from './fake-cloudflare.ts';
import { copyProject } from './project.ts';

/** How a run of `npm run deploy` ended. */
export interface DeployRun {
  code: number | null;
  stdout: string;
  stderr: string;
  /** What was changed at Cloudflare, and in the service. */
  writes: string[];
}

/** A copy of the project that is deployed to a Cloudflare of its own, with two shards. */
export class DeployFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'countersign-deploy-'));
  readonly cloudflare = new FakeCloudflare();
  /** All that was printed, and all that was written for wrangler. */
  printed = '';

  async open(): Promise<void> {
    copyProject(this.path);
    cpSync(join(ROOT, 'package-lock.json'), join(this.path, 'package-lock.json'));
    await this.cloudflare.start();
  }

  close(): void {
    this.cloudflare.stop();
    rmSync(this.path, { recursive: true, maxRetries: 5, retryDelay: 200 });
  }

  read(name: string): string {
    return readFileSync(join(this.path, name), 'utf8');
  }

  /** Runs the program of `npm run deploy`. The service gets a second to answer. */
  async deploy(words: string[] = [], variables: NodeJS.ProcessEnv = {}): Promise<DeployRun> {
    this.cloudflare.calls = [];
    const preload = join(import.meta.dirname, 'redirect-fetch.mjs');
    const { CLOUDFLARE_ACCOUNT_ID: _, ADMIN_TOKEN: __, ...inherited } = process.env;
    const { origin } = this.cloudflare;
    const child = spawn(
      process.execPath,
      ['--import', preload, 'src/tools/deploy.ts', '--wait', '1', ...words],
      {
        cwd: this.path,
        env: {
          ...{
            ...inherited,
            HOME: this.path,
            XDG_CONFIG_HOME: this.path,
            NODE_COMPILE_CACHE: join(this.path, '.cache'),
          },
          ...{
            CLOUDFLARE_API_BASE_URL: origin,
            CLOUDFLARE_API_TOKEN: TOKEN,
            SERVED_BY: origin,
            ...variables,
          },
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const [stdout, stderr, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      exit,
    ]);
    this.printed += stdout + stderr;
    const writes = this.cloudflare.writes().map(({ kind }) => kind);
    return { code, stdout, stderr, writes };
  }
}
