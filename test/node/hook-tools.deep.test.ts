import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/packages/client/json';
import {
  MAIN,
  programOf,
  RealCodingTool,
  type RealTool,
  type Session,
} from '../support/hooks/coding-tools';
import type { ToolUse } from '../support/hooks/model-server';
import claudeCode from '../support/hooks/recorded/claude-code.json' with { type: 'json' };
import codex from '../support/hooks/recorded/codex.json' with { type: 'json' };
import { Client } from '../support/local/client';
import { prepareState, type Service, startService } from '../support/local/service';
import { createTenant, type Tenant } from '../support/local/tenant';

/**
 * Runs the hooks with the coding agents themselves, and a stand-in for their model on loopback.
 * `CODING_TOOLS` names a folder in which npm has installed `@anthropic-ai/claude-code` and
 * `@openai/codex`. Cursor has no package.
 */
const TOOLS: RealTool[] = ['claude-code', 'codex'];
const missing = TOOLS.filter((tool) => programOf(tool) === null);
if (missing.length > 0) {
  const names = missing.join(' and ');
  process.stderr.write(`SKIPPED: hooks in ${names}: CODING_TOOLS names no folder with it.\n`);
}

const UNTOLD = { status: 'unknown', summary: 'Codex does not tell how a command ended.' };

/** A call of the shell, as each tool names it. */
function shellCall(tool: RealTool, command: string): ToolUse {
  if (tool === 'codex') return { name: 'exec_command', input: { cmd: command } };
  return { name: 'Bash', input: { command } };
}

/** Codex asks its user whether to trust hooks; this stands for the agreement. */
const trusted = (tool: RealTool) => (tool === 'codex' ? ['--dangerously-bypass-hook-trust'] : []);

/** The user's own agreement with what the rules leave to the tool. */
const agreed = (tool: RealTool) => (tool === 'codex' ? [] : ['--allowedTools', 'Bash']);

type Asked = Record<string, unknown> & { id: string };

describe.skipIf(missing.length === TOOLS.length)('hooks with the coding agents themselves', () => {
  const state = mkdtempSync(join(tmpdir(), 'countersign-tools-'));
  const rules = join(state, 'rules.json');
  let service: Service;
  let tenant: Tenant;
  let person: Client;
  let homes = 0;

  beforeAll(async () => {
    await prepareState(state);
    service = await startService(state);
    await createTenant(service.origin, 'pro', 1);
    tenant = await createTenant(service.origin, 'pro', 1);
    person = new Client(service.origin, tenant.token);
  });

  beforeEach(() => {
    const tools = {
      'Bash(touch allowed)': 'allow',
      'Bash(touch denied)': 'deny',
      'Bash(touch *)': { action: 'file.touch', resource: 'command:{command}' },
    };
    writeFileSync(rules, JSON.stringify({ wait: 20, tools }));
  });

  afterAll(async () => {
    await service?.stop();
    rmSync(state, { recursive: true, maxRetries: 5, retryDelay: 200 });
  });

  /** A tool with hooks, in a home of its own. */
  function prepare(tool: RealTool): RealCodingTool {
    const program = programOf(tool) ?? '';
    const prepared = new RealCodingTool(tool, program, join(state, `home-${++homes}`));
    prepared.install(rules);
    return prepared;
  }

  const credentials = (url = service.origin) => ({
    COUNTERSIGN_URL: url,
    COUNTERSIGN_API_KEY: tenant.agents[0]?.key ?? '',
  });

  async function decide(decision: 'approve' | 'deny', body = {}): Promise<Asked> {
    for (;;) {
      const { body: found } = await person.get<{ data: Asked[] }>('/v1/permissions', {
        status: 'pending',
      });
      const [asked] = found.data;
      if (asked) {
        await person.expect(200, 'POST', `/v1/permissions/${asked.id}/${decision}`, body);
        return asked;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  const read = async (id: string) => (await person.get<Asked>(`/v1/permissions/${id}`)).body;
  const names = ({ events }: Session) => events.map((event) => event.hook_event_name);

  describe.each(TOOLS)('%s', (tool) => {
    const itRuns = it.skipIf(programOf(tool) === null);

    itRuns('runs what the rules allow, and tells the model why it denies', async () => {
      const real = prepare(tool);
      const calls = ['touch allowed', 'touch denied', 'touch allowed; touch denied'];
      const session = await real.run(
        calls.map((command) => shellCall(tool, command)),
        { options: [...trusted(tool), ...agreed(tool)], env: credentials() },
      );
      expect(existsSync(join(real.project, 'allowed'))).toBe(true);
      expect(existsSync(join(real.project, 'denied'))).toBe(false);
      expect(session.results).toHaveLength(3);
      expect(session.results[0]).not.toContain('rules');
      for (const result of session.results.slice(1)) {
        expect(result).toContain('The rules deny it. Do not try again');
      }
      expect(session.output).toContain('Done.');
      expect(names(session)).toEqual(['PreToolUse', 'PostToolUse', 'PreToolUse', 'PreToolUse']);
      const { events } = { 'claude-code': claudeCode, codex }[tool];
      const ended = 'ended' in events ? events.ended : events.succeeded;
      expect(session.events.slice(0, 2).map(fieldsOf)).toEqual([
        fieldsOf(events.shell),
        fieldsOf(ended),
      ]);
    });

    itRuns('waits for an approval, uses it, and reports the outcome', async () => {
      const real = prepare(tool);
      // Claude Code has no leave of its user: the approval spares its own question.
      const running = real.run([shellCall(tool, 'touch asked')], {
        options: trusted(tool),
        env: credentials(),
      });
      const { id } = await decide('approve');
      const session = await running;
      expect([session.results, existsSync(join(real.project, 'asked'))]).toEqual([
        [expect.not.stringContaining('Countersign')],
        true,
      ]);
      expect(await read(id)).toMatchObject({
        action: 'file.touch',
        resource: 'command:touch asked',
        input: { tool: 'Bash', cwd: real.project },
        token: { status: 'used' },
        outcome: tool === 'codex' ? UNTOLD : { status: 'succeeded' },
      });

      const failing = real.run([shellCall(tool, 'touch /nowhere/at/all')], {
        options: trusted(tool),
        env: credentials(),
      });
      const failed = await decide('approve');
      await failing;
      expect((await read(failed.id)).outcome).toMatchObject(
        tool === 'codex' ? UNTOLD : { status: 'failed', summary: 'It ended with the exit code 1.' },
      );
    });

    itRuns('runs nothing that a person denies, or that nobody can be asked about', async () => {
      const real = prepare(tool);
      const options = [...trusted(tool), ...agreed(tool)];
      const calls = [shellCall(tool, 'touch asked')];
      const [session] = await Promise.all([
        real.run(calls, { options, env: credentials() }),
        decide('deny', { reason: 'Not on Fridays' }),
      ]);
      expect(session.results).toEqual([expect.stringContaining('Not on Fridays')]);

      const silent = createServer(() => {});
      const origin = await listen(silent);
      writeFileSync(rules, JSON.stringify({ wait: 1, tools: {} }));
      real.install(rules);
      for (const url of ['http://127.0.0.1:9', origin]) {
        const { results } = await real.run(calls, { options, env: credentials(url) });
        expect(results).toEqual([expect.stringContaining('was not run')]);
      }
      silent.closeAllConnections();
      silent.close();
      expect(existsSync(join(real.project, 'asked'))).toBe(false);
    });

    itRuns('runs nothing when the hook cannot start', async () => {
      const real = prepare(tool);
      real.changeHandlers(makeMissing);
      const { results } = await real.run([shellCall(tool, 'touch allowed')], {
        options: [...trusted(tool), ...agreed(tool)],
        env: credentials(),
      });
      expect([results.length, existsSync(join(real.project, 'allowed'))]).toEqual([1, false]);
    });
  });

  const itRunsClaude = it.skipIf(programOf('claude-code') === null);
  const itRunsCodex = it.skipIf(programOf('codex') === null);

  itRunsClaude('Claude Code runs nothing when the hook takes too long', async () => {
    const real = prepare('claude-code');
    real.changeHandlers(makeSlow);
    const { results } = await real.run([shellCall('claude-code', 'touch allowed')], {
      options: agreed('claude-code'),
      env: credentials(),
    });
    expect([results.length, existsSync(join(real.project, 'allowed'))]).toEqual([1, false]);
  });

  itRunsCodex('Codex asks for the calls that its scripts make', async () => {
    const real = prepare('codex');
    const script = ['allowed', 'denied', 'asked']
      .map(
        (name) =>
          `try { await tools.exec_command({cmd: 'touch ${name}'}) } catch (e) { text(String(e)) }`,
      )
      .join('\n');
    const [session, asked] = await Promise.all([
      real.run([{ name: 'exec', input: script }], {
        options: trusted('codex'),
        env: credentials(),
        model: codex.events.shell.model,
      }),
      decide('approve'),
    ]);
    expect(session.results).toEqual([expect.stringContaining('The rules deny it.')]);
    const created = ['allowed', 'denied', 'asked'].map((name) =>
      existsSync(join(real.project, name)),
    );
    expect(created).toEqual([true, false, true]);
    expect(await read(asked.id)).toMatchObject({ token: { status: 'used' }, outcome: UNTOLD });
  });

  // The guide names these. Where one no longer holds, the guide can promise more.
  itRunsCodex(
    'limits of Codex: hooks that are not trusted, slow hooks, and typed text',
    async () => {
      const real = prepare('codex');
      const denied = shellCall('codex', 'touch denied');
      const untrusted = await real.run([denied], { env: credentials() });
      expect([untrusted.events, existsSync(join(real.project, 'denied'))]).toEqual([[], true]);

      writeFileSync(rules, '{"tools": {"Bash(cat)": "allow"}}');
      real.install(rules);
      const typed = await real.run(
        [
          { name: 'exec_command', input: { cmd: 'cat', tty: true, yield_time_ms: 500 } },
          ([started = '']) => ({
            name: 'write_stdin',
            input: {
              session_id: Number(/session ID (\d+)/.exec(started)?.[1]),
              chars: 'typed\n\x04',
            },
          }),
        ],
        { options: trusted('codex'), env: credentials() },
      );
      expect(typed.results[1]).toContain('typed');
      expect(names(typed)).toEqual(['PreToolUse', 'PostToolUse']);

      real.changeHandlers(makeSlow);
      await real.run([shellCall('codex', 'touch slow')], {
        options: trusted('codex'),
        env: credentials(),
      });
      expect(existsSync(join(real.project, 'slow'))).toBe(true);
    },
  );
});

function fieldsOf(event: object): string[] {
  return Object.keys(event).sort();
}

/** Makes the hooks outlast their timeout. */
function makeSlow(handler: JsonObject): void {
  delete handler.args;
  Object.assign(handler, { command: 'sleep 5', timeout: 1 });
}

/** Makes the hooks a program that cannot start. */
function makeMissing(handler: JsonObject): void {
  const { command, args } = handler;
  if (typeof command === 'string') handler.command = command.replace(MAIN, '/nowhere.ts');
  if (Array.isArray(args))
    handler.args = args.map((word) => (word === MAIN ? '/nowhere.ts' : word));
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
