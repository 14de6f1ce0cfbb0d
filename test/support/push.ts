import { createECDH } from 'node:crypto';
import ece from 'http_ece';
import type { Received } from './internet';
import type { TestMember } from './members';
import { type Answer, type Json, ORIGIN, type World } from './world';

/** A notification as a device got it, and how its push service was asked to handle it. */
export interface PushedNotification {
  title: string;
  body: string;
  path: string;
  tag: string;
  deadline: string | null;
  ttl: number;
  urgency: string | null;
  topic: string | null;
  /** The public key of the service that signed the request. */
  key: string;
}

let devices = 0;

/**
 * Stands for a browser and its push service: checks the signature of each request (RFC 8292),
 * and decrypts the message with the reference implementation of RFC 8188 and RFC 8291.
 */
export class TestDevice {
  readonly host: string;
  readonly notifications: PushedNotification[] = [];
  /** Answers instead of the next requests, in order. */
  readonly failures: (number | Response)[] = [];
  endpoint: string;
  private readonly ecdh = createECDH('prime256v1');
  private readonly auth = crypto.getRandomValues(new Uint8Array(16));

  constructor(private readonly world: World) {
    devices += 1;
    this.host = `push-${devices}.example.com`;
    this.endpoint = `https://${this.host}/send/${crypto.randomUUID()}`;
    this.ecdh.generateKeys();
    world.internet.on(this.host, (received) => this.receive(received));
  }

  /** The subscription as the page's script sends it. */
  subscription(key: string) {
    return {
      endpoint: this.endpoint,
      p256dh: this.ecdh.getPublicKey('base64url'),
      auth: Buffer.from(this.auth).toString('base64url'),
      key,
    };
  }

  /** Subscribes as the page's script does. */
  async subscribe(
    { browser }: Pick<TestMember, 'browser'>,
    changes: Json = {},
    name = 'Phone',
  ): Promise<Answer> {
    const body = { name, ...this.subscription(await publicKeyOf(browser)), ...changes };
    return browser.change('POST', '/console/me/push', body);
  }

  private async receive({ url, headers, bytes }: Received): Promise<Response> {
    const failure = this.failures.shift();
    if (failure !== undefined)
      return typeof failure === 'number' ? new Response(null, { status: failure }) : failure;
    if (url !== this.endpoint) return new Response(null, { status: 404 });
    if (!bytes || headers.get('Content-Encoding') !== 'aes128gcm')
      return new Response(null, { status: 400 });
    const key = await checkSignature(headers.get('Authorization') ?? '', url, this.world.now);
    const plain = ece.decrypt(Buffer.from(bytes), {
      version: 'aes128gcm',
      privateKey: this.ecdh,
      authSecret: Buffer.from(this.auth),
    });
    this.notifications.push({
      ...JSON.parse(plain.toString()),
      ttl: Number(headers.get('TTL')),
      urgency: headers.get('Urgency'),
      topic: headers.get('Topic'),
      key,
    });
    return new Response(null, { status: 201 });
  }
}

/** The key with which the pages subscribe. */
export async function publicKeyOf(browser: TestMember['browser']): Promise<string> {
  const { text } = await browser.get('/console/me');
  const key = /<meta name="push-key" content="([\w-]{87})"/.exec(text)?.[1];
  if (!key) throw new Error(`the page has no key: ${text}`);
  return key;
}

/** Checks a signature, and returns the key that made it. */
async function checkSignature(authorization: string, url: string, now: number): Promise<string> {
  const [, head = '', payload = '', signature = '', key = ''] =
    /^vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)$/.exec(authorization) ?? [];
  const curve = { name: 'ECDSA', namedCurve: 'P-256' };
  const publicKey = await crypto.subtle.importKey('raw', bytesOf(key), curve, false, ['verify']);
  const signed = new TextEncoder().encode(`${head}.${payload}`);
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' };
  const isSigned = await crypto.subtle.verify(algorithm, publicKey, bytesOf(signature), signed);
  const { aud, exp, sub } = JSON.parse(new TextDecoder().decode(bytesOf(payload)));
  const isValid = aud === new URL(url).origin && sub === ORIGIN;
  const isTimely = exp * 1_000 > now && exp * 1_000 <= now + 86_400_000;
  if (!isSigned || !isValid || !isTimely) throw new Error(`${authorization} is not valid`);
  return key;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromBase64(text, { alphabet: 'base64url' });
}
