import { type InferSelectModel, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Batch, ConstraintError } from '../db/database';
import { accounts, userTokens } from '../db/schema';
import type { Config, Runtime } from '../env';
import { invalidRequest, Problem } from '../errors';
import { newId, SCOPES, type Scope } from '../http/context';
import { hashCredential } from '../http/credentials';
import { dateTime, text } from '../http/fields';
import { shownId, shownTime } from '../http/shown';
import type { RecordWriter } from '../ledger/ledger';
import { displayPrefix, makeCredential } from '../lib/credential';
import { formatTime, formatTimeOrNull } from '../lib/time';
import type { Id } from '../lib/typeid';

const MAX_TOKENS = 100;

export const userTokenFields = z.strictObject({
  name: text(1, 255).optional(),
  scopes: z
    // Counted before they are looked at, so that a long list of wrong ones earns one complaint.
    .array(z.unknown())
    .min(1, 'must name at least one scope')
    .max(SCOPES.length, `must name at most ${SCOPES.length} scopes`)
    .pipe(z.array(z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}`)))
    .optional(),
  expires_at: dateTime.optional(),
});

export type UserTokenInput = z.output<typeof userTokenFields>;

type UserTokenRow = Omit<InferSelectModel<typeof userTokens>, 'hash' | 'account'>;

/** A user token as the API shows it. */
export const UserToken = z.object({
  id: shownId('utok'),
  name: z.string().nullable(),
  token_prefix: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  expires_at: shownTime.nullable(),
  last_used_at: shownTime.nullable(),
  created_at: shownTime,
});

export type UserToken = z.output<typeof UserToken>;

/** A new user token; `token`, the secret itself, is shown this once. */
export const CreatedUserToken = UserToken.extend({ token: z.string() });

export type CreatedUserToken = z.output<typeof CreatedUserToken>;

/** Where a user token is found, whoever made it. */
export function tokenLocation(_path: string, { id }: UserToken): string {
  return `/v1/me/tokens/${id}`;
}

export function presentUserToken(row: UserTokenRow): UserToken;
export function presentUserToken(row: UserTokenRow, secret: string): CreatedUserToken;
export function presentUserToken(row: UserTokenRow, secret?: string): UserToken {
  return {
    id: row.id,
    name: row.name,
    ...(secret !== undefined && { token: secret }),
    token_prefix: row.prefix,
    scopes: row.scopes as Scope[],
    expires_at: formatTimeOrNull(row.expiresAt),
    last_used_at: formatTimeOrNull(row.lastUsedAt),
    created_at: formatTime(row.createdAt),
  };
}

/** A new user token: what to show of it, and the statement that stores it. */
export interface IssuedToken {
  token: CreatedUserToken;
  store: (write: RecordWriter) => Batch[number];
}

/**
 * Makes a user token for an account of a shard.
 * @param defaultScopes the scopes it gets when the input names none
 * @throws Problem `invalid_request` for an expiry that is not in the future
 */
export async function issueUserToken(
  { config, runtime }: { config: Config; runtime: Runtime },
  shard: string,
  account: Id<'user'>,
  input: UserTokenInput,
  defaultScopes: readonly Scope[],
): Promise<IssuedToken> {
  const now = runtime.now();
  if (input.expires_at !== undefined && input.expires_at <= now) {
    throw invalidRequest([{ path: 'body.expires_at', message: 'must lie in the future' }]);
  }
  const wanted = input.scopes ?? defaultScopes;
  const secret = makeCredential('user', shard, runtime.random);
  const [hash] = await hashCredential(config.keyring, secret);
  const row = {
    id: newId(runtime, 'utok'),
    name: input.name ?? null,
    prefix: displayPrefix(secret),
    scopes: SCOPES.filter((scope) => wanted.includes(scope)),
    expiresAt: input.expires_at ?? null,
    lastUsedAt: null,
    createdAt: now,
  };
  // NOT NULL: finds no account when it is gone or holds its fill, and the batch fails.
  const owner = sql`(
    select ${accounts.number} from ${accounts} where ${accounts.id} = ${sql.param(account, accounts.id)}
      and (select count(*) from ${userTokens} where ${userTokens.account} = ${accounts.number}) < ${MAX_TOKENS}
  )`;
  return {
    token: presentUserToken(row, secret),
    store: (write) => write.insert(userTokens).values({ ...row, hash, account: owner }),
  };
}

/** Tells a full account from other failures of storing a token. */
export function refuseFullAccount(error: unknown): never {
  if (error instanceof ConstraintError && error.subject === 'user_tokens.account') {
    throw new Problem('conflict', `The account holds ${MAX_TOKENS} user tokens, the most it can. Delete one first.`);
  }
  throw error;
}
