import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CodingTool } from '../../../src/packages/client/cli/hook/tool.ts';
import type { JsonObject } from '../../../src/packages/client/json.ts';
import { ROOT } from '../../../src/tools/project.ts';
import { type NextToolUse, startModelServer } from './model-server.ts';

/** The program of the command line, as the hooks start it. */
export const MAIN = join(ROOT, 'src/packages/client/cli/main.ts');

/** The coding agents that have a package and run without an account. */
export type RealTool = Exclude<CodingTool, 'cursor'>;

const PROGRAMS: Record<RealTool, string> = { 'claude-code': 'claude', codex: 'codex' };

/** The settings of both tools. */
interface HookSettings {
  hooks: Record<string, { matcher: string; hooks: JsonObject[] }[]>;
}

/** The program of a tool in the folder that `CODING_TOOLS` names; null where there is none. */
export function programOf(tool: RealTool): string | null {
  const { CODING_TOOLS: folder } = process.env;
  const program = folder && join(folder, 'node_modules/.bin', PROGRAMS[tool]);
  return program && existsSync(program) ? program : null;
}

/** What a tool has done. */
export interface Session {
  /** What each call gave the model. */
  results: string[];
  /** The events that it sent to its hooks. */
  events: JsonObject[];
  output: string;
}

interface Options {
  /** More options of the tool. */
  options?: string[];
  env?: Record<string, string>;
  /** The model that Codex takes the stand-in for. */
  model?: string;
}

/** A coding agent with a home of its own and a model that the test speaks for. */
export class RealCodingTool {
  readonly project: string;
  readonly #tool: RealTool;
  readonly #program: string;
  readonly #home: string;

  constructor(tool: RealTool, program: string, home: string) {
    this.#tool = tool;
    this.#program = program;
    this.#home = home;
    this.project = join(home, 'project');
    mkdirSync(this.project, { recursive: true });
  }

  /** Installs the hooks of Countersign, and beside them one that writes the events down. */
  install(rules: string): void {
    const args = [MAIN, 'hook', 'install', this.#tool, '--rules', rules, '--yes'];
    const { status, stderr } = spawnSync(process.execPath, args, {
      env: this.#environment(),
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
    const command = `cat >> '${this.#eventsFile}'; echo >> '${this.#eventsFile}'`;
    this.#changeSettings((entries) => {
      const isThere = entries.some(({ command: other }) => other === command);
      return isThere ? null : { type: 'command', command, timeout: 10 };
    });
  }

  /** Changes what `hook install` wrote. */
  changeHandlers(change: (handler: JsonObject) => void): void {
    this.#changeSettings((handlers) => {
      handlers.filter((handler) => JSON.stringify(handler).includes(MAIN)).forEach(change);
      return null;
    });
  }

  /** Shows the handlers of each event to a function, and adds the one that it returns. */
  #changeSettings(change: (handlers: JsonObject[]) => JsonObject | null): void {
    const name = this.#tool === 'codex' ? '.codex/hooks.json' : '.claude/settings.json';
    const file = join(this.#home, name);
    const settings: HookSettings = JSON.parse(readFileSync(file, 'utf8'));
    for (const entries of Object.values(settings.hooks)) {
      const added = change(entries.flatMap(({ hooks }) => hooks));
      if (added) entries.push({ matcher: '*', hooks: [added] });
    }
    writeFileSync(file, JSON.stringify(settings));
  }

  /** Runs the tool with a model that asks for these calls, one after the other. */
  async run(
    calls: NextToolUse[],
    { options = [], env = {}, model = '' }: Options = {},
  ): Promise<Session> {
    const server = await startModelServer(calls);
    writeFileSync(this.#eventsFile, '');
    try {
      if (this.#tool === 'codex') this.#configureCodex(server.origin, model);
      const output = await this.#start([...this.#optionsOf(options)], {
        ...this.#environment(),
        ANTHROPIC_BASE_URL: server.origin,
        ANTHROPIC_API_KEY: 'key-of-no-account',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        MODEL_KEY: 'key-of-no-account',
        ...env,
      });
      return { results: server.results, events: this.#readEvents(), output };
    } finally {
      await server.stop();
    }
  }

  get #eventsFile(): string {
    return join(this.#home, 'events.jsonl');
  }

  #readEvents(): JsonObject[] {
    const lines = readFileSync(this.#eventsFile, 'utf8').split('\n');
    return lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line));
  }

  #environment(): Record<string, string> {
    const { PATH = '' } = process.env;
    return {
      PATH,
      HOME: this.#home,
      CLAUDE_CONFIG_DIR: join(this.#home, '.claude'),
      CODEX_HOME: join(this.#home, '.codex'),
    };
  }

  #optionsOf(options: string[]): string[] {
    if (this.#tool === 'claude-code') return ['--print', 'Go', ...options];
    // The sandbox of Codex needs rights that a container may not have.
    const sandbox = ['--skip-git-repo-check', '--sandbox', 'danger-full-access'];
    return ['exec', ...sandbox, ...options, 'Go'];
  }

  #configureCodex(origin: string, model: string): void {
    const provider = [
      '[model_providers.stand-in]',
      'name = "stand-in"',
      `base_url = "${origin}/v1"`,
      'wire_api = "responses"',
      'env_key = "MODEL_KEY"',
    ];
    const lines = [`model = "${model || 'stand-in'}"`, 'model_provider = "stand-in"', ...provider];
    writeFileSync(join(this.#home, '.codex/config.toml'), lines.join('\n'));
  }

  async #start(args: string[], env: Record<string, string>): Promise<string> {
    const child = spawn(this.#program, args, {
      cwd: this.project,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 120_000,
      killSignal: 'SIGKILL',
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        output += data;
      });
    }
    await new Promise((resolve) => child.once('close', resolve));
    return output;
  }
}
