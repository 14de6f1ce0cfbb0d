import { createHash, randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import type { DownloadFileQuery } from '../../api.ts';
import { Failure } from '../failures.ts';
import { type Io, write } from '../io.ts';
import type { Session } from '../session.ts';
import { Progress } from './progress.ts';

/** The longest download, in milliseconds. */
const TIMEOUT = 6 * 3_600_000;

interface DownloadOptions {
  /** The path of the file; `-` is stdout. */
  output: string;
  /** The digest that the service gives for the file; null or undefined without one. */
  sha256: string | null;
  size: number | undefined;
}

/**
 * Downloads a file of the service. A file is complete or absent: it is written under another name
 * first.
 * @param address the signed address, whose path and query are sent to the service of the session
 * @throws Failure if its checksum is not the service's
 */
export async function downloadFile(
  session: Session,
  address: string,
  options: DownloadOptions,
): Promise<void> {
  const { io, client } = session;
  const { pathname, searchParams } = new URL(address);
  const id = decodeURIComponent(pathname.slice(pathname.lastIndexOf('/') + 1));
  const query = Object.fromEntries(searchParams) as DownloadFileQuery;
  const response = await client.downloadFile(id, query, { timeout: TIMEOUT });
  const { output } = options;
  if (output === '-') return await copy(response, (chunk) => write(io.stdout, chunk), options, io);
  const draft = `${output}.${randomUUID()}.part`;
  const file = await open(draft, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new Failure(`${output} cannot be written (${error.code}).`);
  });
  try {
    await copy(response, (chunk) => file.writeFile(chunk), options, io).finally(() => file.close());
    await rename(draft, output);
  } finally {
    await rm(draft, { force: true });
  }
}

async function copy(
  response: Response,
  put: (chunk: Uint8Array) => Promise<void>,
  { sha256, size }: DownloadOptions,
  io: Io,
): Promise<void> {
  const hash = createHash('sha256');
  const progress = new Progress(io);
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) {
      hash.update(chunk);
      await put(chunk);
      bytes += chunk.length;
      progress.show(`Downloading … ${bytes}${size === undefined ? '' : ` of ${size}`} bytes`);
    }
  } finally {
    progress.end();
  }
  if (sha256 && hash.digest('hex') !== sha256)
    throw new Failure('The file arrived damaged: its checksum is wrong. Try again.');
}
