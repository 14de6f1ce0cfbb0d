import { and, eq, type InferSelectModel, sql } from 'drizzle-orm';
import * as z from 'zod';
import { accounts, userTokens } from '../../db/schema';
import type { Config, Runtime } from '../../env';
import { invalidRequest, Problem } from '../../errors';
import { newId, SCOPES, Scope } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { dateTime, listOf, text } from '../../http/fields';
import { creatorField, idField, timeField } from '../../http/response-fields';
import type { Guard } from '../../ledger/guard';
import type { RecordWriter } from '../../ledger/ledger';
import { credentialPattern, displayPrefix, makeCredential } from '../../lib/credential';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { formatTime, formatTimeOrNull } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { type CallerSql, hashCredential } from '../credentials';

/**
 * Maximum number of unexpired user tokens of the account itself. Each member can have the same
 * number.
 */
export const MAX_USER_TOKENS = 100;

export const UserTokenCreation = lazy(() =>
  z
    .strictObject({
      name: text(1, 255).optional(),
      scopes: listOf(Scope(), SCOPES.length).optional().meta({
        description:
          'By default the scopes of the calling credential; for the operator, all scopes.',
      }),
      expires_at: dateTime.optional().meta({
        description:
          'When the token expires. Must be in the future and not after the expiry of the calling credential. Defaults to ' +
          'that expiry; without one the token never expires.',
        examples: ['2126-01-31T12:00:00Z'],
      }),
    })
    .meta({
      id: 'UserTokenCreation',
      examples: [{ name: 'Approvals', scopes: ['permissions:read', 'permissions:decide'] }],
    }),
);

export type UserTokenInput = LazyOutput<typeof UserTokenCreation>;

const exampleUserToken = {
  id: exampleId('utok'),
  name: 'Approvals',
  token_prefix: displayPrefix(EXAMPLE.userToken),
  scopes: ['permissions:read', 'permissions:decide'],
  member_id: null,
  expires_at: null,
  last_used_at: null,
  created_by: 'operator',
  created_at: EXAMPLE.time,
};

export const exampleCreatedUserToken = { ...exampleUserToken, token: EXAMPLE.userToken };

type UserTokenRow = Omit<InferSelectModel<typeof userTokens>, 'hash' | 'account'>;

export const UserToken = lazy(() =>
  z
    .object({
      id: idField('utok'),
      name: z.string().nullable(),
      token_prefix: z.string().meta({ description: 'The first characters of the token.' }),
      scopes: z.array(Scope()),
      member_id: idField('member')
        .nullable()
        .meta({ description: 'Whom it belongs to; null for a token of the account itself.' }),
      expires_at: timeField
        .nullable()
        .meta({ description: 'When it expires; null if it never does.' }),
      last_used_at: timeField
        .nullable()
        .meta({ description: 'To the minute; null before its first use.' }),
      created_by: creatorField,
      created_at: timeField,
    })
    .meta({
      id: 'UserToken',
      description: 'A user token, without its secret.',
      examples: [exampleUserToken],
    }),
);

export type UserToken = LazyOutput<typeof UserToken>;

export const CreatedUserToken = lazy(() =>
  UserToken()
    .extend({
      token: z.string().meta({
        pattern: credentialPattern('user'),
        description: 'The token itself, shown only this once.',
      }),
    })
    .meta({
      id: 'CreatedUserToken',
      description: 'A new user token, with its secret.',
      examples: [exampleCreatedUserToken],
    }),
);

export type CreatedUserToken = LazyOutput<typeof CreatedUserToken>;

/**
 * The path at which a user token is deleted, for `Location`. The operator creates tokens under
 * another path.
 */
export function userTokenLocation(_path: string, { id }: UserToken): string {
  return `/v1/me/tokens/${id}`;
}

export function presentUserToken(row: UserTokenRow): UserToken {
  return {
    id: row.id,
    name: row.name,
    token_prefix: row.prefix,
    scopes: row.scopes as Scope[],
    member_id: row.member,
    expires_at: formatTimeOrNull(row.expiresAt),
    last_used_at: formatTimeOrNull(row.lastUsedAt),
    created_by: row.createdBy,
    created_at: formatTime(row.createdAt),
  };
}

/**
 * The condition that finds the caller's own tokens: those of the member who calls, or else those of
 * the account.
 */
export function ownTokens({ account, member }: Pick<CallerSql, 'account' | 'member'>) {
  return and(eq(userTokens.account, account), sql`${userTokens.member} is ${member}`);
}

/** The input for a new user token. */
interface TokenIssue {
  /** The name of the account's shard. */
  shard: string;
  account: Id<'user'>;
  /** The member whom the token is for; null for the account itself. */
  member: Id<'member'> | null;
  /** The value of `created_by`. */
  createdBy: string;
  input: UserTokenInput;
  /** For an input without scopes or expiry; by default every scope, and no expiry. */
  defaults?: { scopes: readonly Scope[]; expiresAt: number | null };
}

/**
 * Makes a user token, and stores nothing yet. Returns `token`, the answer that shows the token with
 * its secret, `store`, which makes the statement that stores it, and `guard`, the condition of that
 * statement: the account or the member has fewer than the maximum number of tokens, or else a
 * `conflict`.
 * @throws Problem `invalid_request` for an expiry that is not in the future
 */
export async function makeUserToken(
  { config, runtime }: { config: Config; runtime: Runtime },
  {
    shard,
    account,
    member,
    createdBy,
    input,
    defaults = { scopes: SCOPES, expiresAt: null },
  }: TokenIssue,
) {
  const now = runtime.now();
  if (input.expires_at !== undefined && input.expires_at <= now) {
    throw invalidRequest([{ path: 'body.expires_at', message: 'must be in the future' }]);
  }
  const wanted = input.scopes ?? defaults.scopes;
  const secret = makeCredential('user', shard, runtime.random);
  const [hash] = await hashCredential(config.keyring, secret);
  const row = {
    id: newId(runtime, 'utok'),
    member,
    name: input.name ?? null,
    prefix: displayPrefix(secret),
    scopes: SCOPES.filter((scope) => wanted.includes(scope)),
    expiresAt: input.expires_at ?? defaults.expiresAt,
    lastUsedAt: null,
    createdBy,
    createdAt: now,
  };
  const accountNumber = sql<number>`(
    select ${accounts.number} from ${accounts} where ${accounts.id} = ${sql.param(account, accounts.id)}
  )`;
  const guard: Guard = {
    name: 'user_tokens_below_limit',
    holds: sql`(
      select count(*) from ${userTokens}
      where ${userTokens.account} = ${accountNumber}
        and ${userTokens.member} is ${member && sql.param(member, userTokens.member)}
        and coalesce(${userTokens.expiresAt} > ${now}, 1)
    ) < ${MAX_USER_TOKENS}`,
    otherwise: () =>
      new Problem(
        'conflict',
        `An account itself, and each of its members, can have ${MAX_USER_TOKENS} user tokens. Delete one first.`,
      ),
  };
  return {
    token: { ...presentUserToken(row), token: secret },
    guard,
    store: (write: RecordWriter) =>
      write.insert(userTokens).values({ ...row, hash, account: accountNumber }),
  };
}
