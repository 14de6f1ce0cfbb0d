import * as z from 'zod';
import { EXAMPLE, exampleId } from '../../http/examples';
import { shownCount, shownTime } from '../../http/shown';
import { toHex } from '../../lib/bytes';
import { later } from '../../lib/later';
import type { Hash } from '../../lib/merkle';
import { formatTime, parseDateTime } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import type { LogSigner } from './signer';

/** The head of an account's tree: the log up to one of its entries, in one hash. */
export interface Head {
  account: Id<'user'>;
  size: number;
  root: Hash;
  /** Milliseconds since the epoch. */
  sealedAt: number;
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

/** A hash in an answer. */
export const shownHash = z
  .string()
  .meta({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256, in hexadecimal.', examples: [EXAMPLE_HASH] });

/** A signed tree head. */
export const Checkpoint = later(() =>
  z
    .object({
      origin: z.string().meta({ description: "The log's name: the host of the service and the account." }),
      tree_size: shownCount.meta({ description: 'Entries under it: those with the sequences from 1 to this.' }),
      root_hash: shownHash,
      timestamp: shownTime.meta({ description: 'When it was sealed.' }),
      note: z.string().meta({
        description:
          'The same, signed with Ed25519: a note of https://c2sp.org/signed-note in the form of ' +
          'https://c2sp.org/tlog-checkpoint, with the time as an extension line. The key is at ' +
          '`/.well-known/jwks.json`, with a `kid` that begins with `log-`.',
      }),
    })
    .meta({ id: 'Checkpoint', examples: [exampleCheckpoint] }),
);

export type Checkpoint = z.output<ReturnType<typeof Checkpoint>>;

/** Signs a head. The same head gives the same checkpoint, byte for byte, as long as the key is the same. */
export async function signCheckpoint(signer: LogSigner, head: Head): Promise<Checkpoint> {
  const origin = signer.originOf(head.account);
  const timestamp = formatTime(head.sealedAt);
  return {
    origin,
    tree_size: head.size,
    root_hash: toHex(head.root),
    timestamp,
    note: await signer.sign(origin, `${origin}\n${headLines(head)}time ${timestamp}\n`),
  };
}

/** Whether a note tells of a head, under whatever name and with whichever key it was signed. */
export function tellsOf(note: string, head: Pick<Head, 'size' | 'root'>): boolean {
  return note.slice(note.indexOf('\n') + 1).startsWith(headLines(head));
}

/** When a note says that its head was sealed, in milliseconds since the epoch; null where it does not say so. */
export function sealedAtOf(note: string): number | null {
  const [, time] = /^.+\n\d+\n.+\ntime (.+)\n/.exec(note) ?? [];
  return time === undefined ? null : parseDateTime(time);
}

/** Size and root, as a note has them after its origin (tlog-checkpoint, "Note text"). */
function headLines({ size, root }: Pick<Head, 'size' | 'root'>): string {
  return `${size}\n${root.toBase64()}\n`;
}
