import { Hono } from 'hono';
import { getOwnAccount } from '../../accounts/me/get';
import { notFound } from '../../errors';
import type { AppEnv } from '../../http/context';
import { body, noQuery } from '../../http/input';
import { addPasskey, PasskeyCreation, purposeOfAdding } from '../../identity/passkeys/add';
import { selectPasskeys } from '../../identity/passkeys/passkey';
import { creationOptions } from '../../identity/passkeys/registration';
import { removePasskey } from '../../identity/passkeys/remove';
import { requirePerson } from '../../identity/sessions/require-person';
import { fromBase64Url, toBase64Url } from '../../lib/bytes';
import { consoleAccess, type SignedIn } from '../session/access';

/**
 * Returns the options with which the browser makes a further passkey for the member who is signed
 * in. They exclude the passkeys that the member has: an authenticator whose passkey was removed can
 * make a new one.
 * @throws Problem as {@link requirePerson}
 */
async function getPasskeyOptions({ context }: SignedIn) {
  const { principal, reader } = context;
  const member = requirePerson(principal);
  const [me, [rows]] = await Promise.all([
    getOwnAccount(context),
    reader.load([selectPasskeys(reader, principal.account.number, member.id)]),
  ]);
  const name = me.member?.email ?? member.id;
  const existing = rows.filter(({ removedAt }) => removedAt === null).map(({ id }) => id);
  const user = {
    ...{ shard: principal.shard, account: principal.account.id, member: member.id },
    ...{ name, displayName: me.member?.name ?? name, existing },
  };
  return creationOptions(context, purposeOfAdding(member), user);
}

const PATH = '/console/me/passkeys';

const RECENT = { needsRecentSignIn: true };

/** The addresses that the page's script uses: only a script can make a passkey. */
export const passkeyRoutes = new Hono<AppEnv>()
  .post(`${PATH}/options`, consoleAccess(null, undefined, RECENT), noQuery(), async (c) =>
    c.json(await getPasskeyOptions(c.var.signedIn)),
  )
  .post(PATH, consoleAccess(null, undefined, RECENT), noQuery(), body(PasskeyCreation), async (c) =>
    c.json(await addPasskey(c.var.signedIn.context, c.req.valid('json')), 201),
  )
  .delete(`${PATH}/:id`, consoleAccess(null, undefined, RECENT), noQuery(), async (c) => {
    const id = fromBase64Url(c.req.param('id'));
    if (!id || toBase64Url(id) !== c.req.param('id')) throw notFound('passkey');
    await removePasskey(c.var.signedIn.context, { id });
    return c.body(null, 204);
  });
