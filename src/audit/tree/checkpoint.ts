import * as z from 'zod';
import { type Env, readConfig } from '../../env';
import { EXAMPLE, exampleId } from '../../http/examples';
import { shownCount, shownTime } from '../../http/shown';
import { concatBytes, toHex } from '../../lib/bytes';
import { later } from '../../lib/later';
import { type Hash, hashBytes } from '../../lib/merkle';
import type { Keyring } from '../../lib/secrets';
import { deriveLogKeys, type SigningKey } from '../../lib/signing-key';
import { formatTime } from '../../lib/time';
import type { Id } from '../../lib/typeid';

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

const ED25519 = 1;
const KEY_ID_LENGTH = 4;

/** Signs the heads of a deployment's logs. */
export class CheckpointSigner {
  private constructor(
    private readonly key: SigningKey,
    private readonly host: string,
  ) {}

  /**
   * Derives the key from the newest root secret.
   * @param publicUrl the origin of the service
   */
  static async open(keyring: Keyring, publicUrl: string): Promise<CheckpointSigner> {
    const [newest] = await deriveLogKeys(keyring);
    return new CheckpointSigner(newest, new URL(publicUrl).host);
  }

  /** Signs a head. The same head gives the same checkpoint, byte for byte. */
  async sign(head: Head): Promise<Checkpoint> {
    const origin = `${this.host}/${head.account}`;
    const timestamp = formatTime(head.sealedAt);
    const text = `${origin}\n${headLines(head)}time ${timestamp}\n`;
    const signature = new Uint8Array(
      await crypto.subtle.sign('Ed25519', this.key.sign, new TextEncoder().encode(text)),
    );
    const signed = concatBytes(await this.keyId(origin), signature).toBase64();
    return {
      origin,
      tree_size: head.size,
      root_hash: toHex(head.root),
      timestamp,
      note: `${text}\n— ${origin} ${signed}\n`,
    };
  }

  /** The id of the key under the log's name (signed-note, "Signatures"). */
  private async keyId(name: string): Promise<Uint8Array> {
    const publicKey = Uint8Array.fromBase64(this.key.publicJwk.x, { alphabet: 'base64url' });
    const head = new TextEncoder().encode(`${name}\n`);
    return (await hashBytes(concatBytes(head, new Uint8Array([ED25519, ...publicKey])))).slice(0, KEY_ID_LENGTH);
  }
}

/**
 * The signer of a deployment, for work that no request asked for.
 * @throws Error when the settings are not whole
 */
export async function openSigner(env: Env): Promise<CheckpointSigner> {
  const settings = readConfig(env);
  if ('faults' in settings) throw new Error(settings.faults.join('; '));
  return CheckpointSigner.open(settings.config.keyring, settings.config.publicUrl);
}

/** Whether a note tells of a head, under whatever name and with whichever key it was signed. */
export function tellsOf(note: string, head: Pick<Head, 'size' | 'root'>): boolean {
  return note.slice(note.indexOf('\n') + 1).startsWith(headLines(head));
}

/** Size and root, as a note has them after its origin (tlog-checkpoint, "Note text"). */
function headLines({ size, root }: Pick<Head, 'size' | 'root'>): string {
  return `${size}\n${root.toBase64()}\n`;
}
