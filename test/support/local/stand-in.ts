import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** A call as it arrived, byte for byte. */
export interface ReceivedCall {
  method: string;
  /** The path with the query. */
  path: string;
  headers: IncomingHttpHeaders;
  /** The lines of the head, as they arrived. */
  head: string;
  body: Buffer;
  /** Whether the stand-in refused it with 429, so that nothing was done. */
  isRefused: boolean;
}

/** Answers one call. */
export type Reply = (response: ServerResponse) => void;

const json = { 'Content-Type': 'application/json' };

/** Another service on loopback, which keeps every call that reaches it. */
export class StandIn {
  readonly received: ReceivedCall[] = [];
  private readonly replies: Reply[] = [];

  private constructor(
    private readonly server: Server,
    private readonly usual: Reply,
  ) {
    server.on('request', (request, response) => void this.serve(request, response));
  }

  /** @param usual the reply to every call for which no other one is scripted */
  static async start(usual: Reply): Promise<StandIn> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new StandIn(server, usual);
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The calls that were not refused with 429. */
  get performed(): ReceivedCall[] {
    return this.received.filter(({ isRefused }) => !isRefused);
  }

  /** Scripts the replies to the next calls. */
  script(...replies: Reply[]): void {
    this.replies.push(...replies);
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url: path = '', headers, rawHeaders } = request;
    const reply = this.replies.shift() ?? this.usual;
    reply(response);
    this.received.push({
      method,
      path,
      headers,
      head: [method, path, ...rawHeaders].join('\n'),
      body: Buffer.concat(chunks),
      isRefused: response.statusCode === 429,
    });
  }
}

/** Answers with JSON. */
export function answers(body: object, status = 200, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, { ...json, ...headers });
    response.end(JSON.stringify(body));
  };
}

/** Cuts the connection before the head of an answer. */
export const cutsBeforeHead: Reply = (response) => {
  response.socket?.destroy();
};

/** Cuts the connection in the middle of the body of an answer 200. */
export const cutsAfterHead: Reply = (response) => {
  response.writeHead(200, { ...json, 'Content-Length': '100' });
  response.write('{"ok":true,', () => setTimeout(() => response.socket?.destroy(), 50));
};

/** Answers with JSON after a time in milliseconds. */
export function answersAfter(milliseconds: number, body: object): Reply {
  return (response) => {
    setTimeout(() => answers(body)(response), milliseconds);
  };
}
