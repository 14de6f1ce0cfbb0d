import type { Received, Receiver } from './internet';
import { isConsistent, rootOf } from './merkle';

/**
 * A witness, literally by https://c2sp.org/tlog-witness and https://c2sp.org/tlog-cosignature. It
 * shares no code with the service.
 */
export class TestWitness {
  /** What it has cosigned last, by origin. */
  readonly logs = new Map<string, { size: number; root: Uint8Array }>();
  /** The requests that it got, as texts. */
  readonly requests: string[] = [];
  /** The public keys of the logs that it knows, by origin. */
  private readonly known = new Map<string, { keyId: string; key: CryptoKey }>();

  private constructor(
    readonly name: string,
    readonly host: string,
    private readonly keys: CryptoKeyPair,
    private readonly publicKey: Uint8Array,
    private readonly now: () => number,
  ) {}

  static async make(name: string, now: () => number): Promise<TestWitness> {
    const keys = (await crypto.subtle.generateKey('Ed25519', true, [
      'sign',
      'verify',
    ])) as CryptoKeyPair;
    const raw = (await crypto.subtle.exportKey('raw', keys.publicKey)) as ArrayBuffer;
    return new TestWitness(name, `${name}.example`, keys, new Uint8Array(raw), now);
  }

  /** The key of type 0x04 as a verifier key. */
  async verifierKey(): Promise<string> {
    const typed = Uint8Array.of(4, ...this.publicKey);
    return `${this.host}/w+${(await this.keyId()).toHex()}+${typed.toBase64()}`;
  }

  /** Its line in a trust policy. */
  async line(): Promise<string> {
    return `witness ${this.name} ${await this.verifierKey()} https://${this.host}/`;
  }

  /** Registers a log by its verifier key. */
  async register(verifierKey: string): Promise<void> {
    const [origin = '', keyId = '', encoded = ''] = verifierKey
      .split('+', 2)
      .concat(verifierKey.slice(verifierKey.indexOf('+', verifierKey.indexOf('+') + 1) + 1));
    const bytes = Uint8Array.fromBase64(encoded);
    if (bytes[0] !== 1 || bytes.length !== 33) throw new Error('not the key of a log');
    const expected = await hash(`${origin}\n`, bytes);
    if (expected.slice(0, 4).toHex() !== keyId) throw new Error('a wrong key id');
    const key = await crypto.subtle.importKey('raw', bytes.slice(1), 'Ed25519', false, ['verify']);
    this.known.set(origin, { keyId, key });
  }

  /** Answers as the protocol says. */
  readonly receive: Receiver = async ({ url, body }: Received) => {
    this.requests.push(body);
    if (new URL(url).pathname !== '/add-checkpoint') return new Response(null, { status: 404 });
    return this.addCheckpoint(body);
  };

  private async addCheckpoint(body: string): Promise<Response> {
    const end = body.indexOf('\n\n');
    const [first = '', ...lines] = body.slice(0, end).split('\n');
    const note = body.slice(end + 2);
    const [, oldText] = /^old (0|[1-9]\d*)$/.exec(first) ?? [];
    if (oldText === undefined || lines.length > 63) return status(400);
    const proof = lines.map((line) => Uint8Array.fromBase64(line));
    const text = note.slice(0, note.lastIndexOf('\n\n') + 1);
    const [origin = '', sizeText = '', root = ''] = text.split('\n');
    const log = this.known.get(origin);
    if (!log) return status(404);
    if (!(await isSigned(note, text, origin, log))) return status(403);
    const [old, size] = [Number(oldText), Number(sizeText)];
    const head = { size, root: Uint8Array.fromBase64(root) };
    if (old > size) return status(400);
    const last = this.logs.get(origin) ?? { size: 0, root: rootOf([]) };
    if (old !== last.size)
      return new Response(`${last.size}\n`, {
        status: 409,
        headers: { 'Content-Type': 'text/x.tlog.size' },
      });
    if (!this.isGrowth(last, head, proof)) return status(422);
    this.logs.set(origin, head);
    return new Response(await this.cosign(text));
  }

  private isGrowth(
    last: { size: number; root: Uint8Array },
    head: { size: number; root: Uint8Array },
    proof: Uint8Array[],
  ): boolean {
    if (last.size === 0) return proof.length === 0;
    if (last.size === head.size)
      return proof.length === 0 && last.root.toHex() === head.root.toHex();
    return isConsistent([last.size, last.root], [head.size, head.root], proof);
  }

  /** The signature line of a cosignature, with another line before it that clients ignore. */
  async cosign(text: string, seconds = Math.floor(this.now() / 1_000)): Promise<string> {
    const time = new Uint8Array(8);
    new DataView(time.buffer).setBigUint64(0, BigInt(seconds));
    const message = new TextEncoder().encode(`cosignature/v1\ntime ${seconds}\n${text}`);
    const signature = new Uint8Array(
      await crypto.subtle.sign('Ed25519', this.keys.privateKey, message),
    );
    const blob = Uint8Array.of(...(await this.keyId()), ...time, ...signature).toBase64();
    const other = Uint8Array.of(9, 9, 9, 9, ...time, ...signature).toBase64();
    return `— other.example/w ${other}\n— ${this.host}/w ${blob}\n`;
  }

  private async keyId(): Promise<Uint8Array> {
    return (await hash(`${this.host}/w\n`, Uint8Array.of(4, ...this.publicKey))).slice(0, 4);
  }
}

const status = (code: number) => new Response(null, { status: code });

async function hash(text: string, bytes: Uint8Array): Promise<Uint8Array> {
  const all = Uint8Array.of(...new TextEncoder().encode(text), ...bytes);
  return new Uint8Array(await crypto.subtle.digest('SHA-256', all));
}

/** Whether a note has a signature of the log's key; a forged one counts as none. */
async function isSigned(
  note: string,
  text: string,
  origin: string,
  { keyId, key }: { keyId: string; key: CryptoKey },
): Promise<boolean> {
  for (const line of note.slice(text.length + 1).split('\n')) {
    const [, name, blob = ''] = /^— (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== origin) continue;
    const signed = Uint8Array.fromBase64(blob);
    if (signed.slice(0, 4).toHex() !== keyId) continue;
    return crypto.subtle.verify('Ed25519', key, signed.slice(4), new TextEncoder().encode(text));
  }
  return false;
}
