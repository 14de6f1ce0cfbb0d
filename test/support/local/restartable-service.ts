import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { triggerCrons } from '../../../src/tools/crons.ts';
import { ROOT, readDeployment } from '../../../src/tools/project.ts';
import { environment, freePort, wranglerScript } from './service.ts';

const START_LIMIT = 240_000;

/** A service that can be killed and started again with the same port and data. */
export class Service {
  readonly origin: string;
  readonly crons = readDeployment().crons;
  kills = 0;
  private readonly state: string;
  private readonly port: number;
  private readonly project: string;
  private child: ChildProcess | null = null;
  private crowing = new AbortController();
  private wakeUp: () => void = () => undefined;
  private up: Promise<void> = Promise.resolve();

  /** @param project the folder that wrangler.toml is in */
  constructor(state: string, port: number, project = ROOT) {
    this.state = state;
    this.project = project;
    this.port = port;
    this.origin = `http://127.0.0.1:${port}`;
    this.goDown();
  }

  /**
   * Starts the service and waits until it answers. Tries again while another process has its port.
   */
  async start(): Promise<void> {
    let child = await this.spawn();
    for (const deadline = Date.now() + START_LIMIT; ; await sleep(100)) {
      const answer = await fetch(`${this.origin}/healthz`).catch(() => null);
      if (child.exitCode === null && answer?.ok) break;
      if (Date.now() > deadline) {
        await this.end('SIGKILL');
        throw new Error(`the service did not start: see ${this.state}/service.log`);
      }
      if (child.exitCode === null) continue;
      if (child.pid) killGroup(child.pid);
      child = await this.spawn();
    }
    this.wakeUp();
  }

  private async spawn(): Promise<ChildProcess> {
    const child = spawn(
      process.execPath,
      [
        ...[wranglerScript, 'dev', '--ip', '127.0.0.1', '--port', String(this.port)],
        ...['--inspector-port', String(await freePort())],
        ...['--persist-to', this.state, '--env-file', join(this.state, 'variables.env')],
        ...[
          '--var',
          `PUBLIC_URL:${this.origin}`,
          '--log-level',
          'warn',
          '--show-interactive-dev-session=false',
        ],
      ],
      // A process group of its own, so that all its processes can be killed together.
      {
        cwd: this.project,
        env: environment(this.state),
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      },
    );
    this.child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => appendFileSync(join(this.state, 'service.log'), chunk));
    }
    return child;
  }

  /** Resolves when the service answers. */
  untilUp(): Promise<void> {
    return this.up;
  }

  /** Triggers the crons as `npm start` does, until the service ends. */
  beginCrons(): void {
    this.crowing = new AbortController();
    void triggerCrons(this.origin, this.crons, this.crowing.signal);
  }

  /** Triggers every cron once, and waits for each. */
  async triggerCrons(): Promise<void> {
    for (const cron of this.crons) {
      const answer = await fetch(
        `${this.origin}/cdn-cgi/local/scheduled?cron=${encodeURIComponent(cron)}`,
      );
      if (!answer.ok) throw new Error(`the cron ${cron} failed: ${answer.status}`);
      await answer.text();
    }
  }

  /** Kills all its processes without a shutdown. */
  async kill(): Promise<void> {
    this.kills += 1;
    await this.end('SIGKILL');
  }

  /** Shuts the service down. */
  stop(): Promise<void> {
    return this.end('SIGINT');
  }

  private async end(signal: 'SIGKILL' | 'SIGINT'): Promise<void> {
    this.crowing.abort();
    this.goDown();
    const child = this.child;
    this.child = null;
    if (!child?.pid) return;
    const ended =
      child.exitCode === null &&
      child.signalCode === null &&
      new Promise((end) => child.once('exit', end));
    if (signal === 'SIGINT') {
      child.kill('SIGINT');
      await ended;
    }
    killGroup(child.pid);
    await ended;
  }

  private goDown(): void {
    this.up = new Promise((resolve) => {
      this.wakeUp = resolve;
    });
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
