import { and, eq } from 'drizzle-orm';
import { aliased } from '../../db/columns';
import type { Reader } from '../../db/database';
import { accounts, members, sessions, usedChallenges } from '../../db/schema';
import { openShard } from '../../db/shards';
import type { Runtime } from '../../env';
import type { RequestContext } from '../../http/context';
import { type InternalWriter, Ledger } from '../../ledger/ledger';
import { fromBase64Url, toBase64Url } from '../../lib/bytes';
import type { Keyring } from '../../lib/secrets';
import { MINUTE } from '../../lib/time';
import type { Id } from '../../lib/typeid';

/** Lifetime of a pairing code, in milliseconds. */
const CODE_LIFETIME = MINUTE;

const MAX_CODE_LENGTH = 4_000;

/** A pairing that a member confirmed in the console. */
export interface Pairing {
  /** The name of the account's shard. */
  shard: string;
  /** The number of the account. */
  account: number;
  member: Id<'member'>;
  /** The session in which the member confirmed it. */
  session: Id<'session'>;
  /** The name that the program gives itself; null without one. */
  name: string | null;
  redirectUri: string;
  /** The PKCE code challenge (RFC 7636 section 4.2). */
  challenge: string;
}

/** The content of a pairing code. */
interface Content {
  pairing: Pairing;
  /** In milliseconds since the epoch. */
  expiresAt: number;
}

/**
 * Makes a code for a pairing, which is encrypted in it. Nothing is stored: its exchange is
 * (`used_challenges`), which makes the code single-use.
 */
export async function makePairingCode(
  keyring: Keyring,
  runtime: Runtime,
  pairing: Pairing,
): Promise<string> {
  const text = JSON.stringify({ pairing, expiresAt: runtime.now() + CODE_LIFETIME });
  return toBase64Url(await keyring.encrypt('pairing-code', new Uint8Array(), runtime.random, text));
}

/**
 * Finds the session in which a member confirmed a pairing, by its code, in one round trip; none for
 * a text that is no code.
 * @returns the pairing, its member's account and role, `use` for the statement that stores that the
 *   code was used, and a ledger that writes by the authority of the session: the code ends with it,
 *   and so with the member. Null for a code that this service did not make, or has expired, or
 *   whose session has ended or moved to another shard. Whether the code was used before is not
 *   known yet.
 */
export async function openPairing(c: RequestContext, code: string) {
  const { config, runtime, cost } = c.var;
  const encrypted = code.length > MAX_CODE_LENGTH ? null : fromBase64Url(code);
  const text =
    encrypted && (await config.keyring.decrypt('pairing-code', new Uint8Array(), encrypted));
  if (!text) return null;
  const { pairing, expiresAt }: Content = JSON.parse(text);
  const database = expiresAt > runtime.now() ? openShard(c.env, pairing.shard, cost) : null;
  if (!database) return null;
  const [[found]] = await database.load([selectSession(database, pairing)]);
  if (!found) return null;
  const { account, member } = pairing;
  const { hash, role, accountId } = found;
  const session = {
    kind: 'session',
    account,
    hash,
    token: null,
    member: { id: member, role },
  } as const;
  const challenge = new Uint8Array(await crypto.subtle.digest('SHA-256', encrypted));
  return {
    pairing,
    accountId,
    role,
    ledger: new Ledger(database, { ...session, now: runtime.now }),
    use: (write: Pick<InternalWriter, 'insert'>) =>
      write.insert(usedChallenges).values({ account, challenge, expiresAt }),
  };
}

function selectSession(reader: Reader, { account, member, session }: Pairing) {
  return reader
    .select({
      hash: sessions.hash,
      role: members.role,
      accountId: aliased(accounts.id, 'account_id'),
    })
    .from(sessions)
    .innerJoin(accounts, eq(accounts.number, sessions.account))
    .innerJoin(members, and(eq(members.account, sessions.account), eq(members.id, sessions.member)))
    .where(
      and(eq(sessions.account, account), eq(sessions.id, session), eq(sessions.member, member)),
    );
}
