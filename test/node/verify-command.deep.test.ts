import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/lib/json';
import {
  consistencyPath,
  type ExportRequest,
  LogKey,
  makeEntries,
  rootOf,
  type SealedExport,
  SealedLog,
  sha256,
  USER,
  write,
} from '../support/sealed-log';

const folder = mkdtempSync(join(tmpdir(), 'countersign-verify-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

const TOKEN = 'csu_of_the_tests';
/** The problem that the service answers for a refused log. */
const REFUSED = Buffer.from(
  JSON.stringify({ status: 409, code: 'log_refused', title: 'Log refused' }),
);
const KEY = new LogKey();

/** Runs the command as npm does, from outside the package's folder. */
function run(args: string[], env: Record<string, string> = {}) {
  const options = {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...process.env, INIT_CWD: folder, TMPDIR: folder, ...env },
  };
  return new Promise<{ code: number; stdout: string; stderr: string }>((done) => {
    execFile(
      process.execPath,
      ['src/packages/verify/main.ts', ...args],
      options,
      (error, stdout, stderr) => done({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}

async function runJson(args: string[], env?: Record<string, string>) {
  const { code, stdout } = await run([...args, '--json'], env);
  return { code, report: JSON.parse(stdout) };
}

describe('npm run verify on files', () => {
  const parts = new SealedLog(9, KEY).export();
  const { file, proof } = write(parts);
  const key = ['--key', KEY.verifierKey()];

  beforeEach(() => {
    writeFileSync(join(folder, 'export.json'), file);
    writeFileSync(join(folder, 'proof.json'), proof);
    writeFileSync(join(folder, 'jwks.json'), JSON.stringify({ keys: [KEY.jwk] }));
    writeFileSync(
      join(folder, 'passkeys.json'),
      JSON.stringify({ origin: 'https://countersign.test', members: {} }),
    );
  });

  it('proves an export, and prints a short report', async () => {
    const { code, stdout, stderr } = await run([
      'export.json',
      '--proof',
      'proof.json',
      '--key',
      'jwks.json',
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Log         countersign.test/${USER}`);
    expect(stdout).toContain('Proven.');
    expect(stdout.split('\n').length).toBeLessThan(15);
  });

  it('reports the first wrong entry', async () => {
    writeFileSync(
      join(folder, 'export.json'),
      file.toString().replaceAll('203.0.113.7', '203.0.113.8'),
    );
    const people = await run(['export.json', '--proof', 'proof.json', ...key]);
    expect(people.code).toBe(1);
    expect(people.stdout).toContain(
      `WRONG.\n  Entry 1 (${parts.rows[0]?.id}) differs in the file from the sealed entry. [changed]`,
    );
    const { code, report } = await runJson(['export.json', '--proof', 'proof.json', ...key]);
    expect(code).toBe(1);
    expect(report).toMatchObject({
      verdict: 'wrong',
      faults: [{ kind: 'changed', sequence: 1, id: parts.rows[0]?.id }, { kind: 'file' }],
    });
  });

  it('escapes control characters of a file in its output', async () => {
    const id = '\x1b[2J\x9b1A\u202eno\nProven.\r\u2028';
    const rows = parts.rows.with(4, { ...parts.rows[4], id });
    writeFileSync(join(folder, 'export.json'), write({ ...parts, rows }).file);
    const { code, stdout } = await run(['export.json', '--proof', 'proof.json', ...key]);
    expect(code).toBe(1);
    expect(stdout).toContain(
      'Entry 5 (\\u{1b}[2J\\u{9b}1A\\u{202e}no\\u{a}Proven.\\u{d}\\u{2028})',
    );
    for (const text of ['\x1b', '\x9b', '\u202e', '\r', '\u2028', '\nProven'])
      expect(stdout).not.toContain(text);
  });

  it('proves nothing without the key', async () => {
    const { code, report } = await runJson(['export.json', '--proof', 'proof.json']);
    expect(code).toBe(2);
    expect(report).toMatchObject({ verdict: 'unchecked', faults: [], key: null });
    writeFileSync(join(folder, 'export.json'), 'nothing of it');
    expect((await run(['export.json', '--proof', 'proof.json'])).code).toBe(1);
  });

  it.each([
    ['no file', []],
    ['no proof', ['export.json']],
    ['two files', ['export.json', 'export.json', '--proof', 'proof.json']],
    ['an unknown option', ['export.json', '--prof', 'proof.json']],
    ['a missing file', ['nothing.json', '--proof', 'proof.json']],
    ['an invalid key', ['export.json', '--proof', 'proof.json', '--key', 'nothing.json']],
    [
      'missing kept checkpoints',
      ['export.json', '--proof', 'proof.json', '--checkpoints', 'nothing', ...key],
    ],
    [
      'missing passkeys',
      ['export.json', '--proof', 'proof.json', '--passkeys', 'nothing.json', ...key],
    ],
    [
      'malformed passkeys',
      ['export.json', '--proof', 'proof.json', '--passkeys', 'jwks.json', ...key],
    ],
    ['a key, but no proof', ['export.json', '--passkeys', 'passkeys.json', ...key]],
    ['one entry without its proof', ['jwks.json', '--passkeys', 'passkeys.json']],
    ['no token', ['http://127.0.0.1:9']],
    ['a service that does not answer', ['http://127.0.0.1:9', '--token', TOKEN]],
  ])('exits with 2 and checks nothing with %s', async (_, args) => {
    const { code, stderr } = await run(args, { COUNTERSIGN_TOKEN: '' });
    expect(code).toBe(2);
    expect(stderr).toContain('Not checked: ');
  });

  it('says without a proof that only signatures are checked, and proves nothing if there are none', async () => {
    const { code, stdout } = await run(['export.json', '--passkeys', 'passkeys.json']);
    expect(code).toBe(2);
    expect(stdout).toMatch(
      /^Without proof\n\nNot proven\. Not everything could be checked:\n {2}Anything: /,
    );
    expect(stdout).toContain('without --proof, only what a passkey signed is checked');
  });

  it('prints its help', async () => {
    const { code, stdout } = await run(['--help']);
    expect(code).toBe(0);
    expect(stdout).toContain('Exit codes: 0 proven, 1 wrong, 2 not checked.');
  });
});

describe('npm run verify on a service', () => {
  let log: SealedLog;
  /** False answers of the service. */
  let lies: {
    export?: (parts: SealedExport) => SealedExport;
    consistency?: (answer: JsonObject) => Json | Uint8Array;
    checkpoints?: (SealedLog | JsonObject | typeof REFUSED)[];
    /** Fields of an export that has no proof. */
    refusal?: JsonObject;
  };
  let server: Server;
  let origin: string;
  let kept: string;

  beforeEach(async () => {
    lies = {};
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        const url = new URL(request.url ?? '', origin);
        const body = answer(url, Buffer.concat(chunks).toString(), request.headers.authorization);
        response.statusCode = body === null ? 404 : body === REFUSED ? 409 : 200;
        response.end(body instanceof Uint8Array ? body : JSON.stringify(body));
      });
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    log = newLog(makeEntries(40));
    kept = join(folder, `kept-${Math.random()}.jsonl`);
  });
  afterEach(() => server.close());

  const newLog = (entries: ReturnType<typeof makeEntries>) =>
    new SealedLog(entries, KEY, `${origin.slice(7)}/${USER}`);
  const verify = (...args: string[]) => runJson([origin, ...args], { COUNTERSIGN_TOKEN: TOKEN });

  let request: ExportRequest;
  let files: { file: Buffer; proof: Buffer };
  let polls = 0;

  function answer(url: URL, body: string, authorization?: string): Json | Uint8Array {
    if (url.pathname === '/.well-known/jwks.json') return { keys: [KEY.jwk] };
    if (url.pathname === '/file') return files.file;
    if (url.pathname === '/proof') return files.proof;
    if (authorization !== `Bearer ${TOKEN}`) return null;
    if (url.pathname === '/v1/me') return { id: USER, created_at: '2026-01-01T00:00:00.000Z' };
    if (url.pathname === '/v1/audit/checkpoint') {
      const shown = lies.checkpoints?.shift() ?? log;
      return shown instanceof SealedLog ? shown.checkpoint() : shown;
    }
    if (url.pathname === '/v1/audit/consistency') {
      const [from = 0, to = 0] = ['from', 'to'].map((name) => Number(url.searchParams.get(name)));
      const path = consistencyPath(from, log.leaves.slice(0, to)).map((hash) =>
        hash.toString('hex'),
      );
      const truth = { from, to, from_root_hash: '', to_root_hash: '', consistency_path: path };
      return lies.consistency?.(truth) ?? truth;
    }
    if (url.pathname === '/v1/audit/export') {
      const { start_date, end_date, include_details, format } = JSON.parse(body);
      expect({ include_details, format }).toEqual({ include_details: true, format: 'json' });
      request = { start_date, end_date, agent_id: null, event_types: null };
      const parts = log.export(request);
      files = write(lies.export?.(parts) ?? parts);
      polls = 0;
      return { export_id: parts.head.export_id, status: 'processing' };
    }
    if (++polls === 1) return { status: 'processing', proof_url: null };
    const digest = sha256(files.file).toString('hex');
    const links = {
      download_url: `${origin}/file`,
      proof_url: `${origin}/proof`,
      proof_error: null,
    };
    return {
      export_id: 'export_01m7x1kd4rfd295j3kx3gjdnpe',
      status: 'completed',
      created_at: '2026-07-01T00:00:00.000Z',
      ...request,
      sha256: digest,
      ...links,
      ...lies.refusal,
    };
  }

  it('proves the whole log, stores its checkpoint, and compares later runs with it', async () => {
    const first = await verify('--checkpoints', kept);
    expect(first.report.faults).toEqual([]);
    expect(first.code).toBe(0);
    expect(first.report.proven.join()).toContain('Every entry from 1 to 40 is in the file.');
    expect(first.report.proven.join()).toContain('40 entries was kept');
    const line = readFileSync(kept, 'utf8');
    expect(JSON.parse(line)).toEqual(log.checkpoint());

    expect((await verify('--checkpoints', kept)).code).toBe(0);
    expect(readFileSync(kept, 'utf8')).toBe(line);

    log = newLog(makeEntries(55)).erase([2, 50]);
    const later = await verify('--checkpoints', kept);
    expect(later.code).toBe(0);
    expect(later.report.proven.join()).toContain('The log is consistent with 1 kept checkpoint');
    expect(later.report.proven.join()).toContain(
      'Every entry from 1 to 55 is in the file, but for 49 entries recorded as erased.',
    );
    expect(readFileSync(kept, 'utf8').split('\n')).toHaveLength(3);
  });

  it('reads kept checkpoints from a folder of notes, and adds the newest one', async () => {
    const notes = join(folder, 'notes');
    mkdirSync(notes);
    for (const size of [1, 17, 39]) {
      writeFileSync(join(notes, String(size).padStart(16, '0')), log.checkpoint(size).note);
    }
    const { code, report } = await verify('--checkpoints', notes);
    expect(code).toBe(0);
    expect(report.proven.join()).toContain('The log is consistent with 3 kept checkpoints');
    expect(readdirSync(notes)).toContain('0000000000000040');
    writeFileSync(join(notes, '0000000000000018'), log.checkpoint(17).note);
    expect((await verify('--checkpoints', notes)).report.faults[0].message).toContain(
      'of another size: 17',
    );
  });

  it('reports that a rewritten log cannot be detected without kept checkpoints', async () => {
    const { code, report } = await verify();
    expect(code).toBe(0);
    expect(report.limits.join()).toContain('Whether the log was rewritten');
  });

  const rewritten = () => {
    const entries = makeEntries(40);
    Object.assign(entries[20] ?? {}, { ip_address: '198.51.100.1' });
    return newLog(entries);
  };

  /**
   * Stores a checkpoint, changes the service, and expects the fault; the stored checkpoints must
   * not change.
   */
  const expectFault = async (change: () => void, fault: object) => {
    expect((await verify('--checkpoints', kept)).code).toBe(0);
    const before = readFileSync(kept, 'utf8');
    change();
    const { code, report } = await verify('--checkpoints', kept);
    expect(report.faults[0]).toMatchObject(fault);
    expect(code).toBe(1);
    expect(readFileSync(kept, 'utf8')).toBe(before);
  };

  it('reports a log that was rewritten', () =>
    expectFault(
      () => {
        log = rewritten();
      },
      { kind: 'history', message: expect.stringContaining('The log was rewritten') },
    ));

  it('reports a log that shrank', () =>
    expectFault(
      () => {
        log = newLog(makeEntries(39));
      },
      { kind: 'history', message: 'The log shrank from 40 entries to 39' },
    ));

  it('reports a head of the same size with an earlier time', () =>
    expectFault(
      () => {
        const earlier = log.checkpoint(40, '2026-06-30T00:00:00.000Z');
        lies.checkpoints = [earlier, earlier];
      },
      { kind: 'history', message: expect.stringContaining('The time of the log went backwards') },
    ));

  it('reports a log that is inconsistent with a kept checkpoint, by a consistency proof', () =>
    expectFault(
      () => {
        log = newLog([...rewritten().entries, ...makeEntries(48).slice(40)]).erase([33, 48]);
      },
      {
        kind: 'history',
        message: expect.stringContaining('is not consistent with the checkpoint of'),
      },
    ));

  it('reports an empty consistency proof', () =>
    expectFault(
      () => {
        log = newLog(makeEntries(48)).erase([33, 48]);
        lies.consistency = (truth) => ({ ...truth, consistency_path: [] });
      },
      { kind: 'history' },
    ));

  it('reports an entry that was left out', () =>
    expectFault(
      () => {
        lies.export = () => {
          const hidden = newLog(makeEntries(40)).erase([13, 13]);
          const parts = hidden.export(request);
          return { ...parts, head: { ...parts.head, erased: [] } };
        };
      },
      { kind: 'missing', sequence: 13 },
    ));

  it('reports an entry whose record of erasure is not signed', () =>
    expectFault(
      () => {
        lies.export = () => {
          const parts = newLog(makeEntries(40)).erase([13, 13]).export(request);
          const erased = parts.head.erased.map((record) => ({ ...record, note: '' }));
          return { ...parts, head: { ...parts.head, erased } };
        };
      },
      { kind: 'missing', sequence: 13 },
    ));

  it.each([1, 40])('reports that entry %i of 40 was left out', async (sequence) => {
    lies.export = () => {
      const hidden = newLog(makeEntries(40)).erase([sequence, sequence]);
      const parts = hidden.export(request);
      return { ...parts, head: { ...parts.head, erased: [] } };
    };
    const { code, report } = await verify();
    expect(code).toBe(1);
    expect(report.faults[0]).toMatchObject({ kind: 'missing', sequence });
  });

  it('reports an export with another head than the log', () =>
    expectFault(
      () => {
        lies.checkpoints = [rewritten()];
      },
      { kind: 'history' },
    ));

  it('reports a proof that belongs to another request', () =>
    expectFault(
      () => {
        lies.export = () => log.export({ ...request, start_date: '2026-01-01' });
      },
      { kind: 'proof', message: 'The proof does not belong to the requested export' },
    ));

  describe('when the service refuses the log', () => {
    const refusal = { proof_url: null, proof_error: 'log_refused' };
    const begun = () => performance.now();

    it.each([
      ['with the reason in the export', refusal],
      [
        'without a reason, as an older service',
        { proof_url: null, proof_error: undefined } as unknown as JsonObject,
      ],
    ])('reports the refusal and its meaning without delay: %s', async (_, how) => {
      lies.refusal = how;
      const start = begun();
      const { code, report } = await verify('--checkpoints', kept);
      expect(begun() - start).toBeLessThan(15_000);
      expect([code, report.verdict, report.refused, report.faults]).toEqual([
        2,
        'unchecked',
        true,
        [],
      ]);
      expect(report.unchecked).toEqual([
        expect.stringMatching(/^The service itself refuses the log .*contradicts the heads/),
      ]);
      const people = await run([origin], { COUNTERSIGN_TOKEN: TOKEN });
      expect(people.code).toBe(2);
      expect(people.stdout).toContain('Not proven.\n  The service itself refuses the log');
      expect(people.stdout).not.toContain('matches its proof');
      expect(existsSync(kept)).toBe(false);
    });

    it('reports another reason for which an export has no proof', async () => {
      lies.refusal = { proof_url: null, proof_error: 'out_of_paper' };
      const { code, report } = await verify();
      expect([code, report.unchecked]).toEqual([
        2,
        [expect.stringContaining('without a proof: out_of_paper')],
      ]);
    });

    it('lists the missing entries', async () => {
      lies.refusal = refusal;
      lies.export = () => newLog(makeEntries(38)).erase([4, 6], [9, 9]).export(request);
      const { code, report } = await verify();
      expect(code).toBe(2);
      expect(report.unchecked[1]).toContain(
        '6 of the 40 entries under the checkpoint are not in the export',
      );
      expect(report.unchecked[1]).toContain(': 4-6, 9, 39-40.');
    });

    it.each([
      ['is larger', () => newLog(makeEntries(39)), 'The log shrank from 40 entries to 39'],
      ['differs', () => rewritten(), 'The log was rewritten'],
    ])('exits with 1 when a kept checkpoint %s', (_, change, message) =>
      expectFault(
        () => {
          log = change();
          lies.refusal = refusal;
        },
        { kind: 'history', message: expect.stringContaining(message) },
      ),
    );

    it('prints the refusal together with the evidence of a rewritten log', async () => {
      expect((await verify('--checkpoints', kept)).code).toBe(0);
      log = rewritten();
      lies.refusal = refusal;
      const { code, stdout } = await run([origin, '--checkpoints', kept], {
        COUNTERSIGN_TOKEN: TOKEN,
      });
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /WRONG\.\n {2}The log was rewritten.*\n[\s\S]*The service itself refuses the log .*\[refused\]/,
      );
    });

    it('reports that a kept checkpoint of a smaller log cannot be compared', async () => {
      expect((await verify('--checkpoints', kept)).code).toBe(0);
      log = newLog(makeEntries(55));
      lies.refusal = refusal;
      const { code, report } = await verify('--checkpoints', kept);
      expect([code, report.limits]).toEqual([
        2,
        [expect.stringContaining('1 kept checkpoint of a smaller log cannot')],
      ]);
    });

    it('exits with 1 when the head has a time in the future', async () => {
      lies.checkpoints = [log.checkpoint(40, '2036-07-01T00:00:00.000Z')];
      lies.refusal = refusal;
      const { code, report } = await verify();
      expect([code, report.faults[0].kind]).toEqual([1, 'checkpoint']);
      expect(report.faults[0].message).toContain('a time in the future');
    });

    it('exits with 1 when no head is shown and one was kept, and with 2 when none was kept', async () => {
      lies.checkpoints = [REFUSED];
      const { code, report } = await verify();
      expect([code, report.faults]).toEqual([2, []]);
      expect(report.unchecked).toEqual([
        expect.stringMatching(/^The service itself refuses the log .*It shows no signed/),
      ]);
      expect((await verify('--checkpoints', kept)).code).toBe(0);
      lies.checkpoints = [REFUSED];
      const later = await verify('--checkpoints', kept);
      expect([later.code, later.report.faults[0].message]).toEqual([
        1,
        expect.stringContaining('40 entries were signed on 2026-07-01'),
      ]);
    });

    it('exits with 2 when the refusal begins during the run', async () => {
      lies.checkpoints = [newLog(makeEntries(38))];
      lies.consistency = () => REFUSED;
      const { code, report } = await verify();
      expect([code, report.refused]).toEqual([2, true]);
      expect(report.unchecked[0]).toContain('was answered 409 log_refused');
    });
  });

  it('accepts entries that are added during the run, and reports them as not covered', async () => {
    const [shorter, longer] = [newLog(makeEntries(38)), newLog(makeEntries(40))];
    lies.checkpoints = [shorter];
    lies.export = () => {
      const parts = newLog(makeEntries(40)).erase([40, 40]).export(request);
      return { ...parts, head: { ...parts.head, erased: [] } };
    };
    log = longer;
    const { code, report } = await verify();
    expect(report.faults).toEqual([]);
    expect(code).toBe(0);
    expect(report.limits.join()).toContain('Entries after 39: they were added during this run');
  });

  it('proves an empty log', async () => {
    log = newLog([]);
    expect(rootOf([]).toString('hex')).toBe(log.checkpoint().root_hash);
    expect((await verify('--checkpoints', kept)).report).toMatchObject({ verdict: 'proven' });
  });

  it('exits with 2 when the token is unknown', async () => {
    const { code, report } = await runJson([origin, '--token', 'csu_x'], { COUNTERSIGN_TOKEN: '' });
    expect(code).toBe(2);
    expect(report.unchecked.join()).toContain('/v1/me was answered 404');
  });
});
