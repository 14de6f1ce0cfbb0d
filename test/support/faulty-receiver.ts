import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createGzip } from 'node:zlib';

/** The first byte that a TLS client sends (RFC 8446 section 5.1). */
const TLS_HANDSHAKE = 22;

/** A message as it arrived. */
export interface RawMessage {
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** What a receiver does after it has read a message. */
type Fault = (socket: Socket, message: RawMessage) => void;

/** A receiver on loopback that writes raw bytes, so that it can violate HTTP in any way. */
export class FaultyReceiver {
  readonly messages: RawMessage[] = [];
  /** Faults by the first segment of the path; other paths are answered 200. */
  readonly faults = new Map<string, Fault>();
  /** How many bytes were written to connections, by the first segment of the path. */
  readonly written = new Map<string, number>();
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {
    server.on('connection', (socket: Socket) => this.serve(socket));
  }

  static async start(): Promise<FaultyReceiver> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new FaultyReceiver(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  sentTo(name: string): RawMessage[] {
    return this.messages.filter(({ path }) => path === `/${name}`);
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    let received = Buffer.alloc(0);
    let [name, before] = ['', 0];
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.sockets.delete(socket);
      this.written.set(name, socket.bytesWritten - before);
    });
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      // Answers a TLS handshake as plain HTTP servers do.
      if (received[0] === TLS_HANDSHAKE) return void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
      const message = parse(received);
      if (!message) return;
      received = Buffer.alloc(0);
      this.messages.push(message);
      [name, before] = [message.path.split('/')[1] ?? '', socket.bytesWritten];
      (this.faults.get(name) ?? answer('200 OK'))(socket, message);
    });
  }
}

function parse(bytes: Buffer): RawMessage | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name.toLowerCase(), value.join(':').trim()];
    }),
  );
  const body = bytes.subarray(end + 4);
  if (body.length < Number(headers['content-length'] ?? 0)) return null;
  return { path: first.split(' ')[1] ?? '', headers, body: body.toString() };
}

/** Answers with a status and no body. */
export function answer(status: string, ...headers: string[]): Fault {
  const lines = [`HTTP/1.1 ${status}`, 'Content-Length: 0', ...headers, '', ''];
  return (socket) => socket.write(lines.join('\r\n'));
}

/** Sends a text, and then closes the connection if `isReset`. */
export function sends(text: string, isReset: boolean): Fault {
  return (socket) => socket.write(text, () => isReset && setTimeout(() => socket.destroy(), 50));
}

/** Sends a text, and then `drop` four times a second until the client disconnects. */
export function drips(text: string, drop: string): Fault {
  return (socket) => {
    socket.write(text);
    const timer = setInterval(() => socket.write(drop), 250);
    socket.once('close', () => clearInterval(timer));
  };
}

/** Sends endless zeros as fast as the client reads, compressed if `isCompressed`. */
export function floods(status: string, isCompressed: boolean): Fault {
  return (socket) => {
    const encoding = isCompressed ? 'Content-Encoding: gzip\r\n' : '';
    socket.write(`HTTP/1.1 ${status}\r\n${encoding}Connection: close\r\n\r\n`);
    const gzip = createGzip({ level: 9 });
    const target = isCompressed ? gzip : socket;
    if (isCompressed) gzip.pipe(socket);
    const zeros = Buffer.alloc(2 ** 20);
    const pour = () => {
      while (!socket.destroyed && target.write(zeros));
      if (!socket.destroyed) target.once('drain', pour);
    };
    pour();
  };
}

/** Starts a server with a self-signed certificate. */
export async function startSelfSigned(
  folder: string,
): Promise<{ port: number; count: () => number; stop(): void }> {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  execFileSync('openssl', ['req', '-x509', ...curve, ...name, '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  });
  let messages = 0;
  const server = createSecureServer(
    { key: readFileSync(key), cert: readFileSync(cert) },
    (_, response) => {
      messages += 1;
      response.end();
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port: (server.address() as AddressInfo).port, count: () => messages, stop };
}
