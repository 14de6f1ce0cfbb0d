import { readFile } from 'node:fs/promises';
import type { KeySet } from '../../api.ts';
import { ApiError } from '../../errors.ts';
import type { CliClient } from '../client.ts';
import { command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failures.ts';
import { printRecord } from '../print.ts';
import { checkProof, ProofFault } from './check-proof.ts';
import { checkReview } from './check-review.ts';

const NOT_PINNED =
  'not pinned: the service showed them just now. Whoever controls the service can show others: keep a copy of ' +
  '/.well-known/jwks.json and give it with --key.';

export const verifyEntry = command({
  name: 'audit verify',
  description:
    'Proves that an entry is in the log, unchanged since it was sealed, under a head that the log signed.',
  args: {
    entry: {
      type: 'positional',
      description: 'The entry: its id, audit_…, or its number in `audit list`',
    },
    key: {
      type: 'string',
      description: 'The public keys that you kept, instead of those of the service',
      valueHint: 'jwks.json',
    },
  },
  notes: [
    'It checks that the sealed bytes hold exactly the entry that the service shows, that their hash leads to the root of the ' +
      'tree (RFC 9162), that the checkpoint states this root, and that a key of the log signed it (Ed25519). For an approval it ' +
      'also checks that there are as many votes as the request asked for.',
    'It does not check other entries, that the log was never rewritten, or the passkeys of voters: `npm run verify` of the ' +
      'project does, offline. Keys that the service itself shows prove nothing against the service: keep ' +
      '/.well-known/jwks.json, and give it with --key.',
    'The JSON says `"keys_pinned": false` without --key. Exit codes: 0 proven, 1 not proven. An entry is sealed within two minutes.',
  ],
  examples: [
    'countersign audit verify audit_01m7x1m1tre75vaz5yvpbmvt6m',
    'countersign audit verify 4711 --key jwks.json',
  ],
  async run({ args, session }) {
    const { client, style } = session;
    const id = await findId(client, args.entry);
    const [entry, proof, keys] = await Promise.all([
      client.getAuditEntry(id),
      client.proveInclusion(id),
      args.key === undefined ? client.getKeys() : readKeys(args.key),
    ]);
    const wrong = await findFault(async () => {
      await checkProof(id, entry, proof, keys);
      await checkReview(client, entry, keys);
    });
    const { tree_size, root_hash, origin, timestamp } = proof.checkpoint;
    const arePinned = args.key !== undefined;
    const result = {
      entry_id: id,
      is_proven: wrong === null,
      keys_pinned: arePinned,
      fault: wrong,
      sequence: entry.sequence,
      checkpoint: proof.checkpoint,
    };
    const describeResult = () => {
      if (wrong !== null) return style.red('NOT PROVEN.');
      if (arePinned) return style.green('Proven.');
      return style.green('Proven, with keys that were not pinned.');
    };
    await printRecord(session, result, () => [
      describeResult(),
      ...session.facts([
        ['Why', wrong],
        ['Entry', `${id}, number ${entry.sequence}`],
        ['Log', origin],
        ['Checkpoint', `${tree_size} entries at ${timestamp}, root ${root_hash}`],
        ['Keys', args.key ?? NOT_PINNED],
      ]),
    ]);
    return wrong === null ? EXIT.done : EXIT.failed;
  },
});

/** Returns the id of an entry that the person names by its id or its number. */
async function findId(client: CliClient, name: string): Promise<string> {
  if (!/^\d+$/.test(name)) return name;
  const number = Number(name);
  const after_sequence = Math.max(0, number - 1);
  const { data } = await client.listAuditEntries({ order: 'asc', limit: 1, after_sequence });
  const [entry] = data;
  if (entry?.sequence !== number)
    throw new Failure(`The log shows no entry ${number}. Perhaps it is no longer kept.`);
  return entry.id;
}

/** Returns what is wrong in words; null if nothing is. */
async function findFault(check: () => Promise<void>): Promise<string | null> {
  try {
    await check();
    return null;
  } catch (error) {
    if (error instanceof ProofFault) return error.message;
    if (error instanceof ApiError) throw error;
    // Anything else is thrown by an answer that has not even the form of a proof.
    return 'the proof is malformed';
  }
}

async function readKeys(file: string): Promise<KeySet> {
  try {
    const keys: KeySet = JSON.parse(await readFile(file, 'utf8'));
    if (Array.isArray(keys.keys)) return keys;
  } catch {
    // Told below.
  }
  throw new Failure(
    `${file} is not a readable set of keys, such as the answer of /.well-known/jwks.json.`,
  );
}
