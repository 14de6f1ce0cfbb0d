import { eq, sql } from 'drizzle-orm';
import { decodeJwt } from 'jose';
import { type Database, loadNonNull, type Reader } from '../../db/database';
import { leastFullShard } from '../../db/least-full-shard';
import { accounts, identities } from '../../db/schema';
import { listShards, openShard } from '../../db/shards';
import { unavailable } from '../../errors';
import { SERVICE } from '../../ledger/authority';
import { Ledger } from '../../ledger/ledger';
import { sha256 } from '../../lib/bytes';
import { SECOND } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { failAuthentication } from '../authentication-failure';
import { type AccountRef, newId, type RequestContext, SCOPES, type Scope, type UserPrincipal } from '../context';
import { accountColumns, activeAccount, type CallerSql, type PreloadQueries } from '../credentials';
import { text } from '../fields';
import { limitIdentity } from '../rate-limit';
import { type Claims, readSubject } from './jwt';
import { findProviderKeys, verifyByProvider } from './keys';

/** The directory of people is on the first shard, wherever their accounts are. */
const DIRECTORY = '00';

/** Where the account of a person is. */
interface AccountLocation {
  account: Id<'user'>;
  shard: string;
}

/** Whether a credential has the form of a JWT of the provider that people sign in with. */
export function isIdentityToken(c: RequestContext, credential: string): boolean {
  const { oidc } = c.var.config;
  return oidc !== null && readSubject(credential, oidc) !== null;
}

/** The `scope` claim of a JWT as JSON, before the JWT is verified; null for every other credential. */
export function claimedScope(c: RequestContext, credential: string): string | null {
  return isIdentityToken(c, credential) ? JSON.stringify(decodeJwt(credential).scope ?? null) : null;
}

/**
 * Finds out who presents a JWT of the provider. It takes one round trip where the account is on the first shard, else two.
 * @param who `anybody` for an account to be made on first sight; else a person without one is refused
 * @throws Problem `unauthorized`, `account_inactive`, `unavailable`
 */
export async function authenticateIdentity(
  c: RequestContext,
  token: string,
  fellows: PreloadQueries,
  who: 'known' | 'anybody',
) {
  const { oidc } = c.var.config;
  const subject = oidc && readSubject(token, oidc);
  const directory = openShard(c.env, DIRECTORY, c.var.cost);
  if (!oidc || subject === null || !directory) return failAuthentication(c);
  const key = await sha256(JSON.stringify([oidc.issuer, subject]));
  const [[kept], [known], ...loaded] = await loadNonNull(directory, [
    findProviderKeys(directory, oidc.issuer),
    findIdentity(directory, key),
    ...(await fellows(directory, callerByIdentityKey(key))),
  ]);
  const claims = await verifyByProvider(c, directory, token, kept);
  if (!claims) return failAuthentication(c);
  await limitIdentity(c, key);
  if (known?.shard === DIRECTORY && known.accountNumber !== null) {
    return { ...makePrincipal(activeAccount(known as AccountRow), DIRECTORY, claims), database: directory, loaded };
  }
  const isElsewhere = known && known.shard !== DIRECTORY;
  if (!isElsewhere && who === 'known') return failAuthentication(c);
  const home = isElsewhere ? known : await createAccount(c, directory, key, claims);
  const entered = await loadAccount(c, home, fellows);
  if (entered.row) return entered.admit(claims);
  if (who === 'known') return failAuthentication(c);
  // Deleted, or never made because somebody died in between.
  const again = await loadAccount(c, await createAccount(c, directory, key, claims), fellows);
  if (!again.row) throw unavailable();
  return again.admit(claims);
}

type AccountRow = Parameters<typeof activeAccount>[0];

function findIdentity(reader: Reader, key: Uint8Array) {
  return reader
    .select({ account: identities.account, shard: identities.shard, ...accountColumns })
    .from(identities)
    .leftJoin(accounts, eq(accounts.id, identities.account))
    .where(eq(identities.key, key));
}

function callerByIdentityKey(key: Uint8Array): CallerSql {
  const id = sql`(select ${identities.account} from ${identities} where ${eq(identities.key, key)})`;
  return { id, account: sql<number>`(select ${accounts.number} from ${accounts} where ${accounts.id} = ${id})` };
}

/** Looks for an account at its home, with what is to be loaded of it. */
async function loadAccount(c: RequestContext, { account, shard }: AccountLocation, fellows: PreloadQueries) {
  const database = openShard(c.env, shard, c.var.cost);
  if (!database) throw new Error(`shard ${shard} is in the directory and not bound`);
  const id = sql`${sql.param(account, accounts.id)}`;
  const caller = {
    id,
    account: sql<number>`(select ${accounts.number} from ${accounts} where ${accounts.id} = ${id})`,
  };
  const [[row], ...loaded] = await loadNonNull(database, [
    database.select(accountColumns).from(accounts).where(eq(accounts.id, account)),
    ...(await fellows(database, caller)),
  ]);
  const admit = (claims: Claims) => {
    return { ...makePrincipal(activeAccount(row as AccountRow), shard, claims), database, loaded };
  };
  return { row, admit };
}

async function chooseShard(c: RequestContext): Promise<string> {
  const shards = listShards(c.env).map((name) => ({
    name,
    size: async () => openShard(c.env, name, c.var.cost)?.size() ?? Number.POSITIVE_INFINITY,
  }));
  return (await leastFullShard(shards)).name;
}

/**
 * Gives a person an account, on the shard with the most room. The directory comes first and decides: of several that
 * come at once all get the same, and whoever finds an account missing makes it.
 */
async function createAccount(
  c: RequestContext,
  directory: Database,
  key: Uint8Array,
  claims: Claims,
): Promise<AccountLocation> {
  const { runtime, cost } = c.var;
  const now = runtime.now();
  const chosen = { account: newId(runtime, 'user'), shard: await chooseShard(c) };
  const [[home = chosen]] = await new Ledger(directory, SERVICE).write({
    changes: (write) => [
      write
        .insert(identities)
        .values({ key, ...chosen, createdAt: now })
        // Changes nothing, and tells what is there.
        .onConflictDoUpdate({ target: identities.key, set: { key: sql`excluded.key` } })
        .returning({ account: identities.account, shard: identities.shard }),
    ],
  });
  const database = openShard(c.env, home.shard, cost);
  if (!database) throw new Error(`shard ${home.shard} is in the directory and not bound`);
  const row = {
    id: home.account,
    email: readEmail(claims),
    name: text(1, 255).safeParse(claims.name).data ?? null,
    plan: 'free' as const,
    isActive: true,
    createdAt: now,
    updatedAt: now,
  };
  await new Ledger(database, SERVICE).write({
    changes: (write) => [write.insert(accounts).values(row).onConflictDoNothing()],
  });
  return home;
}

/** For people to know the account by; nothing is linked by it. */
function readEmail({ email }: Claims): string {
  return typeof email === 'string' && email.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(email) ? email : '';
}

/** Lets a person into an account, for as long as their JWT is valid. */
function makePrincipal(account: AccountRef, shard: string, { scope, exp }: Claims) {
  const expiresAt = exp * SECOND;
  const principal: UserPrincipal = {
    kind: 'user',
    shard,
    account,
    token: null,
    scopes: grantedScopes(scope),
    expiresAt,
  };
  return { principal, reference: { kind: 'identity_token' as const, account: account.number, expiresAt } };
}

/** What a `scope` claim (RFC 8693 section 4.2) leaves of everything. */
function grantedScopes(claim: unknown): readonly Scope[] {
  if (claim === undefined) return SCOPES;
  const named = typeof claim === 'string' ? claim.split(' ') : [];
  return SCOPES.filter((scope) => named.includes(scope));
}
