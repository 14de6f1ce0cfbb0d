import { and, eq, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Reader } from '../db/database';
import { isAgentOfPermission, isContentsOfPermission } from '../db/permission-joins';
import { prepareByAccount } from '../db/prepare-by-account';
import { agents, permissionContents, permissions } from '../db/schema';
import { invalidRequest } from '../errors';
import type { RequestContext } from '../http/context';
import { jsonValue } from '../http/fields';
import type { CallerSql } from '../identity/credentials';
import type { Json } from '../lib/json';
import { lazy } from '../lib/lazy';
import { parseId } from '../lib/typeid';
import { DIGEST, DIGEST_LENGTH, digestOf } from './digest';
import { isPermissionWithId, NOW, PERMISSION_ID, reviewedColumns } from './find-permission';
import type { PermissionRow, ReviewedPermission } from './permission';
import { MAX_CONTENT_BYTES, Preview } from './preview';
import { type SeriesUsage, seriesUsageColumn } from './series/usage';

/** Visible ASCII characters. */
export const EXTERNAL_ID = /^[\x21-\x7e]{1,255}$/;

/** The fields of a request that say what exactly is to be approved. */
export const actFields = lazy(() => ({
  input: jsonValue(MAX_CONTENT_BYTES).meta({
    description:
      'The arguments of the act: any JSON value of at most 16 KiB. A person sees it before deciding.',
    examples: [{ to: 'ada@example.com', subject: 'Your invoice' }],
  }),
  input_digest: z
    .string()
    .regex(DIGEST, 'must be sha-256: and 43 base64url characters')
    .meta({
      minLength: DIGEST_LENGTH,
      maxLength: DIGEST_LENGTH,
      description:
        'The digest of the arguments, if these stay private: `sha-256:` and the SHA-256 of their canonical JSON (RFC ' +
        '8785) in base64url. Together with `input` it has to agree.',
    }),
  preview: Preview(),
  external_id: z
    .string()
    .regex(EXTERNAL_ID, 'must be 1 to 255 visible ASCII characters')
    .meta({
      description:
        "The agent's own name for this request, such as the id of a tool call. The same request with the same name is " +
        'answered 200 with the existing permission, for as long as the permission exists.',
      examples: ['call_01HZY3'],
    }),
}));

/** The fields of a request that describe the act. */
export interface SentAct {
  input?: Json | undefined;
  input_digest?: string | undefined;
  preview?: Preview | undefined;
  external_id?: string | undefined;
}

/**
 * Returns the columns of a permission that describe the act: title, digests and external id.
 * @throws Problem `invalid_request` if the digest is not that of the input
 */
export async function describeAct({ input, input_digest, preview, external_id }: SentAct) {
  const inputDigest = await digestIfGiven(input);
  if (inputDigest !== null && input_digest !== undefined && input_digest !== inputDigest) {
    throw invalidRequest([{ path: 'body.input_digest', message: 'is not the digest of `input`' }]);
  }
  return {
    title: preview?.title ?? null,
    inputDigest: inputDigest ?? input_digest ?? null,
    previewDigest: await digestIfGiven(preview),
    externalId: external_id ?? null,
  };
}

/** Input and preview as the answers that create or get one permission show them. */
export interface ShownContents {
  input: Json;
  preview: Preview | null;
  series_usage?: SeriesUsage;
}

/** Shows the input and preview that a request sent. */
export function presentSent({ input = null, preview }: SentAct): ShownContents {
  return { input, preview: preview ?? null };
}

/** Returns the row for the input and preview of a permission; null if it has neither. */
export function contentsRow(
  { account, id }: Pick<PermissionRow, 'account' | 'id'>,
  { input, preview }: SentAct,
) {
  if (input === undefined && preview === undefined) return null;
  return {
    account,
    id,
    input: storedForm(input),
    preview: storedForm(preview),
  };
}

async function digestIfGiven(content: Json | Preview | undefined): Promise<string | null> {
  if (content === undefined) return null;
  return await digestOf(content);
}

function storedForm(content: Json | Preview | undefined): string | null {
  if (content === undefined) return null;
  return JSON.stringify(content);
}

/** Reads the stored form of an input or a preview; null where there is none. */
export function readStored<T extends Json | Preview>(text: string | null): T | null {
  if (text === null) return null;
  return JSON.parse(text);
}

/** A permission's row with its contents as JSON texts. */
export type PermissionWithContents = ReviewedPermission & {
  input: string | null;
  preview: string | null;
  seriesUsage: SeriesUsage | null;
};

/** Shows the stored input and preview of a permission. */
export function presentContents(row: PermissionWithContents): ShownContents {
  const { input, preview, seriesUsage } = row;
  return {
    input: readStored<Json>(input),
    preview: readStored<Preview>(preview),
    ...(seriesUsage && { series_usage: seriesUsage }),
  };
}

function selectWithContents(select: Reader['select'], now: number | SQL) {
  return select({
    ...reviewedColumns(now),
    input: permissionContents.input,
    preview: permissionContents.preview,
    seriesUsage: seriesUsageColumn(now),
  })
    .from(permissions)
    .innerJoin(agents, isAgentOfPermission)
    .leftJoin(permissionContents, isContentsOfPermission);
}

/** Preloads the permission in the path, with its contents. */
export async function preloadPermissionWithContents(
  c: RequestContext,
  _: Reader,
  { account }: Pick<CallerSql, 'account'>,
) {
  return {
    permission: findPermissionWithContents(account, c.req.param('id'), c.var.runtime.now()),
  };
}

/** Selects a permission of an account, with its contents; null for a malformed id. */
export function findPermissionWithContents(account: SQL<number>, id: unknown, now: number) {
  const known = typeof id === 'string' && parseId('perm', id);
  if (!known) return null;
  return selectPermissionWithContents(account, { id: known, now });
}

const selectPermissionWithContents = prepareByAccount((select, account) =>
  selectWithContents(select, NOW).where(isPermissionWithId(account, PERMISSION_ID)),
);

/** Selects the permission that an agent requested under an external id, with its contents. */
export function findByExternalId(
  { account, agentId, externalId }: { account: SQL<number>; agentId: SQL; externalId: string },
  now: number,
) {
  return selectByExternalId(account, { externalId, now }, agentId);
}

const selectByExternalId = prepareByAccount((select, account, agentId) => {
  const agent = sql`(select number from ${agents} where account = ${account} and id = ${agentId})`;
  // Without the hint SQLite may take an index of the agent, and read all of its permissions.
  const id = sql`(
    select named.id from permissions as named indexed by permissions_by_external_id
    where named.account = ${account} and named.external_id = ${sql.placeholder('externalId')} and named.agent = ${agent}
  )`;
  return selectWithContents(select, NOW).where(
    and(eq(permissions.account, account), sql`${permissions.id} = ${id}`),
  );
});
