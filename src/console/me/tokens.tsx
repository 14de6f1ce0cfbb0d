import { deleteUserToken } from '../../accounts/tokens/delete';
import type { UserToken } from '../../accounts/tokens/user-token';
import type { UserPrincipal } from '../../http/context';
import { pathId } from '../../http/path-id';
import { usePage } from '../frame/page-context';
import { LinkButton, Section } from '../parts/blocks';
import { Action } from '../parts/form';
import { Badge, Time, TimeSince, Written } from '../parts/inline';
import { type ConsoleContext, requireScopes } from '../session/access';

/** The user tokens of the member, or of the account for a session of one of its tokens. */
export function Tokens({ tokens, principal }: { tokens: readonly UserToken[]; principal: UserPrincipal }) {
  const { now } = usePage();
  const isPerson = principal.token === null;
  const mayDelete = isPerson || principal.scopes.includes('account:write');
  return (
    <Section name="tokens" title="User tokens">
      <p class="soft">
        {principal.member
          ? 'With a user token a program, or you at a terminal, call the API as you, within your role.'
          : 'With one of these tokens of the account a program calls the API as none of the members.'}
      </p>
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
                  {token.last_used_at === null ? 'never used' : ['used ', <TimeSince at={token.last_used_at} />]},{' '}
                  {token.expires_at === null ? 'never expires' : ['until ', <Time at={token.expires_at} />]}
                </small>
              </span>
              {mayDelete && <Action action={`/console/me/tokens/${token.id}/delete`} label="Delete" />}
            </li>
          ))}
        </ul>
      )}
      {isPerson && (
        <p class="actions">
          <LinkButton href="/console/me/tokens/new" label="Make a user token" kind="quiet" />
        </p>
      )}
    </Section>
  );
}

/** Deletes one of the caller's user tokens. */
export async function deleteOwnToken(c: ConsoleContext): Promise<Response> {
  const { principal } = c.var.signedIn.context;
  if (principal.token !== null) requireScopes(principal, 'account:write');
  const id = pathId(c, 'utok', 'user token');
  await deleteUserToken(c.var.signedIn.context, { id });
  return c.redirect('/console/me', 303);
}
