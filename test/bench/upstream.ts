import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The service behind a connection: a server on loopback. */
export interface Upstream {
  port: number;
  /** How many requests wait for an answer that never comes. */
  hanging(): number;
  stop(): Promise<void>;
}

/**
 * Starts a server that answers with as many bytes as the path says, as in `/1024`; never below
 * `/hang`; and whatever the path, only after `before` has ended.
 */
export async function startUpstream(before?: () => Promise<void>): Promise<Upstream> {
  let hanging = 0;
  const answer: RequestListener = async (request, response) => {
    const { url = '' } = request;
    // The body is read before, as a real service would.
    for await (const _ of request);
    if (url.startsWith('/hang')) {
      hanging++;
      response.on('close', () => hanging--);
      return;
    }
    await before?.();
    const body = Buffer.alloc(Number(/^\/(\d+)/.exec(url)?.[1] ?? 0), 'x');
    response.writeHead(200, { 'Content-Type': 'application/octet-stream' }).end(body);
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    hanging: () => hanging,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
