import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import canonicalize from 'canonicalize';
import { afterAll, describe, expect, it } from 'vitest';
import { CannotCheck, Fault, type Report } from '../../src/packages/verify/core/findings.ts';
import { openReceipt, verifyReceipt } from '../../src/packages/verify/verify-receipt.ts';
import { runInProcess } from '../support/cli.ts';
import { depth } from '../support/depth.ts';
import {
  type Entry,
  LogKey,
  makeEntry,
  receiptOf,
  SealedLog,
  sha256,
} from '../support/sealed-log.ts';
import { makeReview, Passkey, SERVICE, type Voter } from '../support/signed-votes.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests reach into parts and break them
type Any = any;

const folder = mkdtempSync(join(tmpdir(), 'countersign-receipt-test-'));
const [FILE, PINNED, KEPT, POLICY] = ['receipt.json', 'keys.json', 'kept.jsonl', 'policy'].map(
  (name) => join(folder, name),
) as [string, string, string, string];
afterAll(() => rmSync(folder, { recursive: true }));

const KEY = new LogKey();
const INPUT = { to: 'ada@example.com', amount: 12.5, note: 'Größer als „10“\u001b[2J' };
const PREVIEW = { title: 'Pay Ada' };
const digestOf = (value: object) =>
  `sha-256:${sha256(canonicalize(value) as string).toString('base64url')}`;

/** An entry of the story: of the same agent, action and resource. */
function step(sequence: number, permission: number, event: string, details: object = {}): Entry {
  const entry = makeEntry(sequence);
  return {
    ...entry,
    agent_id: makeEntry(3).agent_id,
    permission_request_id: idOf(permission),
    event_type: event,
    details: {
      ...entry.details,
      resource: 'ledger:main',
      scope: { amount: 20 },
      decision_reason: null,
      ...details,
    } as Entry['details'],
  };
}

const idOf = (permission: number) => makeEntry(permission).permission_request_id;
const MEMBER = `member_${'0'.repeat(25)}1`;
const DIGESTS = { input_digest: digestOf(INPUT), preview_digest: digestOf(PREVIEW) };
const NONE = { input_digest: null, preview_digest: null };

/**
 * A log with two accounts' worth of other entries around: permission 3 is asked, approved, used and
 * revoked; permission 10 is approved by a series of permission 3.
 */
const log = new SealedLog(
  [
    makeEntry(1),
    makeEntry(2),
    step(3, 3, 'request', DIGESTS),
    makeEntry(4),
    step(5, 3, 'approve', {
      ...DIGESTS,
      decided_by: MEMBER,
      decided_via: 'console',
      decision_reason: 'Fine',
    }),
    step(6, 3, 'use'),
    makeEntry(7),
    step(8, 3, 'revoke', { decided_by: MEMBER, decided_via: 'api' }),
    makeEntry(9),
    step(10, 10, 'request', NONE),
    step(11, 10, 'approve', {
      ...NONE,
      decided_by: idOf(3),
      decided_via: 'series',
      series: { permission_id: idOf(3), given_by: [MEMBER] },
    }),
    ...[12, 13, 14, 15, 16].map((sequence) => makeEntry(sequence)),
  ],
  KEY,
);

const whole = () =>
  receiptOf(log, idOf(3), [3, 5, 6, 8], { input: INPUT, preview: PREVIEW }) as Any;
const bySeries = () => receiptOf(log, idOf(10), [3, 5, 10, 11]) as Any;

/** A witness that cosigns literally by https://c2sp.org/tlog-cosignature. */
class Cosigner {
  private readonly keys = generateKeyPairSync('ed25519');

  constructor(private readonly name: string) {}

  get verifierKey(): string {
    return `${this.name}+${this.keyId.toString('hex')}+${this.typed.toString('base64')}`;
  }

  cosign(note: string, seconds = Date.parse('2026-07-01T00:00:01.000Z') / 1_000): string {
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(seconds));
    const text = note.slice(0, note.indexOf('\n\n') + 1);
    const message = Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`);
    const signature = sign(null, message, this.keys.privateKey);
    return `— ${this.name} ${Buffer.concat([this.keyId, time, signature]).toString('base64')}\n`;
  }

  private get typed(): Buffer {
    const { x = '' } = this.keys.publicKey.export({ format: 'jwk' });
    return Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url')]);
  }

  private get keyId(): Buffer {
    return sha256(this.name, '\n', this.typed).subarray(0, 4);
  }
}

/** The report on a receipt, as the program makes it; a fault that it throws is in the report too. */
async function verify(
  receipt: object | Buffer,
  {
    key = KEY.verifierKey(),
    pinned,
    kept,
    witnesses,
  }: { key?: string; pinned?: object; kept?: object; witnesses?: string } = {},
): Promise<Pick<Report, 'proven' | 'limits' | 'unchecked' | 'faults'>> {
  writeFileSync(FILE, receipt instanceof Uint8Array ? receipt : JSON.stringify(receipt));
  if (pinned) writeFileSync(PINNED, JSON.stringify(pinned));
  if (witnesses !== undefined) writeFileSync(POLICY, witnesses);
  if (kept) writeFileSync(KEPT, `${JSON.stringify(kept)}\n`);
  try {
    const value = await openReceipt(FILE);
    if (!value) return { proven: [], limits: [], unchecked: ['not a receipt'], faults: [] };
    return await verifyReceipt({
      value,
      key,
      ...(pinned && { passkeys: PINNED }),
      ...(kept && { checkpoints: KEPT }),
      ...(witnesses !== undefined && { witnesses: POLICY }),
    });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { proven: [], limits: [], unchecked: [], faults: [error] };
  }
}

describe('a receipt', () => {
  it('is proven offline, and tells in sentences what was asked, decided and used', async () => {
    const { proven, limits, unchecked, faults } = await verify(whole());
    expect([unchecked, faults]).toEqual([[], []]);
    const agent = makeEntry(3).agent_id;
    expect(proven).toEqual([
      `2026-01-01T00:00:03.000Z: ${agent} asked for email.send on "ledger:main" within {"amount":20}, from 203.0.113.7.`,
      `  Its arguments, exactly as requested: ${JSON.stringify(INPUT)}`,
      '  What the agent wrote for who decides, in its own words: {"title":"Pay Ada"}',
      `2026-01-01T00:00:05.000Z: ${MEMBER} approved it in the console within {"amount":20}, because "Fine".`,
      '2026-01-01T00:00:06.000Z: its token was used, from 203.0.113.7.',
      `2026-01-01T00:00:08.000Z: ${MEMBER} revoked its token.`,
    ]);
    expect(limits.join('\n')).toContain('Whether the act happened');
    expect(limits).toContain('Who made 1 decision without a signature: only the service says so.');
    expect(limits.join('\n')).toContain('only the service says that these are all');
  });

  it('may be indented, and end with a newline', async () => {
    for (const text of [`${JSON.stringify(whole())}\n`, JSON.stringify(whole(), null, 2)])
      expect(await verify(Buffer.from(text))).toMatchObject({ faults: [], unchecked: [] });
    expect((await verify(Buffer.from(JSON.stringify(whole(), null, 3)))).faults).toHaveLength(1);
  });

  it('tells texts of others in quotes that they cannot leave', async () => {
    const [resource, reason] = ['a:b within {"amount":1}, from me', 'No”. Later: “Yes'];
    const decided = { resource, decided_by: MEMBER, decided_via: 'api', decision_reason: reason };
    const other = new SealedLog(
      [step(1, 1, 'request', { resource, ...NONE }), step(2, 1, 'deny', { ...decided, ...NONE })],
      KEY,
    );
    const { proven, faults } = await verify(receiptOf(other, idOf(1), [1, 2]));
    expect(faults).toEqual([]);
    expect(proven[0]).toContain('on "a:b within {\\"amount\\":1}, from me" within {"amount":20}');
    expect(proven[1]).toContain('denied it by the API, because "No”. Later: “Yes".');
  });

  it('does not call an approval a vote for the denial that followed', async () => {
    const votes = ['approve', 'deny'].map((decision) => ({
      by: MEMBER.replace(/1$/, decision === 'approve' ? '2' : '1'),
      decision,
      token_ttl: 900,
      max_uses: 1,
      reason: null,
      via: 'api',
      signed: false,
      at: '2026-01-01T00:00:02.000Z',
    }));
    const decided = { votes, decided_by: MEMBER, decided_via: 'api', review_policy_id: null };
    const other = new SealedLog(
      [step(1, 1, 'request', NONE), step(2, 1, 'deny', { ...NONE, ...decided })],
      KEY,
    );
    const { proven, faults } = await verify(receiptOf(other, idOf(1), [1, 2]));
    expect(faults).toEqual([]);
    expect(proven[1]).toContain(`${MEMBER} denied it by the API.`);
    expect(proven.slice(2).map((vote) => vote.includes(' approved '))).toEqual([true, false]);
  });

  it('fails with bytes that are not UTF-8', async () => {
    const preview = { title: '\ufffd' };
    const request = step(1, 1, 'request', { ...NONE, preview_digest: digestOf(preview) });
    const receipt = receiptOf(new SealedLog([request], KEY), idOf(1), [1], { preview });
    const text = JSON.stringify(receipt);
    expect(await verify(Buffer.from(text))).toMatchObject({ faults: [], unchecked: [] });
    const [before, after] = text.split('\ufffd').map((part) => Buffer.from(part)) as [
      Buffer,
      Buffer,
    ];
    const changed = Buffer.concat([before, Buffer.of(0xff), after]);
    const { faults, unchecked } = await verify(changed);
    expect(faults.length + unchecked.length).toBe(1);
  });

  it('shows the people behind the approval by a series', async () => {
    const { proven, faults } = await verify(bySeries());
    expect(faults).toEqual([]);
    expect(proven.join('\n')).toContain(
      `it was approved as one of the series that ${MEMBER} gave with ${idOf(3)}`,
    );
    expect(proven[0]).toBe('The first request of the series:');
  });

  it('fails with any flipped bit of any byte', async () => {
    const text = Buffer.from(JSON.stringify(whole()));
    const passed: string[] = [];
    for (const at of depth.cases([...text.keys()], 7)) {
      const changed = Buffer.from(text);
      changed[at] = (text[at] ?? 0) ^ (1 << (at % 8));
      const { faults, unchecked } = await verify(changed);
      if (faults.length + unchecked.length === 0) passed.push(changed.toString());
    }
    expect(passed).toEqual([]);
  });

  it.each<[string, (receipt: Any) => void]>([
    ['another permission', (receipt) => (receipt.permission_id = idOf(10))],
    ['no request, but complete', ({ entries }) => entries.shift()],
    ['no approval, but a use', ({ entries }) => entries.splice(1, 1)],
    ['two entries in another order', ({ entries }) => entries.reverse()],
    ['an entry twice', ({ entries }) => entries.splice(1, 0, entries[0])],
    ['an entry of another permission', ({ entries }) => entries.push(bySeries().entries[2])],
    ['another sequence', ({ entries }) => (entries[0].sequence = 4)],
    ['other arguments', (receipt) => (receipt.input = { ...INPUT, amount: 1_000 })],
    ['another preview', (receipt) => (receipt.preview = { title: 'Pay Eve' })],
    ['another type', (receipt) => (receipt.type = 'countersign/receipt/v2')],
    ['a field more', (receipt) => (receipt.note = 'genuine')],
    ['a field less', (receipt) => delete receipt.preview],
    ['the checkpoint of another size', (receipt) => (receipt.checkpoint = log.checkpoint(9))],
    ['a checkpoint of another log', (r) => (r.checkpoint = new SealedLog(16).checkpoint())],
  ])('fails with %s', async (_, change) => {
    const receipt = whole();
    change(receipt);
    expect((await verify(receipt)).faults).toHaveLength(1);
  });

  it('fails with the key of another log, and is not proven without any key', async () => {
    const { faults } = await verify(whole(), { key: new LogKey().verifierKey() });
    expect(faults[0]?.kind).toBe('checkpoint');
    await expect(verify(whole(), { key: 'missing.txt' })).rejects.toThrow(CannotCheck);
  });

  it('without an entry proves nothing, as after the retention of them all', async () => {
    const receipt = { ...whole(), entries: [], complete: false, input: null, preview: null };
    await expect(verify(receipt)).rejects.toThrow(CannotCheck);
  });

  it('of a series is not complete without the request and the approval of its first permission', async () => {
    const alone = receiptOf(log, idOf(10), [10, 11]) as Any;
    expect((await verify(alone)).faults[0]?.message).toContain('an entry is missing');
    const { faults, limits } = await verify({ ...alone, complete: false });
    expect(faults).toEqual([]);
    expect(limits.join('\n')).toContain('does not hold all entries');
  });

  it('is compared with the checkpoints that were kept', async () => {
    expect((await verify(whole(), { kept: log.checkpoint() })).proven.join('\n')).toContain(
      'consistent with 1 kept checkpoint',
    );
    const fork = new SealedLog(16, KEY).checkpoint();
    expect((await verify(whole(), { kept: fork })).faults[0]?.kind).toBe('history');
  });
});

describe('witnesses', () => {
  const ann = new Cosigner('ann.example/w');
  const ben = new Cosigner('ben.example/w');
  const lines = `witness ann ${ann.verifierKey}\nwitness ben ${ben.verifierKey}\n`;
  const [both, any] = ['all', 'any'].map(
    (count) => `# Ours\n${lines}\tgroup us ${count}  ann ben\nquorum us\n`,
  ) as [string, string];
  const cosigned = (...cosigners: Cosigner[]) => {
    const receipt = whole();
    const { note } = receipt.checkpoint;
    receipt.checkpoint.note += cosigners.map((one) => one.cosign(note)).join('');
    return receipt;
  };

  it('that are enough for the policy are named, with their times', async () => {
    for (const [receipt, witnesses] of [
      [cosigned(ann, ben), both],
      [cosigned(ben), any],
    ]) {
      const { proven, faults, unchecked } = await verify(receipt, { witnesses });
      expect([faults, unchecked]).toEqual([[], []]);
      expect(proven.join('\n')).toContain('ben (2026-07-01T00:00:01.000Z)');
    }
  });

  it('that are not enough, or not of the policy, are not checked', async () => {
    for (const receipt of [
      cosigned(),
      cosigned(ann),
      cosigned(ann, new Cosigner('ben.example/w')),
    ]) {
      const { faults, unchecked } = await verify(receipt, { witnesses: both });
      expect(faults).toEqual([]);
      expect(unchecked).toHaveLength(1);
    }
    const none = await verify(cosigned(), { witnesses: 'quorum none\n' });
    expect([none.faults, none.unchecked]).toEqual([[], []]);
  });

  it('whose cosignature is forged make it wrong', async () => {
    const receipt = cosigned(ann, ben);
    const { note } = new SealedLog(16, KEY).checkpoint();
    receipt.checkpoint.note = whole().checkpoint.note + ann.cosign(note);
    const { faults } = await verify(receipt, { witnesses: any });
    expect(faults[0]?.message).toContain('a cosignature that the key of ann did not make');
  });

  it.each([
    ['has no quorum', lines],
    ['has two quorums', `${lines}quorum ann\nquorum ben\n`],
    ['uses a name before it is defined', `quorum ann\n${lines}`],
    ['names a witness twice', `${lines}${lines}quorum ann\n`],
    ['has a key twice', `${lines}witness cy ${ann.verifierKey}\nquorum ann\n`],
    ['has a member in two groups', `${lines}group a 1 ann\ngroup b 1 ann\nquorum a\n`],
    ['asks for more members than there are', `${lines}group a 3 ann ben\nquorum a\n`],
    ['has the key of a log', `witness log ${KEY.verifierKey()}\nquorum log\n`],
    ['has a wrong key id', `${lines.replace(/\+[0-9a-f]{8}\+/, '+00000000+')}quorum ann\n`],
  ])('are not checked with a policy that %s', async (_, witnesses) => {
    await expect(verify(whole(), { witnesses })).rejects.toThrow(CannotCheck);
  });
});

describe('the command line', () => {
  const jwks = join(folder, 'jwks.json');
  const run = async (argv: string[], receipt: object = whole()) => {
    writeFileSync(jwks, JSON.stringify({ keys: [KEY.jwk] }));
    const answers = { [`GET /v1/permissions/${idOf(3)}/receipt`]: receipt };
    return await runInProcess(argv, answers, { columns: 100 });
  };

  it('downloads a receipt, and verifies it without the service', async () => {
    const downloaded = await run(['receipt', idOf(3), '-o', FILE]);
    expect([downloaded.code, downloaded.sent.length]).toEqual([0, 1]);
    const { code, stdout, sent } = await run(['verify', FILE, '--key', jwks]);
    expect([code, sent]).toEqual([0, []]);
    expect(stdout).toContain('Proven.');
    expect(stdout).toContain('asked for email.send on "ledger:main"');
    // What agents wrote must not act on the terminal.
    expect(stdout).not.toContain('\u001b[2J');
  });

  it('says what is wrong', async () => {
    await run(['receipt', idOf(3), '-o', FILE], { ...whole(), input: { amount: 1_000 } });
    const { code, stdout } = await run(['verify', FILE, '--key', jwks]);
    expect(code).toBe(1);
    expect(stdout).toContain('WRONG.');
    expect(stdout).toContain('The arguments differ from what was requested');
    writeFileSync(FILE, '[]');
    expect(await run(['verify', FILE])).toMatchObject({ code: 1, stdout: '' });
  });
});

describe('a receipt with signed votes', () => {
  const ada: Voter = { id: MEMBER, passkey: new Passkey('ES256') };
  const bob: Voter = { id: `member_${'0'.repeat(25)}2`, passkey: new Passkey('EdDSA') };
  const pinned = {
    origin: SERVICE,
    members: { [ada.id]: [ada.passkey.pin()], [bob.id]: [bob.passkey.pin()] },
  };
  const review = (eve?: Passkey) =>
    makeReview(3, [
      { voter: ada, ...(eve && { tampering: { key: eve } }) },
      { voter: bob, reason: 'Fine' },
    ]);
  const receipt = (entries: Entry[]) => {
    const sealed = new SealedLog([makeEntry(1), makeEntry(2), ...entries, makeEntry(5)], KEY);
    return receiptOf(sealed, makeEntry(3).permission_request_id, [3, 4]);
  };

  it('proves who signed, with the passkeys that the auditor pinned', async () => {
    const { proven, faults, unchecked } = await verify(receipt(review()), { pinned });
    expect([faults, unchecked]).toEqual([[], []]);
    expect(proven.join('\n')).toContain('Passkeys that you pinned signed 2 votes');
    expect(proven.join('\n')).toContain('  vote: ');
  });

  it('fails if another passkey signed', async () => {
    const { faults } = await verify(receipt(review(new Passkey('ES256'))), { pinned });
    expect(faults[0]?.kind).toBe('vote');
  });
});
