import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { csvFormat } from '../../src/audit/exports/csv';
import { TextFileEncoder } from '../../src/audit/exports/text';
import { CannotCheck, type Report } from '../../src/packages/verify/core/findings.ts';
import { verifyFile } from '../../src/packages/verify/verify-file.ts';
import { verifyWithoutProof } from '../../src/packages/verify/verify-without-proof.ts';
import { depth } from '../support/depth.ts';
import {
  type Entry,
  EVERYTHING,
  entryProof,
  LogKey,
  makeEntry,
  SealedLog,
  toExported,
  toRow,
  USER,
  write,
  writeJson,
  writeParquet,
} from '../support/sealed-log.ts';
import {
  type Algorithm,
  type Ballot,
  makeReview,
  Passkey,
  REQUESTED,
  SERVICE,
  type Tampering,
  type Voter,
} from '../support/signed-votes.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests reach into parts and break them
type Any = any;

const folder = mkdtempSync(join(tmpdir(), 'countersign-passkeys-test-'));
const [FILE, PROOF, PINNED] = ['file', 'proof.json', 'keys.json'].map((name) =>
  join(folder, name),
) as [string, string, string];
afterAll(() => rmSync(folder, { recursive: true }));

const KEY = new LogKey();
const voter = (number: number, algorithm: Algorithm): Voter => ({
  id: `member_${String(number).padStart(26, '0')}`,
  passkey: new Passkey(algorithm),
});
const [ada, bob, carol, dan] = [
  voter(1, 'EdDSA'),
  voter(2, 'RS256'),
  voter(3, 'ES256'),
  voter(4, 'ES256'),
] as [Voter, Voter, Voter, Voter];
const NARROW = { folders: ['inbox'], amount: 9.5, größer: true };

/** Pins the newest passkeys of Ada, Bob and Carol. */
function pinned(members: Record<string, object[]> = {}): Any {
  const all = Object.fromEntries([ada, bob, carol].map(({ id, passkey }) => [id, [passkey.pin()]]));
  return { origin: SERVICE, members: { ...all, ...members } };
}

const approvals: Ballot[] = [
  { voter: ada, reason: 'Ja, „gern“' },
  { voter: bob, scope: NARROW, limits: { token_ttl: 60, max_uses: 3 } },
  { voter: carol, limits: { token_ttl: 60, max_uses: 1 }, reason: 'Fine' },
];
const denial: Ballot[] = [
  { voter: bob, scope: NARROW },
  { voter: carol, decision: 'deny', reason: 'No' },
];

/**
 * A log with an approval, a denial and a withdrawal that were signed, and three decisions that were
 * not.
 */
const entries = [
  ...makeReview(1, approvals),
  ...makeReview(3, denial),
  ...makeReview(5, [{ voter: ada }], 'withdrawn'),
  ...makeReview(7, [{ voter: ada, signed: false }]),
  makeEntry(9),
  { ...makeEntry(10), event_type: 'approve' },
];

const withoutRequests = (list: Entry[]) =>
  list.filter(({ event_type }) => event_type !== 'request');

/** Verifies the file without a proof. */
async function judge(list: Entry[], keys: Any = pinned()): Promise<Report> {
  return await judgeFile(writeJson(list.map(toRow)), keys);
}

async function judgeFile(file: Uint8Array, keys: Any = pinned()): Promise<Report> {
  writeFileSync(FILE, file);
  writeFileSync(PINNED, JSON.stringify(keys));
  return await verifyWithoutProof({ file: FILE, passkeys: PINNED });
}

/** Verifies a log with its proof. */
async function judgeLog(
  list: Entry[],
  { format = 'json', keys = pinned() as Any | null } = {},
): Promise<Report> {
  const parts = new SealedLog(list, KEY).export(EVERYTHING, format);
  return await judgeParts(parts, keys);
}

async function judgeParts(parts: Any, keys: Any | null): Promise<Report> {
  const { file, proof } = write(parts);
  writeFileSync(FILE, file);
  writeFileSync(PROOF, proof);
  if (keys) writeFileSync(PINNED, JSON.stringify(keys));
  return await verifyFile({
    file: FILE,
    proof: PROOF,
    key: KEY.verifierKey(),
    passkeys: keys ? PINNED : undefined,
  });
}

const PROVEN = `Passkeys that you pinned signed 6 votes, each for exactly what its entry says: ${ada.id} (2), ${bob.id} (2), ${carol.id} (2).`;

describe('votes that pinned passkeys signed', () => {
  it.each(['json', 'parquet'])('are proven with the proof of the log: %s', async (format) => {
    const report = await judgeLog(entries, { format });
    expect([report.faults, report.unchecked]).toEqual([[], []]);
    expect(report.proven).toContain(PROVEN);
    expect(report.limits).toContain(
      'Who made 3 decisions without a signature: only the service says so.',
    );
  });

  it.each([
    ['JSON', writeJson(entries.map(toRow))],
    ['Parquet', writeParquet(entries.map(toRow))],
    ['CSV', writeCsv(entries)],
  ])('are proven without the proof of the log, which the report says: %s', async (_, file) => {
    const report = await judgeFile(file);
    expect([report.faults, report.unchecked]).toEqual([[], []]);
    expect(report.proven).toEqual([PROVEN]);
    expect(report.limits[0]).toContain(
      'Whether entries were changed, added or removed: without --proof',
    );
    expect([report.log, report.checkpoint]).toEqual([null, null]);
  });

  it('are proven in a single entry', async () => {
    const log = new SealedLog(entries, KEY);
    writeFileSync(FILE, JSON.stringify(entries[3]));
    writeFileSync(PROOF, JSON.stringify(entryProof(log, 4)));
    writeFileSync(PINNED, JSON.stringify(pinned()));
    const report = await verifyFile({
      file: FILE,
      proof: PROOF,
      key: KEY.verifierKey(),
      passkeys: PINNED,
    });
    expect([report.faults, report.unchecked]).toEqual([[], []]);
    expect(report.proven.join()).toContain(
      `signed 2 votes, each for exactly what its entry says: ${bob.id} (1)`,
    );
  });

  it('are compared with an action that a spreadsheet would read as a formula: CSV', async () => {
    const [request, end] = makeReview(1, approvals) as [Any, Any];
    const report = await judgeFile(
      writeCsv([request, end].map((entry) => withAction(entry, '=1+1'))),
    );
    expect(report.faults[0]?.message).toContain('its signature is of another decision');
  });

  it('are only counted without pinned passkeys', async () => {
    const report = await judgeLog(entries, { keys: null });
    expect([report.faults, report.unchecked]).toEqual([[], []]);
    expect(report.limits.join()).toContain(
      'Who signed 6 votes: keys from the service or from the export alone prove no identity',
    );
    expect(report.proven.join()).not.toContain('signed');
    expect((await judgeLog([makeEntry(1)], { keys: null })).limits.join()).not.toContain(
      '--passkeys',
    );
  });

  it('are not checked if nothing is pinned for the member', async () => {
    const report = await judge(makeReview(1, [{ voter: ada }, { voter: dan }, { voter: carol }]));
    expect(report.faults).toEqual([]);
    expect(report.proven.join()).toContain('signed 2 votes');
    expect(report.unchecked).toEqual([
      `Who signed the votes of members for whom you pinned no passkeys: ${dan.id} (1).`,
    ]);
  });

  it('prove nothing if the file has none', async () => {
    expect((await judge([makeEntry(1)])).unchecked.join()).toContain('Anything');
  });
});

describe('a vote that needs the request', () => {
  it('is proven without it where its own entry has the requested scope', async () => {
    const decisions = withoutRequests([
      ...makeReview(1, [{ voter: ada }, { voter: bob }]),
      ...makeReview(3, denial),
    ]);
    expect(await judge(decisions)).toMatchObject({ faults: [], unchecked: [] });
  });

  it('is not checked without it where a later vote narrowed the scope', async () => {
    const { faults, unchecked, proven } = await judge(withoutRequests(makeReview(1, approvals)));
    expect(faults).toEqual([]);
    expect(proven.join()).toContain(
      `signed 2 votes, each for exactly what its entry says: ${bob.id} (1), ${carol.id} (1)`,
    );
    const vote = `vote 1 on ${makeEntry(1).permission_request_id}`;
    expect(unchecked).toEqual([
      expect.stringMatching(new RegExp(`^What was signed with 1 vote: .*${vote}\\.$`)),
    ]);
  });

  it('is not checked without it where the request was withdrawn, because its entry has no digests', async () => {
    const { faults, unchecked } = await judge(
      withoutRequests(makeReview(1, [{ voter: ada }], 'withdrawn')),
    );
    expect([faults, unchecked.join()]).toEqual([
      [],
      expect.stringContaining('What was signed with 1 vote'),
    ]);
  });

  it('is not looked for in an export of requests only', async () => {
    const parts = new SealedLog(entries, KEY).export({
      ...EVERYTHING,
      event_types: ['request', 'use'],
    });
    expect(await judgeParts(parts, pinned())).toMatchObject({ faults: [], unchecked: [] });
  });
});

describe('a vote whose signature is wrong', () => {
  const wrong = async (ballot: Partial<Ballot>, keys?: Any) => {
    const report = await judge(
      makeReview(1, [{ voter: ada }, { voter: bob, ...ballot }, { voter: carol }]),
      keys,
    );
    return report.faults[0]?.message.replace(/^.*: /, '');
  };

  it.each<[string, Tampering, string]>([
    [
      'of another type',
      { clientData: { type: 'webauthn.create' } },
      'its signature is not one of webauthn.get',
    ],
    [
      'of another challenge',
      { clientData: { challenge: 'AAAA' } },
      'its signature is of another decision than the one in the log',
    ],
    [
      'at another origin',
      { origin: 'https://evil.test' },
      'its signature was made at an origin that is not pinned',
    ],
    [
      'in a frame',
      { clientData: { crossOrigin: true } },
      'its signature was made in a frame of another site',
    ],
    [
      'below another site',
      { clientData: { topOrigin: SERVICE } },
      'its signature was made in a frame of another site',
    ],
    ['for another host', { rpId: 'evil.test' }, 'its signature was made for another host'],
    ['without a person', { flags: 0x04 }, 'its signature was made without a person present'],
    [
      'without verification',
      { flags: 0x01 },
      'its signature was made without verifying the person',
    ],
    ['of a backup that cannot be', { flags: 0x15 }, 'its signature has inconsistent backup flags'],
    ['by another key', { key: carol.passkey }, 'its signature was not made by the pinned key'],
  ])('is named: %s', async (_, tampering, message) => {
    expect(await wrong({ tampering })).toBe(message);
  });

  it('is accepted with the flags of a synchronised passkey, and with more client data', async () => {
    expect(
      await wrong({ tampering: { flags: 0x1d, clientData: { other_keys: 'later' } } }),
    ).toBeUndefined();
  });

  it('is named if the passkey is not pinned for the member, was added later or removed before', async () => {
    expect(await wrong({}, pinned({ [bob.id]: [dan.passkey.pin()] }))).toContain(
      'not among those pinned',
    );
    expect(await wrong({}, pinned({ [bob.id]: [] }))).toContain('not among those pinned');
    const { [bob.id]: passkeys, ...members } = pinned().members;
    expect(
      await wrong({}, { origin: SERVICE, members: { ...members, [dan.id]: passkeys } }),
    ).toContain('not among');
    const signedAt = '2026-01-01T00:00:02.000Z';
    const times = async (life: object) =>
      await wrong({}, pinned({ [bob.id]: [bob.passkey.pin(life)] }));
    expect(await times({ added_at: signedAt, removed_at: signedAt })).toBeUndefined();
    expect(await times({ added_at: '2026-01-01T00:00:02.001Z' })).toContain('added later');
    expect(await times({ removed_at: '2026-01-01T00:00:01.999Z' })).toContain('removed before');
  });

  it('is accepted at each of several pinned origins', async () => {
    const former = 'https://former.test';
    const both = { ...pinned(), origin: [SERVICE, former] };
    expect(await wrong({ tampering: { origin: former } }, both)).toBeUndefined();
    expect(await wrong({ tampering: { origin: 'https://evil.test' } }, both)).toContain(
      'not pinned',
    );
  });
});

describe('votes that contradict each other or their entry', () => {
  const review = () => structuredClone(makeReview(1, approvals)) as [Any, Any];
  it.each<[string, (end: Any, request: Any) => void, string]>([
    [
      'a signature without its mark',
      ({ votes }) => (votes[0].signed = false),
      'it has a signature, but is not marked as signed',
    ],
    [
      'a mark without its signature',
      ({ votes }) => delete votes[0].signature,
      'it is marked as signed, but has no signature',
    ],
    [
      'two approvals of one member',
      ({ votes }) => (votes[1].by = ada.id),
      'the member approved before',
    ],
    [
      'higher limits than before',
      ({ votes }) => (votes[2].token_ttl = 61),
      'it has higher limits than the vote before',
    ],
    [
      'a denial within an approval',
      ({ votes }) => (votes[1].decision = 'deny'),
      'it denies, but did not end the request',
    ],
    [
      'another scope',
      (end) => (end.scope = REQUESTED.scope),
      'the scope of its entry is not that of the vote',
    ],
    [
      'another decider',
      (end) => (end.decided_by = ada.id),
      'the decided_by of its entry is not that of the vote',
    ],
    [
      'another reason',
      (end) => (end.decision_reason = 'x'),
      'the decision_reason of its entry is not that of the vote',
    ],
    [
      'another channel',
      (end) => (end.decided_via = 'api'),
      'the decided_via of its entry is not that of the vote',
    ],
    [
      'another time',
      ({ votes }) => (votes[0].at = '2026-01-01T00:07:00.000Z'),
      'its time is not within minutes',
    ],
    ['no votes', (end) => (end.votes = []), 'the entry of a decision has no votes'],
    ['no digest', (end) => delete end.input_digest, 'its entry has no input_digest'],
    [
      'another digest than the request',
      (_, request) => (request.input_digest = null),
      'the input_digest of its entry is not that of the request',
    ],
  ])('are named: %s', async (_, change, message) => {
    const [request, end] = review();
    change(end.details, request.details);
    const { faults } = await judgeLog([request, end], { keys: null });
    expect(faults[0]?.message).toContain(message);
    expect(faults).toMatchObject([{ kind: 'vote', sequence: 2, id: end.id }]);
  });

  it('are named if what was signed has no canonical JSON', async () => {
    const [request, end] = review();
    end.details.votes[0].scope = { a: '\ud800' };
    expect((await judge([request, end])).faults[0]?.message).toContain('vote 1');
    expect((await judge([request, end])).faults[0]?.message).toContain(
      'its entry has no canonical JSON',
    );
  });

  it('are not there where fewer approved than voted: one approved, and then denied', async () => {
    const votes: Ballot[] = [
      { voter: ada, scope: NARROW },
      { voter: ada, decision: 'deny' },
    ];
    expect(await judge(makeReview(1, votes))).toMatchObject({ faults: [], unchecked: [] });
  });
});

/**
 * Places in the details of a decision that no signature and no other place covers: only the proof
 * of the log does.
 */
const UNSIGNED = /^(policy_id|review_policy_id|token_id|votes\.\d\.at|votes\.[01]\.via)$/;

describe('one changed value in an export', () => {
  const places = [1, 3].flatMap((at) =>
    placesOf(entries[at]?.details).map((path) => [at, path] as const),
  );

  it.runIf(depth.isDeep).each(
    depth.cases(
      [
        ['with the requests', (list: Entry[]) => list],
        ['without the requests', (list: Entry[]) => withoutRequests(list)],
      ],
      2,
    ),
  )('is found by the signatures alone, and its vote named: %s', async (_, select) => {
    let found = 0;
    for (const [at, path] of places) {
      for (const changed of depth.cases(variantsOf(valueAt(entries[at]?.details, path)), 60)) {
        const entry = withValue(entries[at] as Entry, path, changed);
        const { faults, unchecked } = await judge(select(entries.slice(0, 4).with(at, entry)));
        const label = `${path.join('.')} of ${at}: ${JSON.stringify(changed)}`;
        if (UNSIGNED.test(path.join('.'))) continue;
        // Without the request, the first vote on the approval has no scope.
        if (
          faults.length === 0 &&
          unchecked.join().includes('the entry of the request is not in the file')
        ) {
          expect([label, path.slice(0, 2)]).toEqual([label, ['votes', '0']]);
          expect([label, unchecked.join()]).toEqual([
            label,
            expect.stringContaining('What was signed with 1 vote'),
          ]);
          continue;
        }
        expect([label, faults[0]?.kind]).toEqual([label, 'vote']);
        expect([label, faults[0]?.message]).toEqual([
          label,
          expect.stringMatching(/vote \d( by \w+)? on perm_/),
        ]);
        expect([label, faults[0]?.message]).toEqual([
          label,
          expect.stringContaining(entry.permission_request_id),
        ]);
        expect(faults[0]?.evidence).toMatchObject({ permission: entry.permission_request_id });
        // A vote that cannot be checked without the request may contradict the next one.
        if (path[0] === 'votes' && unchecked.length === 0)
          expect([label, faults[0]?.evidence.vote]).toEqual([label, Number(path[1]) + 1]);
        found++;
      }
    }
    expect(found).toBeGreaterThan(50);
  });

  it.runIf(depth.isDeep)(
    'is found by the proof everywhere, and by the signatures as well where they cover it',
    async () => {
      const parts = new SealedLog(entries, KEY).export();
      for (const [at, path] of places) {
        const [changed] = variantsOf(valueAt(entries[at]?.details, path));
        const rows = parts.rows.with(at, toRow(withValue(entries[at] as Entry, path, changed)));
        const { faults } = await judgeParts({ ...parts, rows }, pinned());
        const place = { sequence: at + 1, id: entries[at]?.id };
        const label = path.join('.');
        expect([label, faults[0]]).toMatchObject([label, { kind: 'changed', ...place }]);
        if (!UNSIGNED.test(label))
          expect([label, faults[1]]).toMatchObject([label, { kind: 'vote', ...place }]);
      }
    },
  );

  it('is found in the other fields of a signed statement', async () => {
    for (const name of ['agent_id', 'user_id', 'permission_request_id'] as const) {
      for (const list of [entries.slice(0, 2), entries.slice(1, 2)]) {
        const changed = list.with(-1, {
          ...(list.at(-1) as Entry),
          [name]: `${list.at(-1)?.[name]}x`,
        });
        expect((await judge(changed)).faults[0]).toMatchObject({ kind: 'vote', sequence: 2 });
      }
    }
  });

  it.each(['scope', 'action', 'resource', 'input_digest', 'preview_digest'])(
    'is found in the request: %s',
    async (name) => {
      for (const at of [0, 2]) {
        const request = withValue(
          entries[at] as Entry,
          [name],
          name === 'scope' ? { folders: ['inbox'] } : 'changed',
        );
        expect((await judge(entries.slice(0, 4).with(at, request))).faults[0]).toMatchObject({
          kind: 'vote',
          sequence: at + 2,
        });
      }
    },
  );
});

describe('the review that a request asks for', () => {
  const rule = { members: null, roles: ['approver'], allow_self: false, escalation: null };

  /** A review in which two people voted; Bob did not sign. */
  function review(
    approvals: Any,
    passkey: Any,
    ballots: Ballot[] = [{ voter: ada }, { voter: bob, signed: false }],
  ) {
    const [request, end] = makeReview(11, ballots) as [Entry, Entry];
    const asked = withValue(request, ['review'], { ...rule, approvals, passkey });
    // Another request, whose votes are complete, comes before.
    return [...makeReview(9, [{ voter: carol }]), asked, end];
  }

  it.each([
    ['one approval too few', 3, false, 'its request asked for 3 approvals, and it has 2'],
    [
      'one signature too few',
      2,
      true,
      'its request asked for 2 approvals signed with a passkey, and it has 1',
    ],
    ['a rule without a number', '2', true, 'the review that its request asks for is malformed'],
    [
      'a rule that does not say who signs',
      2,
      null,
      'the review that its request asks for is malformed',
    ],
  ])(
    'is a fault with %s, with and without pinned passkeys',
    async (_, approvals, passkey, message) => {
      const [, , asked, end] = review(approvals, passkey) as [Entry, Entry, Entry, Entry];
      const log = [
        ...makeReview(1, [{ voter: carol }]),
        { ...asked, sequence: 3 },
        { ...end, sequence: 4 },
      ];
      for (const keys of [pinned(), null]) {
        const { faults } = await judgeLog(log, { keys });
        expect(faults.map(({ kind, sequence }) => [kind, sequence])).toEqual([['vote', 4]]);
        expect(faults[0]?.message).toContain(
          `lacks votes on ${end.permission_request_id}: ${message}`,
        );
      }
      expect((await judge(review(approvals, passkey))).faults[0]?.message).toContain(message);
    },
  );

  it('is a fault where the approval has no votes at all', async () => {
    const [, , request, end] = review(1, false) as [Entry, Entry, Entry, Entry];
    const { votes: _, ...details } = end.details as Any;
    expect((await judge([request, { ...end, details }])).faults[0]?.message).toContain(
      'asked for 1 approvals, and it has 0',
    );
  });

  it('is proven where enough people approved and signed', async () => {
    const report = await judge(review(2, true, [{ voter: ada }, { voter: bob }]));
    expect([report.faults, report.unchecked]).toEqual([[], []]);
    expect(report.proven).toContain(
      '1 approval by people has the votes that the request asks for.',
    );
    expect(report.limits).toContain(
      'Whether the voters were reviewers: the log has the rule, but not the roles of members.',
    );
  });

  it('is not known without the entry of the request, which the report says', async () => {
    const [, , , end] = review(2, true, [{ voter: ada }, { voter: bob }]) as [
      Entry,
      Entry,
      Entry,
      Entry,
    ];
    const { faults, limits } = await judge([end]);
    expect(faults).toEqual([]);
    expect(limits.join()).toContain(
      'Whether enough people approved 1 request: the entry that says how many',
    );
  });
});

describe('the file of the pinned passkeys', () => {
  const list = makeReview(1, [{ voter: ada }]);
  const passkey = ada.passkey.pin();
  const pin = (changes: object) => ({
    ...pinned(),
    members: { [ada.id]: [{ ...passkey, ...changes }] },
  });

  it('needs no names and times', async () => {
    const { id, public_key } = passkey;
    expect(
      await judge(list, { origin: SERVICE, members: { [ada.id]: [{ id, public_key }] } }),
    ).toMatchObject({
      faults: [],
      unchecked: [],
    });
  });

  it.each<[string, Any]>([
    ['no object', []],
    ['no origin', { members: {} }],
    ['an origin with a path', { ...pinned(), origin: `${SERVICE}/` }],
    ['a host as origin', { ...pinned(), origin: 'countersign.test' }],
    ['no members', { origin: SERVICE }],
    ['an e-mail address as member', { origin: SERVICE, members: { 'ada@example.com': [] } }],
    ['no list', { origin: SERVICE, members: { [ada.id]: passkey } }],
    ['an unknown field', { ...pinned(), orgin: SERVICE }],
    ['a misspelled field of a passkey', pin({ removedAt: '2026-01-01T00:00:00Z' })],
    ['an invalid time', pin({ removed_at: 'yesterday' })],
    ['an id with padding', pin({ id: 'AAAA=' })],
    ['no public key', pin({ public_key: undefined })],
    ['a public key that is no CBOR', pin({ public_key: '_w' })],
    [
      'a public key with bytes after it',
      pin({
        public_key: Buffer.concat([
          Buffer.from(passkey.public_key, 'base64url'),
          Buffer.of(0),
        ]).toString('base64url'),
      }),
    ],
    // {1: 2, 3: -35, -1: 2}
    [
      'a public key of another algorithm',
      pin({ public_key: Buffer.from('a301020338222002', 'hex').toString('base64url') }),
    ],
    ['a passkey twice', pinned({ [bob.id]: [passkey] })],
  ])('is refused with %s', async (_, keys) => {
    await expect(judge(list, keys)).rejects.toThrow(CannotCheck);
  });

  it('is refused with a point that is not on the curve', async () => {
    const key = Buffer.from(carol.passkey.publicKey, 'base64url');
    key[key.length - 1] = (key.at(-1) ?? 0) ^ 1;
    const keys = pin({ public_key: key.toString('base64url') });
    await expect(judge(list, keys)).rejects.toThrow('is not a COSE key of ES256, EdDSA or RS256');
  });
});

it('an export without details is not checked', async () => {
  const rows = entries.map(toRow).map(({ details: _, ...row }) => row);
  await expect(judgeFile(writeJson(rows))).rejects.toThrow(
    'only an export with details can be verified',
  );
});

function writeCsv(list: Entry[]): Buffer {
  const encoder = new TextFileEncoder(
    csvFormat(USER as Any, { withDetails: true, bom: false }),
    null,
  );
  return Buffer.concat([...encoder.add(list.map(toExported)), ...encoder.end()]);
}

function withAction(entry: Any, action: string): Any {
  return { ...entry, details: { ...entry.details, action } };
}

/** The paths of all strings, numbers, booleans and nulls in a value. */
function placesOf(value: Any, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.keys(value).flatMap((name) => placesOf(value[name], [...path, name]));
}

function valueAt(value: Any, path: string[]): Any {
  return path.reduce((part, name) => part[name], value);
}

function withValue(entry: Entry, path: string[], value: Any): Entry {
  const copy: Any = structuredClone(entry);
  valueAt(copy.details, path.slice(0, -1))[path.at(-1) ?? ''] = value;
  return copy;
}

/**
 * Values that differ from one in one character, number or word. The first one differs in the last
 * character.
 */
function variantsOf(value: Any): Any[] {
  if (value === null) return ['x'];
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [value + 1, value - 1, value * 2];
  return Array.from(value as string, (_, at) => {
    const place = value.length - 1 - at;
    const other = value[place] === 'A' ? 'B' : 'A';
    return value.slice(0, place) + other + value.slice(place + 1);
  });
}
