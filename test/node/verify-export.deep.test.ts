import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { jsonFormat } from '../../src/audit/exports/json';
import { ParquetEncoding } from '../../src/audit/exports/parquet';
import { TextFileEncoder } from '../../src/audit/exports/text';
import type { JsonObject } from '../../src/lib/json';
import { Fault, type Report } from '../../src/packages/verify/core/findings.ts';
import { verifyFile } from '../../src/packages/verify/verify-file.ts';
import {
  cover,
  type Erasure,
  EVERYTHING,
  type ExportRequest,
  entryProof,
  LogKey,
  makeEntries,
  makeEntry,
  type SealedExport,
  SealedLog,
  saltOf,
  sha256,
  toExported,
  toRow,
  USER,
  write,
  writeJson,
  writeProof,
} from '../support/sealed-log';

const folder = mkdtempSync(join(tmpdir(), 'countersign-verify-test-'));
const [FILE, PROOF, KEPT] = ['file', 'proof.json', 'kept.jsonl'].map((name) =>
  join(folder, name),
) as [string, string, string];
afterAll(() => rmSync(folder, { recursive: true }));

// biome-ignore lint/suspicious/noExplicitAny: tests reach into parts and break them
type Any = any;

const KEY = new LogKey();
/**
 * Time limit for a row group, in milliseconds: a damaged file can make the Parquet decoder loop.
 */
const GROUP_TIMEOUT = 3_000;
const sealed = (count: number) => new SealedLog(count, KEY);

interface Given {
  key?: string;
  kept?: JsonObject[];
}

/**
 * Verifies bytes as if they had been downloaded. A fault that ends the verification is returned in
 * a report.
 */
async function verify(
  file: Uint8Array,
  proof: Uint8Array,
  { key = KEY.verifierKey(), kept }: Given = {},
): Promise<Report> {
  writeFileSync(FILE, file);
  writeFileSync(PROOF, proof);
  if (kept)
    writeFileSync(KEPT, kept.map((checkpoint) => `${JSON.stringify(checkpoint)}\n`).join(''));
  try {
    return await verifyFile({
      file: FILE,
      proof: PROOF,
      key,
      rowGroupTimeoutMs: GROUP_TIMEOUT,
      ...(kept && { checkpoints: KEPT }),
    });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { faults: [error], unchecked: [], proven: [], limits: [] } as unknown as Report;
  }
}

async function verifyParts(parts: SealedExport, given?: Given): Promise<Report> {
  const { file, proof } = write(parts);
  return await verify(file, proof, given);
}

/** The kind, sequence and id of the first fault; undefined if there is none. */
function firstFault({ faults, unchecked }: Report) {
  expect(unchecked).toEqual([]);
  const [fault] = faults;
  return fault && { kind: fault.kind, sequence: fault.sequence, id: fault.id };
}

function expectProven(report: Report): void {
  expect(report.faults).toEqual([]);
  expect(report.unchecked).toEqual([]);
}

const sizes = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 600 }));
const request = fc.record({
  agent_id: fc.constantFrom(null, makeEntry(1).agent_id, makeEntry(3).agent_id),
  event_types: fc.constantFrom<(string[] | null)[]>(null, ['approve'], ['request', 'use', 'deny']),
});
const holes = fc.array(
  fc.tuple(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 0, max: 30 })),
  { maxLength: 4 },
);

/** Random exports of random logs. */
const exported = fc
  .tuple(sizes, request, holes, fc.constantFrom(...Array<string>(9).fill('json'), 'parquet'))
  .map(([size, filter, ranges, format]) => {
    const log = sealed(size).erase(
      ...ranges.map(([first, more]): [number, number] => [first, first + more]),
    );
    return log.export({ ...EVERYTHING, ...filter }, format);
  });

describe('a sealed export', () => {
  it('is proven with any size, gaps, filters and format', async () => {
    await fc.assert(
      fc.asyncProperty(exported, async (parts) => {
        const report = await verifyParts(parts);
        expectProven(report);
        expect(report.log).toBe(parts.head.checkpoint.origin);
        expect(report.checkpoint?.root_hash).toBe(parts.head.checkpoint.root_hash);
      }),
      { numRuns: 40 },
    );
  });

  it('is proven without any entry: empty log, erased log, or filter without a match', async () => {
    expectProven(await verifyParts(sealed(0).export()));
    expectProven(await verifyParts(sealed(9).erase([1, 9]).export()));
    expectProven(
      await verifyParts(sealed(9).export({ ...EVERYTHING, agent_id: 'agent_none' }, 'parquet')),
    );
  });

  const scope = {
    '': 0,
    '€': 1,
    '10': [1e21, -0, 5e-324, 0.1, 1e-7, 9007199254740992],
    '9': { '1': true, a: null, A: [] },
    ['__proto__']: { constructor: {} },
    '\u{1f600}': '\u2028"\\\u0001\u007f',
    '\ufb33': '\ufeff',
  };
  const odd = (format: string) => {
    const deep = JSON.parse(`${'{"a":['.repeat(200)}1${']}'.repeat(200)}`);
    const entries = [makeEntry(1, scope), makeEntry(2, { deep }), makeEntry(3, {}), makeEntry(4)];
    (entries[2] as JsonObject).user_agent = '\ufeffbegins with a byte order mark';
    return new SealedLog(entries, KEY).export(EVERYTHING, format);
  };
  it.each(['json', 'parquet'])('is proven with every kind of JSON value: %s', async (format) => {
    expectProven(await verifyParts(odd(format)));
  });

  it.each(['json', 'parquet'])(
    'is not proven after a change of any character or number: %s',
    async (format) => {
      const changes: ((rows: Any[]) => void)[] = [
        ([{ details }]) => (details.scope['10'][3] = 0.10000000000000002),
        ([{ details }]) => (details.scope[''] = null),
        ([{ details }]) => delete details.scope['€'],
        ([{ details }]) => (details.scope['\ufb33'] = ''),
        ([{ details }]) => (details.scope['9'].b = null),
        ([, { details }]) => (details.scope.deep.a[0].a[0].a = []),
      ];
      for (const [at, change] of changes.entries()) {
        const parts = structuredClone(odd(format));
        change(parts.rows);
        const sequence = at < 5 ? 1 : 2;
        expect(firstFault(await verifyParts(parts)), `change ${at}`).toMatchObject({
          kind: 'changed',
          sequence,
        });
      }
      const parts = odd(format);
      (parts.rows[2] as JsonObject).user_agent = 'begins with a byte order mark';
      expect(firstFault(await verifyParts(parts))).toMatchObject({ kind: 'changed', sequence: 3 });
    },
  );

  it.each(['json', 'parquet'])(
    "is proven when the service's own encoder writes it: %s",
    async (format) => {
      const log = sealed(3_000);
      const parts = log.export(EVERYTHING, format);
      const encoder =
        format === 'json'
          ? new TextFileEncoder(jsonFormat(USER, true), null)
          : new ParquetEncoding(USER, true, null);
      const file = Buffer.concat([...encoder.add(log.entries.map(toExported)), ...encoder.end()]);
      const proof = writeProof(parts, sha256(file).toString('hex'));
      expectProven(await verify(file, proof));
    },
  );

  it('is reported with the limits of the proof: entries before and after it, and its filter', async () => {
    const [all, some] = await Promise.all([
      verifyParts(sealed(9).export()),
      Promise.resolve(sealed(9).export({ ...EVERYTHING, event_types: ['approve'] })),
    ]);
    expect(all.proven.join()).toContain('No entry is missing between the first and the last');
    expect(all.limits.join()).toContain('before 1 and after 9');
    const filtered = await verifyParts(some);
    expect(filtered.proven.join()).not.toContain('No entry is missing');
    expect(filtered.limits.join()).toContain('had a filter (approve)');
  });
});

describe('a change of the file', () => {
  const parts = sealed(12).erase([3, 5]).export();
  const { file, proof } = write(parts);
  const lines = file.toString().split('\n');

  it('is detected for any single bit, and attributed to its entry', async () => {
    const starts = lines.map((_, at) =>
      Buffer.byteLength(
        lines
          .slice(0, at)
          .map((line) => `${line}\n`)
          .join(''),
      ),
    );
    for (let at = 0; at < file.length; at += 5) {
      const bit = at % 8;
      const changed = Buffer.from(file);
      changed[at] = (changed[at] ?? 0) ^ (1 << bit);
      const fault = firstFault(await verify(changed, proof));
      const where = `bit ${bit} of byte ${at}: ${changed.toString('latin1', at - 9, at + 9)}`;
      expect(fault, where).toBeDefined();
      const line = starts.findLastIndex((start) => start <= at);
      const row = parts.rows[line - 1];
      if (!row) continue;
      expect(fault?.sequence, where).toBe(row.sequence);
    }
  });

  const parquet = write(sealed(12).erase([3, 5]).export(EVERYTHING, 'parquet'));
  it('is detected for any single bit in Parquet', async () => {
    for (let at = 0; at < parquet.file.length; at += 97) {
      const changed = Buffer.from(parquet.file);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      expect(firstFault(await verify(changed, parquet.proof)), `byte ${at}`).toBeDefined();
    }
  });

  it('is detected when the file is truncated anywhere', async () => {
    for (let length = 0; length < file.length; length += 61) {
      expect(
        firstFault(await verify(file.subarray(0, length), proof)),
        `at ${length}`,
      ).toBeDefined();
    }
    const cut = await verify(Buffer.from(lines.slice(0, 4).join('\n')), proof);
    expect(firstFault(cut)).toMatchObject({ sequence: 7 });
  });

  it('is detected in columns that repeat the details, in added fields and in missing fields', async () => {
    const rows = structuredClone(parts.rows) as Any[];
    const judge = async () => firstFault(await verifyParts({ ...parts, rows }));
    rows[4].action = 'email.read';
    expect(await judge()).toMatchObject({ kind: 'changed', sequence: 8, id: rows[4].id });
    rows[2].resource = 'mailbox:other';
    expect(await judge()).toMatchObject({ kind: 'changed', sequence: 6 });
    rows[1].note = 'more';
    expect(await judge()).toMatchObject({ kind: 'changed', sequence: 2 });
    delete rows[0].details;
    expect(await judge()).toMatchObject({ kind: 'changed', sequence: 1 });
  });

  it('is detected for a duplicate name, and for a number that a double cannot represent', async () => {
    const judge = async (from: string, to: string) => {
      const text = writeJson(parts.rows).toString();
      expect(text).toContain(from);
      const bytes = Buffer.from(text.replace(from, to));
      return firstFault(await verify(bytes, writeProof(parts, sha256(bytes).toString('hex'))));
    };
    const second = parts.rows[1] as JsonObject;
    expect(await judge(`"id":"${second.id}"`, `"id":"audit_x","id":"${second.id}"`)).toMatchObject({
      kind: 'changed',
      sequence: 2,
    });
    expect(await judge('"amount":2}', '"amount":1,"amount":2}')).toMatchObject({
      kind: 'changed',
      sequence: 6,
    });
    expect(await judge('"amount":2}', '"amount":2.00000000000000000000001}')).toMatchObject({
      kind: 'changed',
      sequence: 6,
    });
    expect(await judge('"policy_id":null', '"policy_id":1e999')).toMatchObject({
      kind: 'changed',
      sequence: 1,
    });
    expect(await judge('"amount":2}', '"amount": 2.0}')).toBeUndefined();
  });

  it('is detected by the digest when only white space differs', async () => {
    const spaced = Buffer.from(file.toString().replace('":"', '": "'));
    expect(firstFault(await verify(spaced, proof))).toMatchObject({
      kind: 'file',
      sequence: undefined,
    });
    expect(firstFault(await verify(Buffer.concat([file, Buffer.from('\n')]), proof))?.kind).toBe(
      'file',
    );
  });
});

describe('the first fault', () => {
  const some = fc.tuple(exported, fc.nat(), fc.nat()).filter(([parts]) => parts.rows.length > 1);
  const pick = (rows: JsonObject[], at: number) => at % rows.length;

  /** Changes the rows of an export, and makes its digest and number of rows match. */
  const property = (change: (rows: Any[], parts: SealedExport, a: number, b: number) => object) =>
    fc.assert(
      fc.asyncProperty(some, async ([whole, a, b]) => {
        const parts = structuredClone(whole);
        const expected = change(parts.rows, parts, a, b);
        parts.head.row_count = parts.rows.length;
        expect(firstFault(await verifyParts(parts))).toMatchObject(expected);
      }),
      { numRuns: 30 },
    );

  it('names an entry that was left out', () =>
    property((rows, _, a) => {
      const [gone] = rows.splice(pick(rows, a), 1);
      return { kind: 'missing', sequence: gone.sequence };
    }));

  it('names the first of two entries that changed places', () =>
    property((rows, _, a, b) => {
      const other = (pick(rows, a) + 1 + (b % (rows.length - 1))) % rows.length;
      const [first = 0, second = 0] = [pick(rows, a), other].sort((x, y) => x - y);
      const { sequence, id } = rows[first];
      [rows[first], rows[second]] = [rows[second], rows[first]];
      return { kind: 'swapped', sequence, id };
    }));

  it('names an entry that was changed', () =>
    property((rows, _, a, b) => {
      const row = rows[pick(rows, a)];
      const names = [
        'agent_id',
        'permission_request_id',
        'event_type',
        'ip_address',
        'user_agent',
        'user_id',
      ];
      row[names[b % names.length] as string] += 'x';
      return { kind: 'changed', sequence: row.sequence, id: row.id };
    }));

  it('names an entry whose sequence was changed', () =>
    property((rows, _, a, b) => {
      const row = rows[pick(rows, a)];
      const sequence = row.sequence;
      row.sequence = (b % 700) + 1 === sequence ? 701 : (b % 700) + 1;
      return { kind: 'changed', sequence, id: row.id };
    }));

  it('names an entry that was added', () =>
    property((rows, parts, a, b) => {
      const listed = new Set(rows.map(({ sequence }) => sequence));
      let sequence = (b % 650) + 1;
      while (listed.has(sequence)) sequence++;
      const forged = toRow(makeEntry(sequence));
      rows.splice(pick(rows, a), 0, forged);
      return { kind: 'added', sequence, id: forged.id, ...(parts && {}) };
    }));

  it('names an entry that was duplicated', () =>
    property((rows, _, a) => {
      const at = pick(rows, a);
      rows.splice(at, 0, rows[at]);
      return { kind: 'added', sequence: rows[at].sequence, id: rows[at].id };
    }));

  it('names an entry that was added at the end', () =>
    property((rows) => {
      const forged = toRow(makeEntry(rows.at(-1).sequence + 700));
      rows.push(forged);
      return { kind: 'added', sequence: forged.sequence, id: forged.id };
    }));

  it('is the first changed entry when several were changed', () =>
    property((rows, _, a, b) => {
      const [first = 0, second = 0] = [a, b].map((at) => pick(rows, at)).sort((x, y) => x - y);
      rows[first].agent_id += 'x';
      rows[second].ip_address += 'x';
      return { kind: 'changed', sequence: rows[first].sequence };
    }));

  it('names the first entry when all entries come from another log', async () => {
    const parts = sealed(9).export();
    const other = new SealedLog(
      makeEntries(9).map((entry) => ({ ...entry, user_id: `${USER.slice(0, -1)}0` })),
      KEY,
    ).export();
    expect(
      firstFault(await verifyParts({ ...parts, tree: other.tree, rows: other.rows })),
    ).toMatchObject({
      kind: 'added',
      sequence: 1,
    });
  });
});

describe('an entry that was left out together with its proof', () => {
  const without = (log: SealedLog, gone: number[], request?: ExportRequest) => {
    const parts = log.export(request);
    const rows = parts.rows.filter(({ sequence }) => !gone.includes(sequence as number));
    const tree = cover(log.leaves, new Set(rows.map(({ sequence }) => sequence as number)));
    return { ...parts, rows, tree, head: { ...parts.head, row_count: rows.length } };
  };

  it('is reported as missing between the first and the last entry, unless it is recorded as erased', async () => {
    expect(firstFault(await verifyParts(without(sealed(20), [9])))).toMatchObject({
      kind: 'missing',
      sequence: 9,
    });
    const log = sealed(20).erase([3, 4], [8, 9], [10, 11]);
    expectProven(await verifyParts(log.export()));
    expect(firstFault(await verifyParts(without(log, [12, 13])))).toMatchObject({
      kind: 'missing',
      sequence: 12,
    });
    expect(firstFault(await verifyParts(without(log, [7])))).toMatchObject({
      kind: 'missing',
      sequence: 7,
    });
  });

  it('cannot be detected before the first entry, after the last one or with a filter, and the report says so', async () => {
    const late = await verifyParts(without(sealed(20), [1, 2, 20]));
    expectProven(late);
    expect(late.limits.join()).toContain('before 3 and after 19');
    const filtered = await verifyParts(
      without(sealed(20), [9], { ...EVERYTHING, agent_id: makeEntry(9).agent_id }),
    );
    expectProven(filtered);
    expect(filtered.limits.join()).toContain('had a filter (one agent)');
    for (const [filter, words] of [
      [{ action: 'email.send' }, 'one action'],
      [{ resource: 'mailbox:*' }, 'some resources'],
      [{ scope_key: 'amount', scope_max: 7 }, 'a range of a number in the scope'],
    ] as const) {
      const report = await verifyParts(without(sealed(20), [9], { ...EVERYTHING, ...filter }));
      expectProven(report);
      expect(report.limits.join()).toContain(`had a filter (${words})`);
    }
  });

  it('is reported as lost before sealing when the sealed leaf does not contain it', async () => {
    const log = sealed(8);
    const leaves = log.leaves.with(4, sha256(Buffer.of(0)));
    const parts = log.export();
    const rows = parts.rows.toSpliced(4, 1);
    const shown = new SealedLog(log.entries, KEY);
    Object.defineProperty(shown, 'leaves', { value: leaves });
    const tree = cover(leaves, new Set(rows.map(({ sequence }) => sequence as number)));
    const head = { ...parts.head, row_count: 7, checkpoint: shown.checkpoint() };
    const report = await verifyParts({ head, rows, tree });
    expect(firstFault(report)).toMatchObject({ kind: 'missing', sequence: 5 });
    expect(report.faults[0]?.message).toContain('was not in the database when its leaf was sealed');
  });
});

describe('the verifier', () => {
  it('reports an entry with an earlier time than the one before it', async () => {
    const entries = makeEntries(9);
    (entries[5] as JsonObject).created_at = '2026-01-01T00:00:04.999Z';
    expect(firstFault(await verifyParts(new SealedLog(entries, KEY).export()))).toMatchObject({
      kind: 'changed',
      sequence: 6,
    });
    (entries[5] as JsonObject).created_at = '2026-01-01T00:00:05.000Z';
    expectProven(await verifyParts(new SealedLog(entries, KEY).export()));
  });

  it.each<[string, Partial<ExportRequest>, number]>([
    ['before the start date', { start_date: '2026-01-01T00:00:01.0001Z' }, 1],
    ['at the end date', { end_date: '2026-01-01T00:00:09Z' }, 9],
    ['at an end date with another UTC offset', { end_date: '2026-01-01T02:00:05+02:00' }, 5],
    ['of another agent', { agent_id: makeEntry(1).agent_id }, 2],
    ['of another type', { event_types: ['approve', 'use', 'deny'] }, 4],
    ['of another action', { action: 'email.read' }, 1],
    ['of another resource', { resource: 'mailbox:1' }, 2],
    ['of a resource that begins otherwise', { resource: 'mailbox:1*' }, 2],
    ['that another one decided', { decided_by: 'member_1' }, 1],
    ['with too low a number', { scope_key: 'amount', scope_min: 0.5 }, 1],
    ['with too high a number', { scope_key: 'amount', scope_max: 1 }, 4],
    ['without the number', { scope_key: 'Amount', scope_min: 0 }, 1],
  ])('reports an entry %s that was not requested', async (_, request, sequence) => {
    const parts = sealed(9).export();
    const head = { ...parts.head, request: { ...parts.head.request, ...request } };
    expect(firstFault(await verifyParts({ ...parts, head }))).toMatchObject({
      kind: 'added',
      sequence,
    });
  });

  it('accepts dates in every valid form', async () => {
    for (const request of [
      { start_date: '2026-01-01', end_date: '2026-01-01' },
      { start_date: '2026-01-01t00:00:01z', end_date: '2026-01-01 00:00:09.0001Z' },
      { start_date: '2025-12-31T23:59:60Z', end_date: '2026-01-01T01:00:10+01:00' },
    ]) {
      const parts = sealed(9).export();
      expectProven(
        await verifyParts({
          ...parts,
          head: { ...parts.head, request: { ...parts.head.request, ...request } },
        }),
      );
    }
  });

  it('reports an entry that is recorded as erased', async () => {
    const parts = sealed(9).export();
    const { erased } = sealed(9).erase([6, 7]);
    expect(
      firstFault(await verifyParts({ ...parts, head: { ...parts.head, erased } })),
    ).toMatchObject({
      kind: 'added',
      sequence: 6,
    });
  });
});

describe('the record of an erasure', () => {
  const erasure = () => {
    const log = sealed(20)
      .erase([3, 4])
      .record('agent_deleted', '2026-06-02T00:00:00.000Z', [[9, 9]]);
    return log.record('retention', null, [[1, 1]]);
  };
  /** Verifies an export without entry 9, whose record of erasure was changed. */
  const judge = async (change: Partial<Erasure>, given?: Given) => {
    const parts = erasure().export();
    const erased = parts.head.erased.map((record, at) =>
      at === 1 ? ({ ...record, ...change } as Erasure) : record,
    );
    return await verifyParts({ ...parts, head: { ...parts.head, erased } }, given);
  };
  const signed = (log: SealedLog) =>
    log.record('agent_deleted', '2026-06-02T00:00:00.000Z', [[9, 9]]).erased[0]?.note;

  it('is accepted if the log signed it, and reported with its reason', async () => {
    const report = await verifyParts(erasure().export());
    expectProven(report);
    expect(report.proven.join()).toContain(
      'signed a record for the missing entries: 2 entries erased (retention), the last on 2026-06-01T00:00:00.000Z; ' +
        '1 entry erased (agent_deleted), the last on 2026-06-02T00:00:00.000Z; 1 entry hidden, to be erased later.',
    );
    // The service may have had another host name when it signed the record.
    const key = join(folder, 'jwks.json');
    writeFileSync(key, JSON.stringify({ keys: [KEY.jwk] }));
    expectProven(
      await judge({ note: signed(new SealedLog(0, KEY, `old.test/${USER}`)) ?? '' }, { key }),
    );
  });

  it.each<[string, Partial<Erasure>]>([
    ['has an empty signature', { note: '' }],
    ['has no signature', { note: undefined as never }],
    [
      'covers more entries than the signed one',
      {
        ranges: [
          [9, 9],
          [30, 30],
        ],
      },
    ],
    ['has another time than the signed one', { erased_at: '2026-06-02T00:00:00.001Z' }],
    ['has another reason than the signed one', { reason: 'retention' }],
    ['has no time', { erased_at: null }],
    [
      'belongs to another account',
      { note: signed(new SealedLog(0, KEY, 'countersign.test/user_other')) ?? '' },
    ],
    ['has a forged signature', { note: signed(sealed(0))?.replace(/.{5}=\n$/, 'AAAAA=\n') ?? '' }],
    ['has the note of a checkpoint', { note: sealed(9).checkpoint().note }],
  ])('is not accepted if it %s', async (_, change) => {
    expect(firstFault(await judge(change))).toMatchObject({ kind: 'missing', sequence: 9 });
  });

  it('is not accepted for hidden entries with another head than it was signed with', async () => {
    const log = sealed(20).record('retention', null, [[1, 1]]);
    const parts = log.export();
    const head = { ...parts.head, checkpoint: log.checkpoint(20, '2026-07-02T00:00:00.000Z') };
    expect(firstFault(await verifyParts({ ...parts, head }))).toMatchObject({
      kind: 'missing',
      sequence: 1,
    });
  });

  it('is reported as unchecked if an unknown key signed it', async () => {
    const report = await judge({ note: signed(new SealedLog(0, new LogKey())) ?? '' });
    expect(report.faults).toEqual([]);
    expect(report.unchecked).toEqual([
      'Who recorded the erasure of 1 entry: the record is signed with a key that was not given.',
    ]);
  });
});

describe('a change of the proof', () => {
  const parts = sealed(23).erase([3, 5], [9, 19]).export();
  const { file, proof } = write(parts);
  const text = proof.toString('latin1');

  it('is detected for any single bit, except in the fields export_id and request', async () => {
    // Nothing proves the export's id; the dates of the request only bound which entries may be in
    // the file.
    const open = ['export_id', 'request'].map((name) => {
      const start = text.indexOf(`"${name}":`);
      return [start + name.length + 3, text.indexOf('\n', start) - 1] as const;
    });
    for (let at = 0; at < proof.length - 1; at += 5) {
      if (open.some(([start, end]) => at >= start && at < end)) continue;
      const changed = Buffer.from(proof);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      // A changed key id in a record of erasure may be that of a key that was not given: it cannot
      // be checked.
      const { faults, unchecked } = await verify(file, changed);
      expect([...faults, ...unchecked], `byte ${at}: ${text.slice(at - 20, at + 1)}`).not.toEqual(
        [],
      );
    }
  });

  it('is attributed to the entry when it is in a leaf, and the report says that the file was not changed', async () => {
    for (const [at, part] of parts.tree.entries()) {
      const [sequence, salt, hash] = part as [number, string | number, string];
      if (typeof salt === 'number') continue;
      const change = async (...node: [number, string, string]) =>
        await verify(
          file,
          writeProof({ ...parts, tree: parts.tree.with(at, node) }, sha256(file).toString('hex')),
        );
      const other = await change(sequence, salt, sha256(hash).toString('hex'));
      expect(firstFault(other)).toMatchObject({ kind: 'changed', sequence });
      expect(other.faults[1]?.message).toContain('the proof was changed, and the file was not');
      const salted = await change(sequence, saltOf(99), hash);
      expect(firstFault(salted)).toMatchObject({ kind: 'changed', sequence });
      expect(salted.faults).toHaveLength(1);
      expect(firstFault(await change(sequence + 1, salt, hash))).toMatchObject({
        kind: 'proof',
        sequence,
      });
    }
  });

  it.each<[string, (tree: Any[]) => void, number]>([
    ['a gap', (tree) => tree.splice(2, 1), 3],
    ['an overlap', (tree) => tree.splice(2, 0, tree[1]), 3],
    ['a missing last part', (tree) => tree.pop(), 23],
    ['a part beyond the size of the tree', (tree) => tree.push([24, 24, 'a'.repeat(64)]), 24],
    ['parts in another order', (tree) => tree.reverse(), 1],
    [
      'a span of a size that no complete subtree has',
      (tree) => tree.splice(2, 2, [3, 5, 'a'.repeat(64)]),
      3,
    ],
    [
      'a span that does not begin where a complete subtree does',
      (tree) => tree.splice(1, 2, [2, 3, 'a'.repeat(64)]),
      2,
    ],
    [
      'a part with a salt of the wrong form',
      (tree) => tree.splice(3, 1, [5, 'no salt', 'a'.repeat(64)]),
      5,
    ],
    ['a part with a fourth element', (tree) => tree[3].push(1), 5],
    ['a hash in upper case', (tree) => (tree[3][2] = tree[3][2].toUpperCase()), 5],
  ])('is detected when it leaves %s in the tree', async (_, change, sequence) => {
    const tree = structuredClone(parts.tree);
    change(tree);
    expect(firstFault(await verifyParts({ ...parts, tree }))).toMatchObject({
      kind: 'proof',
      sequence,
    });
  });

  it('is refused when a line is too long, in the proof or in the file', async () => {
    const endless = Buffer.alloc(2 ** 26 + 2 ** 20, 'a');
    const { faults } = await verify(file, endless);
    expect(faults[0]?.message).toContain('a line is too long');
    expect((await verify(endless, proof)).faults[0]?.message).toContain('a line is too long');
  });

  it('is detected by the signed root when the proof matches a changed file', async () => {
    const forged = new SealedLog(
      log23((entry) => (entry.ip_address = '198.51.100.1')),
      KEY,
    )
      .erase([3, 5], [9, 19])
      .export();
    const report = await verifyParts({
      ...forged,
      head: { ...forged.head, checkpoint: parts.head.checkpoint },
    });
    expect(firstFault(report)).toMatchObject({ kind: 'proof', sequence: undefined });
    expect(report.faults[0]?.message).toContain(
      'The root of the tree is not that of the checkpoint',
    );
  });

  it('is detected in its tree size, number of rows, version, format and checkpoint', async () => {
    const judge = async (head: object) =>
      firstFault(await verifyParts({ ...parts, head: { ...parts.head, ...head } as never }));
    expect(await judge({ row_count: 8 })).toMatchObject({ kind: 'file' });
    expect(await judge({ version: 2 })).toMatchObject({ kind: 'proof' });
    expect(await judge({ format: 'csv' })).toMatchObject({ kind: 'proof' });
    for (const change of [
      { tree_size: 22 },
      { root_hash: 'a'.repeat(64) },
      { timestamp: '2026-07-01T00:00:00.001Z' },
      { origin: 'x/y' },
    ]) {
      expect(await judge({ checkpoint: { ...parts.head.checkpoint, ...change } })).toMatchObject({
        kind: 'checkpoint',
      });
    }
    for (const size of [22, 24]) {
      const other = sealed(size).checkpoint();
      expect((await judge({ checkpoint: other }))?.kind).toBe('proof');
    }
  });
});

function log23(change: (entry: Any) => void) {
  const entries = makeEntries(23);
  change(entries[6]);
  return entries;
}

describe('the signature of a checkpoint', () => {
  const parts = sealed(5).export();

  it('is accepted from any log key of a JWK set', async () => {
    const set = join(folder, 'jwks.json');
    const token = { ...new LogKey().jwk, kid: 'token-1' };
    writeFileSync(set, JSON.stringify({ keys: [token, new LogKey().jwk, KEY.jwk] }));
    const report = await verifyParts(parts, { key: set });
    expectProven(report);
    expect(report.key).toContain(String(KEY.jwk.kid));
  });

  it('is not accepted from a key with another key id than that of a log key', async () => {
    const set = join(folder, 'jwks.json');
    for (const jwk of [
      { ...KEY.jwk, kid: 'token-1' },
      { ...KEY.jwk, kid: `log-${'A'.repeat(43)}` },
    ]) {
      writeFileSync(set, JSON.stringify({ keys: [jwk] }));
      await expect(verifyParts(parts, { key: set })).rejects.toThrow('has no key for logs');
    }
  });

  it('is not accepted from another key or for another log name', async () => {
    expect(firstFault(await verifyParts(parts, { key: new LogKey().verifierKey() }))?.kind).toBe(
      'checkpoint',
    );
    expect(
      firstFault(await verifyParts(parts, { key: KEY.verifierKey('other.test/user') }))?.kind,
    ).toBe('checkpoint');
  });

  it('is not checked without a key, and the report says where to get the key', async () => {
    writeFileSync(FILE, write(parts).file);
    writeFileSync(PROOF, write(parts).proof);
    const report = await verifyFile({ file: FILE, proof: PROOF });
    expect(report.faults).toEqual([]);
    expect(report.key).toBeNull();
    expect(report.unchecked.join()).toContain('https://countersign.test/.well-known/jwks.json');
  });
});

describe('kept checkpoints', () => {
  const log = sealed(100);
  const kept = [0, 1, 7, 64, 64, 99, 100].map((size, at) =>
    log.checkpoint(size, `2026-02-0${at + 1}T00:00:00.000Z`),
  );

  it('are proven to be consistent with a full export', async () => {
    const report = await verifyParts(log.export(), { kept });
    expectProven(report);
    expect(report.proven.join()).toContain(
      '7 kept checkpoints, the oldest from 2026-02-01T00:00:00.000Z with 0 entries',
    );
  });

  it('show between which checkpoints a log was rewritten', async () => {
    const entries = makeEntries(100);
    (entries[69] as JsonObject).ip_address = '198.51.100.1';
    const report = await verifyParts(new SealedLog(entries, KEY).export(), { kept });
    expect(firstFault(report)).toMatchObject({ kind: 'history' });
    expect(report.faults[0]?.message).toContain(
      'The log was rewritten: its first 99 entries differ from those of 2026-02-06',
    );
    expect(report.faults[0]?.evidence).toMatchObject({
      still_right_at_size: 64,
      kept_on: '2026-02-05T00:00:00.000Z',
    });
  });

  it('are reported as not compared when the export has only a part of the log, or an older log', async () => {
    const part = await verifyParts(log.erase([40, 100]).export(), { kept });
    expectProven(part);
    expect(part.limits.join()).toContain('1 kept checkpoint cannot be compared offline');
    const older = await verifyParts(sealed(98).export(), { kept });
    expectProven(older);
    expect(older.limits.join()).toContain('2 kept checkpoints of a larger log');
  });

  it('are faults if they are forged or of another log, and are only mentioned if an unknown key signed them', async () => {
    const judge = async (checkpoint: JsonObject) =>
      await verifyParts(sealed(100).export(), { kept: [checkpoint] });
    const other = new SealedLog(
      5,
      KEY,
      'countersign.test/user_01m7x1kd4rfd295j3kx3gjdnpf',
    ).checkpoint();
    expect((await judge(other)).faults[0]?.message).toContain('another log');
    const note = kept[2]?.note.replace(/.{5}=\n$/, 'AAAAA=\n');
    expect((await judge({ ...(kept[2] as JsonObject), note: note ?? null })).faults[0]?.kind).toBe(
      'checkpoint',
    );
    const old = await judge(new SealedLog(5, new LogKey()).checkpoint());
    expectProven(old);
    expect(old.limits.join()).toContain('a key that was not given');
  });

  it('are compared if they name an earlier host of the service, and the report says so', async () => {
    const before = new SealedLog(makeEntries(100), KEY, `former.test/${USER}`);
    const names = [7, 64, 100].map((size) => before.checkpoint(size, '2026-02-01T00:00:00.000Z'));
    const report = await verifyParts(sealed(100).export(), { kept: [...names, ...kept] });
    expectProven(report);
    expect(report.proven.join()).toContain('10 kept checkpoints');
    expect(report.limits.join()).toContain(
      `3 kept checkpoints with another name of the log (former.test/${USER})`,
    );
    const rewritten = new SealedLog(makeEntries(99), KEY, `former.test/${USER}`);
    rewritten.leaves[3] = sha256(Buffer.from('another entry'));
    const { faults } = await verifyParts(sealed(100).export(), { kept: [rewritten.checkpoint()] });
    expect(faults[0]?.message).toContain('The log was rewritten');
  });
});

describe('a single entry', () => {
  const log = sealed(21);
  const judge = async (entry: unknown, proof: unknown) =>
    await verify(Buffer.from(JSON.stringify(entry)), Buffer.from(JSON.stringify(proof)));

  it('is proven at every place in the log', async () => {
    for (const entry of log.entries)
      expectProven(await judge(entry, entryProof(log, entry.sequence)));
  });

  it('is not proven after a change of the entry or of its proof', async () => {
    const proof = entryProof(log, 9) as Any;
    const entry = makeEntry(9);
    const wrong = async (changed: object, changedProof: object = {}) =>
      firstFault(await judge({ ...entry, ...changed }, { ...proof, ...changedProof }));
    expect(await wrong({ ip_address: 'x' })).toMatchObject({
      kind: 'changed',
      sequence: 9,
      id: entry.id,
    });
    expect(await wrong({ more: 1 })).toMatchObject({ kind: 'changed' });
    expect(await wrong({}, { sequence: 8 })).toMatchObject({ kind: 'swapped' });
    expect(await wrong({}, { leaf_hash: 'a'.repeat(64) })).toMatchObject({ kind: 'changed' });
    expect(await wrong({}, { inclusion_path: proof.inclusion_path.toReversed() })).toMatchObject({
      kind: 'changed',
    });
    expect(await wrong({}, { inclusion_path: proof.inclusion_path.slice(1) })).toMatchObject({
      kind: 'changed',
    });
    expect(await wrong({}, { leaf_input: entryProof(log, 8).leaf_input })).toMatchObject({
      kind: 'changed',
    });
    expect(await wrong({}, { tree_size: 20 })).toMatchObject({ kind: 'proof' });
    expect(await wrong({}, { checkpoint: sealed(20).checkpoint() })).toMatchObject({
      kind: 'proof',
    });
    expect(await wrong(makeEntry(8))).toMatchObject({ kind: 'changed' });
  });
});
