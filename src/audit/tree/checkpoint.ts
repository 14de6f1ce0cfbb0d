import * as z from 'zod';
import { EXAMPLE, exampleId } from '../../http/examples';
import { countField, timeField } from '../../http/response-fields';
import { equalBytes, toHex } from '../../lib/bytes';
import { type LazyOutput, lazy } from '../../lib/lazy';
import type { Hash } from '../../lib/merkle';
import { formatTime, parseDateTime } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import type { LogSigner } from './signer';

/**
 * The head of the Merkle tree over an account's log: its root hash at one size, which commits to
 * all entries.
 */
interface Head {
  account: Id<'user'>;
  /** The number of entries under it: those with the sequences from 1 to this. */
  size: number;
  root: Hash;
  /** Milliseconds since the epoch. */
  sealedAt: number;
}

/** A head with its note, a text with a signature (https://c2sp.org/signed-note). */
export interface SignedHead extends Head {
  note: string;
}

const EXAMPLE_HASH = 'f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2';
const EXAMPLE_ORIGIN = `countersign.example.com/${exampleId('user')}`;

export const exampleCheckpoint = {
  origin: EXAMPLE_ORIGIN,
  tree_size: 2,
  root_hash: EXAMPLE_HASH,
  timestamp: EXAMPLE.time,
  note: [
    EXAMPLE_ORIGIN,
    '2',
    Uint8Array.fromHex(EXAMPLE_HASH).toBase64(),
    `time ${EXAMPLE.time}`,
    '',
    `— ${EXAMPLE_ORIGIN} 7cIWo0Yg2bW3yS0n1y7h1mJ0m5C0m0pQyG9fDkq5hZ2cV8yqfY3nqk1o2jQfM5xqWc3m2kq0y1b8n4tP6sH0Ag2J4Aw=`,
    '',
  ].join('\n'),
};

/** The response field of a hash. */
export const hashField = z.string().meta({
  pattern: '^[0-9a-f]{64}$',
  description: 'SHA-256, in hexadecimal.',
  examples: [EXAMPLE_HASH],
});

/** A signed head as the API shows it. */
export const Checkpoint = lazy(() =>
  z
    .object({
      origin: z
        .string()
        .meta({ description: "The log's name: the host of the service and the account." }),
      tree_size: countField.meta({
        description: 'Entries under it: those with the sequences from 1 to this.',
      }),
      root_hash: hashField,
      timestamp: timeField.meta({ description: 'When it was sealed.' }),
      note: z.string().meta({
        description:
          'The same, signed with Ed25519: a note of https://c2sp.org/signed-note in the form of ' +
          'https://c2sp.org/tlog-checkpoint, with the time as an extension line. The key is at ' +
          '`/.well-known/jwks.json`, with a `kid` that begins with `log-`.',
      }),
    })
    .meta({ id: 'Checkpoint', examples: [exampleCheckpoint] }),
);

export type Checkpoint = LazyOutput<typeof Checkpoint>;

/** A signed head with the key of the log, to register the log at a witness. */
export const NamedCheckpoint = lazy(() =>
  Checkpoint()
    .extend({
      verifier_key: z.string().optional().meta({
        description:
          'The public key of the log as a verifier key of https://c2sp.org/signed-note. Present if the log is witnessed.',
      }),
    })
    .meta({ id: 'NamedCheckpoint', examples: [exampleCheckpoint] }),
);

export type NamedCheckpoint = LazyOutput<typeof NamedCheckpoint>;

/**
 * Signs a head. The same head gives the same note, byte for byte, as long as the key is the same.
 */
export async function signHead(signer: LogSigner, head: Head): Promise<SignedHead> {
  const origin = signer.originOf(head.account);
  const text = `${origin}\n${head.size}\n${head.root.toBase64()}\ntime ${formatTime(head.sealedAt)}\n`;
  return { ...head, note: await signer.sign(origin, text) };
}

/**
 * The lines of a signed head: origin (the log's name), size, root, time, signature
 * (tlog-checkpoint, "Note text").
 */
const NOTE = /^(\S+)\n(0|[1-9]\d{0,15})\n([A-Za-z0-9+/]{43}=)\ntime (\S+)\n\n— (\S+) \S+\n$/;

/**
 * Parses the note of a head of an account's log, without verifying its signature. The host in the
 * log's name may be a former one of the service.
 * @returns null for any other note, such as the head of another log
 */
export function parseHead(account: Id<'user'>, note: string): SignedHead | null {
  const [, origin = '', size, root = '', time = '', name] = NOTE.exec(note) ?? [];
  const sealedAt = parseDateTime(time);
  if (name !== origin || !origin.endsWith(`/${account}`) || sealedAt === null) return null;
  return { account, size: Number(size), root: Uint8Array.fromBase64(root), sealedAt, note };
}

/** Whether two heads commit to the same entries. */
export function isSameTree(
  one: Pick<Head, 'size' | 'root'>,
  other: Pick<Head, 'size' | 'root'>,
): boolean {
  return one.size === other.size && equalBytes(one.root, other.root);
}

/** Makes the response that shows a head as it was signed. */
export function presentHead({ size, root, sealedAt, note }: SignedHead): Checkpoint {
  return {
    origin: note.slice(0, note.indexOf('\n')),
    tree_size: size,
    root_hash: toHex(root),
    timestamp: formatTime(sealedAt),
    note,
  };
}
