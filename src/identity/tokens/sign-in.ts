import { Problem } from '../../errors';
import { actorOf, makeActivityRecord } from '../../http/activity';
import type { RequestContext } from '../../http/context';
import { limitCredential } from '../../http/rate-limit';
import { CredentialEnded } from '../../ledger/authority';
import { Ledger } from '../../ledger/ledger';
import { parseCredential } from '../../lib/credential';
import { authenticate, isOperatorToken } from '../authentication';
import { failAuthentication } from '../credentials';
import { makeSession } from '../sessions/begin';

const REFUSED = 'This is no valid user token: it may be mistyped, deleted or expired.';

/**
 * Signs in with a user token: stores a session that belongs to it, by the authority of the token.
 * So there is no session of a token that ends at the same time.
 * @returns the secret of the session's cookie
 * @throws Problem `unauthorized` for a token that is unknown, expired or malformed;
 *   `wrong_credential` for another kind of credential; `account_inactive`, also for a suspended
 *   member; `unavailable` while the account moves
 */
export async function signInWithToken(c: RequestContext, token: string): Promise<string> {
  await refuseOtherKinds(c, token);
  if (!parseCredential(token, 'user')) return failAuthentication(c, REFUSED);
  await limitCredential(c, token);
  const { principal, reference, database } = await authenticate(c, token).catch(explainRefusal);
  if (principal.kind !== 'user' || principal.token === null) return failAuthentication(c, REFUSED);
  const account = principal.account.number;
  const session = await makeSession(c, principal.shard, { account, token: principal.token });
  const now = c.var.runtime.now();
  const activity = {
    actor: actorOf(principal),
    action: 'session.created' as const,
    target: session.id,
    changes: [],
  };
  await new Ledger(database, { ...reference, now: () => now })
    .change({
      record: makeActivityRecord(c.var, { account, ...activity }),
      changes: (write) => [session.store(write)],
      answer: null,
    })
    .catch((error: unknown) => {
      if (error instanceof CredentialEnded) return failAuthentication(c, REFUSED);
      throw error;
    });
  return session.secret;
}

/**
 * Tells somebody who typed another credential of theirs what it is. Asks no database, so it says
 * nothing about others.
 */
async function refuseOtherKinds(c: RequestContext, token: string): Promise<void> {
  if (parseCredential(token, 'agent')) {
    throw new Problem(
      'wrong_credential',
      'This is the key of an agent, not a user token. Agents cannot sign in.',
    );
  }
  if (await isOperatorToken(c, token)) {
    throw new Problem(
      'wrong_credential',
      'This is the token of the operator, not a user token. It belongs to no account, so it opens no console.',
    );
  }
}

function explainRefusal(error: unknown): never {
  if (error instanceof Problem && error.code === 'unauthorized')
    throw new Problem('unauthorized', REFUSED);
  throw error;
}
