import { Hono } from 'hono';
import { detailsOf } from '../audit/entry';
import { answerFromTree } from '../audit/tree/answer-from-tree';
import { presentHead, type SignedHead } from '../audit/tree/checkpoint';
import { selectTree, type TreeRow } from '../audit/tree/open-tree';
import { proveEntry } from '../audit/tree/prove-inclusion';
import { LogSigner } from '../audit/tree/signer';
import { readCosignedHead } from '../audit/witnesses/cosigned-head';
import type { Reader } from '../db/database';
import { userAccess } from '../http/access';
import type { RequestContext, UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import type { LoadedRows } from '../http/preload';
import type { CallerSql } from '../identity/credentials';
import { toHex } from '../lib/bytes';
import { parseId } from '../lib/typeid';
import {
  findPermissionWithContents,
  type PermissionWithContents,
  presentContents,
} from '../permissions/contents';
import { requirePermission } from '../permissions/find-permission';
import { RECEIPT_TYPE, Receipt } from './receipt';
import { chooseEntries, type EntryRows, type SaltedEntry, selectEntries } from './select-entries';

/** The rows that a receipt is made of. */
interface ReceiptRows extends EntryRows {
  permission: PermissionWithContents | undefined;
  tree: TreeRow | undefined;
}

/**
 * Returns the receipt of a permission: one JSON value that shows to anybody who has the public
 * keys, without the service, what was asked, decided and used.
 * @throws Problem `not_found`; `conflict` while one of its entries is not sealed; `log_refused` if
 *   an entry, or the log, was changed since; `unavailable`
 */
export async function getReceipt(context: UserContext, rows: ReceiptRows): Promise<Receipt> {
  const permission = requirePermission(context.principal, rows.permission);
  const { entries, isComplete } = await chooseEntries(context, rows);
  return answerFromTree(context, rows.tree, async (newest) => {
    const last = entries.at(-1)?.entry.sequence ?? 0;
    const tree = { ...newest, head: (await cosignedHead(context, rows.tree, last)) ?? newest.head };
    const proofs = await Promise.all(
      entries.map(({ entry, salt }) => proveEntry(tree, entry, salt)),
    );
    return {
      type: RECEIPT_TYPE,
      permission_id: permission.id,
      entries: proofs.map(({ input, path }, i) => ({
        sequence: entries[i]?.entry.sequence ?? 0,
        leaf_input: input.toBase64(),
        inclusion_path: path.map(toHex),
      })),
      checkpoint: presentHead(tree.head),
      complete: isComplete,
      ...(hasDigests(permission, entries) ? presentContents(permission) : NO_CONTENTS),
    };
  });
}

const NO_CONTENTS = { input: null, preview: null };

/**
 * Whether one of the entries has the digests of a permission's contents. Without one, as when only
 * the uses of an old permission are kept, nothing shows that these are what was requested.
 */
function hasDigests({ id }: PermissionWithContents, entries: readonly SaltedEntry[]): boolean {
  return entries.some(
    ({ entry }) =>
      entry.permission_request_id === id && detailsOf(entry).input_digest !== undefined,
  );
}

/** The newest cosigned head that covers the entries up to a sequence; null if there is none. */
async function cosignedHead(
  { principal, config }: UserContext,
  tree: TreeRow | undefined,
  sequence: number,
): Promise<SignedHead | null> {
  if (!tree || tree.cosignedSize < sequence) return null;
  const signer = await LogSigner.open(config.keyring, config.publicUrl);
  return readCosignedHead({ bucket: config.files, signer }, principal.account.id, tree);
}

/** Preloads the permission in the path with its contents, its entries, and the tree of the log. */
export async function preloadReceipt(c: RequestContext, reader: Reader, { account }: CallerSql) {
  const now = c.var.runtime.now();
  const id = parseId('perm', c.req.param('id') ?? '');
  return {
    permission: findPermissionWithContents(account, id, now),
    ...(id && selectEntries(reader, account, id, now)),
    tree: selectTree(reader, account),
  };
}

/** The rows that {@link preloadReceipt} loaded. */
export function readReceiptRows({
  permission = [],
  first = [],
  newest = [],
  tree = [],
}: LoadedRows<Awaited<ReturnType<typeof preloadReceipt>>>): ReceiptRows {
  return { permission: permission[0], first, newest, tree: tree[0] };
}

export const getReceiptRoute = new Hono().get(
  '/v1/permissions/:id/receipt',
  operation({
    id: 'getReceipt',
    tag: 'Permissions',
    summary: 'Get the receipt of a permission',
    description:
      'One file that proves what was asked, decided and used, under one signed head of the log. `npm run verify` and ' +
      '`countersign verify` check it without the service. Its keys are not in it: who verifies it brings them.',
    success: ok(Receipt),
    pathId: 'perm',
    problems: ['conflict', 'log_refused'],
  }),
  userAccess('permissions:read', preloadReceipt, { alsoNeeds: 'audit:read' }),
  noQuery(),
  async (c) => answer(c, await getReceipt(c.var.context, readReceiptRows(c.var.loaded))),
);
