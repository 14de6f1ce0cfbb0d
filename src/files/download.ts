import { and, eq, isNull, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { accounts, type FileFormat, files, movedAccounts } from '../db/schema';
import { notFound, Problem, unavailable } from '../errors';
import { makeActivityRecord } from '../http/activity';
import type { AppEnv, RequestContext } from '../http/context';
import { query } from '../http/input';
import { operation } from '../http/operation';
import { limitNetwork } from '../http/rate-limit';
import { listShardNames, type OpenedShard, openNamedShard } from '../http/shard';
import { isArriving } from '../identity/credentials';
import { hasRow } from '../ledger/guard';
import type { Ledger, RecordWriter } from '../ledger/ledger';
import { toHex } from '../lib/bytes';
import { logFailure } from '../lib/log';
import { type ByteRange, parseRange } from '../lib/range';
import { parseFileId, publicFileId } from './file';
import { type FileRow, isFile } from './file-records';
import { readSignedAddress, type SignedAddress, SignedAddressQuery } from './signed-address';
import { fileKey, proofKey } from './storage';

const CONTENT_TYPES: Record<FileFormat, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  json: 'application/json',
  parquet: 'application/vnd.apache.parquet',
  pdf: 'application/pdf',
};

/** A file or proof that can be downloaded. */
interface Download extends Content, Pick<SignedAddress, 'document'> {
  ledger: Ledger;
  file: FileRow;
  size: number;
}

/** The content of a download. */
interface Content {
  /** The key in R2. */
  key: string;
  size: number | null;
  etag: string;
  contentType: string;
  /** The ending of the name under which a client saves it. */
  extension: string;
}

/**
 * Finds the file of a signed address: on the shard that the address names, or on the one to which
 * its account moved. An account may have moved several times, so each shard may name another one.
 */
async function findDownload(
  c: RequestContext,
  named: OpenedShard,
  address: SignedAddress,
): Promise<Download> {
  const now = c.var.runtime.now();
  let shard: OpenedShard | null = named;
  for (const _ of listShardNames(c)) {
    if (!shard) break;
    const { found, movedTo } = await findFile(shard, address, now);
    if (found) return found;
    if (movedTo === undefined) break;
    shard = openNamedShard(c, movedTo);
  }
  throw notFound('file');
}

/**
 * Finds the file of a signed address on one shard. If the account is not there, returns the shard
 * to which it moved.
 * @throws Problem `download_expired` if the address or the file has expired, `account_inactive`,
 *   `not_found` if the file is gone, `unavailable` while the account moves
 */
async function findFile(
  { reader, ledger }: OpenedShard,
  { id, document, account, expires }: SignedAddress,
  now: number,
): Promise<{ found?: Download; movedTo?: string | undefined }> {
  const key = parseFileId(id);
  if (expires <= now) throw downloadExpired();
  if (!key) throw notFound('file');
  const isAccount = eq(accounts.id, account);
  const number = sql<number>`(select number from ${accounts} where ${isAccount})`;
  const [[found], [file], [moved]] = await reader.load([
    reader
      .select({ isActive: accounts.isActive, isArriving: isArriving.as('is_arriving') })
      .from(accounts)
      .where(isAccount),
    reader
      .select()
      .from(files)
      .where(isFile({ ...key, account: number })),
    reader
      .select({ shard: movedAccounts.shard })
      .from(movedAccounts)
      .where(eq(movedAccounts.id, account)),
  ]);
  if (!found) return { movedTo: moved?.shard };
  if (found.isArriving) throw unavailable();
  if (!file) throw notFound('file');
  if (!found.isActive) {
    throw new Problem(
      'account_inactive',
      'The account is inactive. The operator can activate it again.',
    );
  }
  if (file.status !== 'completed' || file.sha256 === null) throw downloadExpired();
  const { size, ...content } = contentOf(file, document, toHex(file.sha256));
  if (size === null) throw downloadExpired();
  return { found: { ledger, file, document, size, ...content } };
}

function contentOf(file: FileRow, document: SignedAddress['document'], digest: string): Content {
  if (document === 'proof') {
    return {
      key: proofKey(file),
      size: file.proofSize,
      etag: `"proof-of-${digest}"`,
      contentType: CONTENT_TYPES.json,
      extension: 'proof.json',
    };
  }
  return {
    key: fileKey(file),
    size: file.size,
    etag: `"${digest}"`,
    contentType: CONTENT_TYPES[file.format],
    extension: file.format,
  };
}

/** Another download was the first, or the account was deactivated meanwhile. */
class NotFirst extends Error {}

/**
 * Records the first download of a file, be it whole or a range. Later downloads and proofs are not
 * recorded.
 */
async function recordDownload(
  c: RequestContext,
  { ledger, file, document }: Download,
): Promise<void> {
  if (document !== 'file' || file.downloadedAt !== null) return;
  const isOwnerActive = sql`exists (select 1 from ${accounts} where ${accounts.number} = ${files.account} and ${accounts.isActive})`;
  const isFirst = and(isFile(file), isNull(files.downloadedAt), isOwnerActive);
  const record = makeActivityRecord(c.var, {
    account: file.account,
    actor: null,
    action: `${file.kind}.downloaded`,
    target: publicFileId(file),
    changes: [],
  });
  const changes = (write: RecordWriter) =>
    [write.update(files).set({ downloadedAt: record.createdAt }).where(isFirst)] as const;
  const guard = {
    name: 'download_is_first',
    holds: hasRow(files, isFirst),
    otherwise: () => new NotFirst(),
  };
  try {
    await ledger.change({ record, guards: [guard], changes, answer: null });
  } catch (error) {
    if (!(error instanceof NotFirst)) throw error;
  }
}

function headersOf({ file, etag, contentType, extension }: Download): Record<string, string> {
  return {
    'Content-Type': contentType,
    'Content-Disposition': `attachment; filename="${publicFileId(file)}.${extension}"`,
    'Accept-Ranges': 'bytes',
    ETag: etag,
    // Compression on the way would change the length and prevent ranges.
    'Cache-Control': 'private, no-store, no-transform',
  };
}

async function readFile(bucket: R2Bucket, { key }: Download, range: ByteRange | null) {
  const object = await bucket.get(key, { ...(range && { range }) }).catch((error: unknown) => {
    logFailure('file_not_read', error);
    throw unavailable();
  });
  if (!object) throw downloadExpired();
  return object.body;
}

function downloadExpired(): Problem {
  return new Problem(
    'download_expired',
    'The download has expired. Read the export or report again, or request a new one.',
  );
}

/**
 * Whether an `If-None-Match` header matches the ETag (RFC 9110 section 13.1.2, weak comparison).
 */
function isKnown(header: string | undefined, etag: string): boolean {
  const tags = (header ?? '').split(',').map((tag) => tag.trim());
  return tags.includes('*') || tags.includes(etag) || tags.includes(`W/${etag}`);
}

/** Sends a file or a proof to anyone who has its signed address. */
export const downloadFileRoute = new Hono<AppEnv>().get(
  '/v1/downloads/:id',
  operation({
    id: 'downloadFile',
    tag: 'Audit',
    summary: 'Download a file by its signed address',
    description:
      'The address is the `download_url` of an export or a report, or the `proof_url` of an export, and needs no ' +
      'credential. The answer is the file itself, whole or the `Range` of it that was asked for (206).',
    success: {
      status: 200,
      schema: () => z.custom<never>().meta({ type: 'string', format: 'binary' }),
      contentType: '*/*',
      revalidates: true,
      hasRanges: true,
    },
    problems: [
      'invalid_signature',
      'account_inactive',
      'rate_limited',
      'download_expired',
      'range_not_satisfiable',
    ],
    pathId: ['export', 'report'],
  }),
  query(SignedAddressQuery),
  async (c) => {
    const { config } = c.var;
    const address = await readSignedAddress(config, c.req.param('id'), c.req.valid('query'));
    const shard = address && openNamedShard(c, address.shard);
    if (!shard) {
      await limitNetwork(c);
      throw new Problem(
        'invalid_signature',
        'The signature is wrong. Use `download_url` exactly as it was given.',
      );
    }
    c.set('caller', {
      credential: 'signed_address',
      shard: address.shard,
      account: address.account,
    });
    const download = await findDownload(c, shard, address);
    const { size, etag } = download;
    const headers = headersOf(download);
    if (isKnown(c.req.header('If-None-Match'), etag)) {
      return new Response(null, { status: 304, headers: { ETag: etag } });
    }
    if (c.req.raw.method === 'HEAD') {
      return new Response(null, { headers: { ...headers, 'Content-Length': `${size}` } });
    }
    const isSameFile = (c.req.header('If-Range') ?? etag) === etag;
    const range = isSameFile ? parseRange(c.req.header('Range'), size) : null;
    if (range === 'unsatisfiable') {
      const message = `The file has ${size} bytes; ask for some of these.`;
      const headers = { 'Content-Range': `bytes */${size}` };
      throw new Problem('range_not_satisfiable', message, { headers });
    }
    const [body] = await Promise.all([
      readFile(config.files, download, range),
      recordDownload(c, download),
    ]);
    const { offset, length } = range ?? { offset: 0, length: size };
    return new Response(body.pipeThrough(new FixedLengthStream(length)), {
      status: range ? 206 : 200,
      headers: {
        ...headers,
        'Content-Length': `${length}`,
        ...(range && { 'Content-Range': `bytes ${offset}-${offset + length - 1}/${size}` }),
      },
    });
  },
);
