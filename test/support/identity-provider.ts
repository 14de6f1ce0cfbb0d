import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { AUDIENCE, CLIENT } from './identity-client';
import { makeKey, makeProvider } from './provider';

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * The issuer URL of the identity provider that runs next to the tests. `POST <issuer>/rotate`
     * rotates its keys.
     */
    issuer: string;
  }
}

/** Runs a real identity provider on loopback while the tests run. */
export default async function setup(project: TestProject) {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provide = async () => makeProvider(issuer, AUDIENCE, [CLIENT], [await makeKey()]);
  let answer = await provide();
  server.on('request', async (request, response) => {
    if (request.url !== '/rotate') return void answer(request, response);
    answer = await provide();
    response.end();
  });
  project.provide('issuer', issuer);
  return () => {
    server.close();
    server.closeAllConnections();
  };
}
