import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { Random } from '../bench/random.ts';

interface Message {
  headers: Record<string, string>;
  body: string;
}

/**
 * How long a message may be under way that was signed before the answer to a rotation came, in
 * milliseconds.
 */
const UNDER_WAY = 30_000;

interface Payload {
  event: string;
  data: { id?: string; export_id?: string; report_id?: string };
}

/** The messages that arrived at one webhook. */
export class Mailbox {
  /** The webhook-ids and bodies of messages, by the id of the entry or file that they are about. */
  readonly told = new Map<string, { ids: Set<string>; bodies: Set<string> }>();
  readonly faults: string[] = [];
  /** Whether its secret is being rotated. */
  isChanging = false;
  private readonly secrets: { secret: string; learnedAt: number }[] = [];
  private isBlind = false;
  private unread: Message[] = [];

  /** Adds a new secret, and verifies the messages that no earlier secret had signed. */
  learn(secret: string): void {
    this.secrets.unshift({ secret, learnedAt: Date.now() });
    for (const message of this.unread.splice(0)) this.take(message);
  }

  /**
   * Accepts every message from now on without verifying it, because the answer with a new secret
   * was lost.
   */
  trustBlindly(): void {
    this.isBlind = true;
    for (const message of this.unread.splice(0)) this.take(message);
  }

  take(message: Message): void {
    if (this.secrets.length === 0) {
      this.unread.push(message);
      return;
    }
    const [newest] = this.secrets;
    const mustBeNewest = newest && !this.isChanging && Date.now() > newest.learnedAt + UNDER_WAY;
    if (
      !this.isBlind &&
      !(mustBeNewest ? this.secrets.slice(0, 1) : this.secrets).some(signed(message))
    ) {
      // It may be signed with the new secret of a rotation that is not answered yet.
      if (this.isChanging) this.unread.push(message);
      else this.faults.push('a message does not verify');
      return;
    }
    const { event, data } = JSON.parse(message.body) as Payload;
    if (event === 'webhook.test') return;
    const subject = data.id ?? data.export_id ?? data.report_id ?? '';
    const { ids, bodies } = this.told.get(subject) ?? { ids: new Set(), bodies: new Set() };
    this.told.set(subject, {
      ids: ids.add(message.headers['webhook-id'] ?? ''),
      bodies: bodies.add(message.body),
    });
  }
}

function signed({ headers, body }: Message) {
  return ({ secret }: { secret: string }) => {
    try {
      new Webhook(secret).verify(body, headers);
      return true;
    } catch {
      return false;
    }
  };
}

/** The server that webhooks are sent to. It fails 5 % of the messages, each at most once. */
export class Receiver {
  count = 0;
  failures = 0;
  readonly origin: string;
  private readonly server: Server;
  private readonly random: Random;
  private readonly seen = new Set<string>();
  private readonly mailboxes = new Map<string, Mailbox>();

  private constructor(server: Server, random: Random) {
    this.server = server;
    this.random = random;
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(random: Random): Promise<Receiver> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const receiver = new Receiver(server, random);
    server.on('request', (request, response) => receiver.read(request, response));
    return receiver;
  }

  mailbox(path: string): Mailbox {
    const mailbox = this.mailboxes.get(path) ?? new Mailbox();
    this.mailboxes.set(path, mailbox);
    return mailbox;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private read(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    // A killed sender leaves an incomplete message.
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => this.answer(request, Buffer.concat(chunks).toString(), response));
  }

  private answer(request: IncomingMessage, body: string, response: ServerResponse): void {
    this.count += 1;
    const headers = request.headers as Record<string, string>;
    const isNew = !this.seen.has(headers['webhook-id'] ?? '');
    this.seen.add(headers['webhook-id'] ?? '');
    const luck = isNew ? this.random.next() : 1;
    if (luck < 0.05) {
      this.failures += 1;
      if (luck < 0.02) request.socket.destroy();
      else response.writeHead(500).end();
      return;
    }
    this.mailbox(request.url ?? '').take({ headers, body });
    setTimeout(() => response.end(), luck < 0.07 ? 1_500 : 0);
  }
}
