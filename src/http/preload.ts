import type { Reader } from '../db/database';
import type { Query } from '../db/statements';
import type { CallerSql, PreloadQueries } from '../identity/credentials';
import { findStoredAnswer, type StoredAnswer } from '../ledger/stored-answer';
import type { RequestContext } from './context';

/** Queries by name; null for one that is not needed. */
export type NamedQueries = Record<string, Query | null>;

/** The rows of each query by its name; undefined for null. */
export type LoadedRows<Q extends NamedQueries> = {
  [N in keyof Q]: NonNullable<Q[N]>['_']['result'] | undefined;
};

/**
 * A preload: makes queries of account data that run in the same round trip as the authentication,
 * by name; null for one that is not needed, such as for a malformed id.
 *
 * The caller is not known yet: `caller` has SQL expressions for the number of their account and for
 * their ids.
 */
export type Preload<Q extends NamedQueries> = (
  c: RequestContext,
  reader: Reader,
  caller: CallerSql,
) => Promise<Q>;

/**
 * Makes the queries that run together with the authentication: for the answer that is stored for
 * the key of the request, and for the rows of the preload. `read` gives both from what was found.
 * @param isForUsers whether nothing is preloaded for an agent
 */
export function requestQueries<Q extends NamedQueries>(
  c: RequestContext,
  key: Uint8Array | null,
  preload: Preload<Q> | undefined,
  isForUsers = false,
) {
  let names: string[] = [];
  const queries: PreloadQueries = async (reader, caller) => {
    const { id, account } = caller;
    const now = c.var.runtime.now();
    const stored = key && findStoredAnswer(reader, { principal: id, key, account }, now);
    const isRefused = isForUsers && caller.agent !== null;
    const loading = isRefused ? undefined : preload?.(c, reader, caller);
    const wanted: NamedQueries = (await loading) ?? {};
    names = Object.keys(wanted);
    return [stored, ...Object.values(wanted)];
  };
  const read = ([answers = [], ...rows]: unknown[]) => ({
    stored: (answers as StoredAnswer[])[0],
    loaded: Object.fromEntries(names.map((name, i) => [name, rows[i]])) as LoadedRows<Q>,
  });
  return { queries, read };
}
