import { deleteUserToken } from '../../accounts/tokens/delete';
import type { UserToken } from '../../accounts/tokens/user-token';
import { notFound } from '../../errors';
import { parseId } from '../../lib/typeid';
import { Badge } from '../parts/badge';
import { Action } from '../parts/form';
import { Written } from '../parts/text';
import { Time, TimeSince } from '../parts/time';
import type { ConsoleContext } from '../session/access';

/** The member's user tokens. */
export function Tokens({ tokens, now }: { tokens: readonly UserToken[]; now: number }) {
  return (
    <section class="card" aria-labelledby="tokens">
      <h2 id="tokens">User tokens</h2>
      <p class="soft">With a user token a program, or you at a terminal, call the API as you, within your role.</p>
      {tokens.length > 0 && (
        <ul class="lines">
          {tokens.map((token) => (
            <li>
              <span>
                <Written text={token.name ?? 'Without a name'} />{' '}
                {token.expires_at !== null && Date.parse(token.expires_at) <= now && <Badge state="expired" />}
                <small>
                  <code>{token.token_prefix}…</code>{' '}
                  {token.scopes.length === 1 ? '1 scope' : `${token.scopes.length} scopes`},{' '}
                  {token.last_used_at === null ? (
                    'never used'
                  ) : (
                    <>
                      used <TimeSince at={token.last_used_at} now={now} />
                    </>
                  )}
                  ,{' '}
                  {token.expires_at === null ? (
                    'never expires'
                  ) : (
                    <>
                      until <Time at={token.expires_at} />
                    </>
                  )}
                </small>
              </span>
              <Action action={`/console/me/tokens/${token.id}/delete`} label="Delete" />
            </li>
          ))}
        </ul>
      )}
      <p class="actions">
        <a class="button quiet" href="/console/me/tokens/new">
          Make a user token
        </a>
      </p>
    </section>
  );
}

/** Deletes one of the member's user tokens. */
export async function deleteOwnToken(c: ConsoleContext): Promise<Response> {
  const id = parseId('utok', c.req.param('id') ?? '');
  if (!id) throw notFound('user token');
  await deleteUserToken(c.var.signedIn.context, { id });
  return c.redirect('/console/me', 303);
}
