import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Report } from '../../src/packages/verify/core/findings.ts';
import { verifyWithoutProof } from '../../src/packages/verify/verify-without-proof.ts';
import { type Entry, makeEntry, toRow, writeJson } from '../support/sealed-log.ts';
import {
  type Ballot,
  makeReview,
  makeSeriesApproval,
  Passkey,
  REQUESTED,
  SERVICE,
  type Voter,
} from '../support/signed-votes.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests reach into parts and break them
type Any = any;

const folder = mkdtempSync(join(tmpdir(), 'countersign-series-test-'));
const [FILE, PINNED] = [join(folder, 'file.json'), join(folder, 'keys.json')];
afterAll(() => rmSync(folder, { recursive: true }));

const voter = (number: number): Voter => ({
  id: `member_${String(number).padStart(26, '0')}`,
  passkey: new Passkey('ES256'),
});
const [ada, bob] = [voter(1), voter(2)] as const;
const SERIES = { requests: 3, expires_in: 60, varies: ['amount', 'folders'] };
const SHORTER = { requests: 3, expires_in: 30, varies: ['amount'] };
const USES_1 = { token_ttl: 900, max_uses: 1 };

async function judge(entries: Entry[]): Promise<Report> {
  const members = Object.fromEntries([ada, bob].map(({ id, passkey }) => [id, [passkey.pin()]]));
  writeFileSync(FILE, writeJson(entries.map(toRow)));
  writeFileSync(PINNED, JSON.stringify({ origin: SERVICE, members }));
  return await verifyWithoutProof({ file: FILE, passkeys: PINNED });
}

function review(...ballots: Partial<Ballot>[]): Entry[] {
  const votes = ballots.map((ballot, n) => ({
    voter: [ada, bob][n] ?? ada,
    limits: USES_1,
    ...ballot,
  }));
  return makeReview(1, votes as Ballot[]);
}

const faultOf = ({ faults: [fault] }: Report) => fault?.message.replace(/^.*: /, '');

describe('a vote that gives a series', () => {
  it('is signed with it', async () => {
    const report = await judge(review({ series: SERIES }, { series: SHORTER }));
    expect([report.faults, report.unchecked]).toEqual([[], []]);
    expect(report.proven.join()).toContain('signed 2 votes');
  });

  it.each<[string, (vote: Any, details: Any) => void, string]>([
    [
      'more requests',
      ({ series }) => (series.requests = 4),
      'its signature is of another decision than the one in the log',
    ],
    [
      'no series',
      (vote) => delete vote.series,
      'its signature is of another decision than the one in the log',
    ],
    ['a malformed one', (vote) => (vote.series = { requests: 2 }), 'its series is invalid'],
    [
      'another one than its entry',
      (_, details) => (details.granted_series = { ...SERIES, requests: 4 }),
      'the granted_series of its entry is not that of the vote',
    ],
    [
      'one that its entry does not have',
      (_, details) => delete details.granted_series,
      'the granted_series of its entry is not that of the vote',
    ],
  ])('is refused with %s', async (_, tamper, message) => {
    const entries = structuredClone(review({ series: { ...SERIES } }));
    const { details } = entries[1] as Any;
    tamper(details.votes[0], details);
    expect(faultOf(await judge(entries))).toBe(message);
  });

  it('gives no longer one than the vote before', async () => {
    const longer = 'it gives a longer series than the vote before';
    expect(faultOf(await judge(review({ series: SHORTER }, { series: SERIES })))).toBe(longer);
    expect(faultOf(await judge(review({}, { series: SERIES })))).toBe(longer);
  });
});

describe('an approval by a series', () => {
  const given = review({ series: SERIES }, { series: SERIES });
  const givers = { given_by: [ada.id, bob.id] };
  const another = (sequence: number, details: object = {}) =>
    makeSeriesApproval(sequence, given, { ...givers, ...details });

  it('is proven to be within it', async () => {
    const scope = { ...REQUESTED.scope, amount: 0, folders: ['sent'] };
    const report = await judge([...given, another(3), another(4, { scope })]);
    expect(report.faults).toEqual([]);
    expect(report.proven.join()).toContain(
      '2 approvals by a series are within what the entry that gave it allows. Nobody saw the arguments',
    );
    expect(report.limits.join()).not.toContain('without a signature');
  });

  it('is a limit where the file does not have the entry that gave it', async () => {
    const { faults, limits } = await judge([another(3)]);
    expect(faults).toEqual([]);
    expect(limits.join()).toContain('Whether people gave the series of 1 approval');
  });

  const scope = (fields: object) => ({ scope: { ...REQUESTED.scope, ...fields } });
  it.each<[string, object, string]>([
    ['another action', { action: 'email.read' }, 'it is for another action than'],
    ['another resource', { resource: 'mailbox:sales' }, 'it is for another resource than'],
    ['a higher number', scope({ amount: 10 }), 'its scope is not one of'],
    ['a negative number', scope({ amount: -1 }), 'its scope is not one of'],
    ['another value', scope({ größer: false }), 'its scope is not one of'],
    ['one more key', scope({ to: 1 }), 'its scope is not one of'],
    ['another folder', scope({ folders: ['trash'] }), 'its scope is not one of'],
    ['no folder', scope({ folders: [] }), 'its scope is not one of'],
    ['other people', { given_by: ['member_x'] }, 'it names other people than those who gave'],
    ['nobody', { given_by: [] }, 'it names other people than those who gave'],
  ])('is refused with %s', async (_, details, message) => {
    const first = makeEntry(1).permission_request_id;
    expect(faultOf(await judge([...given, another(3, details)]))).toBe(
      `${message} the series that ${first} gave`,
    );
  });

  it('is refused beyond its number, and beyond its time', async () => {
    const four = [...given, another(3), another(4), another(5)];
    expect(faultOf(await judge(four))).toContain('it is more than the number of');
    expect((await judge([...given, another(122)])).faults).toEqual([]);
    expect(faultOf(await judge([...given, another(123)]))).toContain('it is later than');
  });

  it('is refused by another agent, and without the series that approved it', async () => {
    const other = { ...another(3), agent_id: makeEntry(3).agent_id };
    expect(faultOf(await judge([...given, other]))).toContain('it is by another agent than');
    const unnamed = another(3, { decided_by: ada.id });
    expect(faultOf(await judge([...given, unnamed]))).toContain('does not say which series');
  });

  it('does not stand for the votes that its request asks for', async () => {
    const approval = another(4);
    const { permission_request_id, agent_id } = approval;
    const details = {
      ...(makeEntry(3).details as object),
      review: { approvals: 1, passkey: false },
    };
    const request = {
      ...makeEntry(3),
      permission_request_id,
      agent_id,
      event_type: 'request',
      details,
    };
    expect(faultOf(await judge([...given, request as Any, approval]))).toContain('it has 0');
  });
});
