import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { Random } from '../bench/random.ts';

interface Message {
  headers: Record<string, string>;
  body: string;
}

/** What came to one webhook. */
class Mailbox {
  /** By the id of the entry or the file that a message told of: the ids that messages bore. */
  readonly told = new Map<string, Set<string>>();
  readonly faults: string[] = [];
  private secret: string | null = null;
  private unread: Message[] = [];

  /** Reads what came before the answer that told the secret. */
  learn(secret: string): void {
    this.secret = secret;
    for (const message of this.unread.splice(0)) this.take(message);
  }

  take(message: Message): void {
    if (this.secret === null) {
      this.unread.push(message);
      return;
    }
    try {
      const { event, data } = new Webhook(this.secret).verify(message.body, message.headers) as {
        event: string;
        data: { id?: string; export_id?: string; report_id?: string };
      };
      if (event === 'webhook.test') return;
      const subject = data.id ?? data.export_id ?? data.report_id ?? '';
      const ids = this.told.get(subject) ?? new Set();
      this.told.set(subject, ids.add(message.headers['webhook-id'] ?? ''));
    } catch (error) {
      this.faults.push(`a message does not verify: ${error}`);
    }
  }
}

/** A server that webhooks are sent to. It fails each message once at most, and rarely. */
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
    // A sender that is killed leaves half a message.
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
