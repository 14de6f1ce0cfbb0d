import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a receiver does after it has read a message. */
export type Behaviour = (path: string, body: string, response: ServerResponse) => void;

/** A real HTTP server on loopback that messages are sent to. */
export class Receiver {
  /** The number of messages that arrived. */
  count = 0;
  /** Handles each message; answers 200 by default. */
  behave: Behaviour = (_path, _body, response) => response.end();

  private readonly server: Server;

  private constructor(server: Server) {
    this.server = server;
  }

  static async start(): Promise<Receiver> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    const receiver = new Receiver(server);
    server.on('request', (request, response) => receiver.take(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Waits until `count` messages have arrived. */
  async until(count: number, limit = 300_000): Promise<void> {
    for (const deadline = Date.now() + limit; this.count < count; ) {
      if (Date.now() > deadline) throw new Error(`only ${this.count} of ${count} messages arrived`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private take(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      this.count += 1;
      this.behave(request.url ?? '', Buffer.concat(chunks).toString(), response);
    });
  }
}
