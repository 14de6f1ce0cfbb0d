import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Random } from '../bench/random.ts';

/** A request that arrived through a connection. */
export interface Arrival {
  /** The path of the connection's base URL. */
  place: string;
  mark: string;
  /** The id of the token by which it was sent; null for a read. */
  token: string | null;
  authorization: string | null;
  /** The status of the answer; null while there is none, and if the connection is cut. */
  status: number | null;
}

/** The longest time until a slow answer, in milliseconds. */
const SLOWEST = 3_000;

/**
 * The service behind all connections. It counts what arrives, and answers most acts at once, others
 * slowly, with a failure, or not at all.
 */
export class StandIn {
  readonly arrivals: Arrival[] = [];
  readonly origin: string;
  private readonly server: Server;
  private readonly random: Random;

  private constructor(server: Server, random: Random) {
    this.server = server;
    this.random = random;
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(random: Random): Promise<StandIn> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const standIn = new StandIn(server, random);
    server.on('request', (request, response) => standIn.read(request, response));
    return standIn;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** The arrivals of each act, by its token. */
  get acts(): Map<string, Arrival[]> {
    const acts = this.arrivals.filter(({ token }) => token !== null);
    return Map.groupBy(acts, ({ token }) => token ?? '');
  }

  private read(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    // A killed sender leaves an incomplete request.
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => this.answer(request, Buffer.concat(chunks).toString(), response));
  }

  private answer(
    { url, headers, socket }: IncomingMessage,
    body: string,
    response: ServerResponse,
  ) {
    const [, account, connection] = (url ?? '').split('/');
    const arrival: Arrival = {
      place: `/${account}/${connection}`,
      mark: body === '' ? '' : JSON.parse(body).mark,
      token: headers['idempotency-key']?.toString() ?? null,
      authorization: headers.authorization ?? null,
      status: null,
    };
    this.arrivals.push(arrival);
    const luck = this.random.next();
    if (luck < 0.04) {
      socket.destroy();
      return;
    }
    const status = statusFor(luck);
    const delay = luck > 0.85 ? this.random.below(SLOWEST) : 0;
    setTimeout(() => {
      if (socket.destroyed) return;
      arrival.status = status;
      response.writeHead(status, {
        'Content-Type': 'application/json',
        ...(status === 429 && { 'Retry-After': '0' }),
      });
      response.end('{"done":true}');
    }, delay);
  }
}

function statusFor(luck: number): number {
  if (luck < 0.08) return 500;
  if (luck < 0.12) return 400;
  return luck < 0.17 ? 429 : 200;
}
