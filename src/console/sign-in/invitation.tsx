import { Hono } from 'hono';
import {
  findInvitation,
  InvitationAcceptance,
  joinWithPasskey,
  purposeOfJoining,
  requireInvitation,
} from '../../accounts/members/accept-invitation';
import type { OidcConfig } from '../../env';
import type { AppEnv } from '../../http/context';
import { body, noQuery } from '../../http/input';
import { limitNetwork } from '../../http/rate-limit';
import { activeAccount } from '../../identity/credentials';
import { providerName } from '../../identity/oidc/provider';
import { creationOptions } from '../../identity/passkeys/registration';
import type { MemberRole } from '../../identity/roles';
import { formatTime } from '../../lib/time';
import { sendPage } from '../frame/page';
import { AbilityList, ROLE_SUMMARIES } from '../members/roles';
import { TextField } from '../parts/fields';
import { NeedsScript } from '../parts/form';
import { deviceName, Time, toOneLine, Written } from '../parts/inline';
import { setFlash } from '../session/flash';
import { setSessionCookie } from '../session/session';
import { OidcButton } from './oidc/button';
import { redirectToOwnHost } from './sign-in';

/** The id of the form that sends the person to the identity provider, with the name. */
const PROVIDER_FORM = 'join-with-provider';

function JoinWithProvider({
  oidc,
  email,
  action,
}: {
  oidc: OidcConfig | null;
  email: string | null;
  action: string;
}) {
  if (!oidc?.client) return null;
  return (
    <>
      <p>
        Or join with {providerName(oidc)}. Sign in there as <strong>{email}</strong>.
      </p>
      {/* The first button is the one that Enter presses: in the name, Enter must not send it. */}
      <button type="submit" form={PROVIDER_FORM} disabled hidden>
        Nothing
      </button>
      <OidcButton oidc={oidc} action={action} verb="Join" id={PROVIDER_FORM} />
      <p class="hint">
        If you have an account of your own with {providerName(oidc)}, you leave it. That is possible
        only while it has no agents and no other members.
      </p>
    </>
  );
}

/** Says what Countersign is for, and what the person who joins may do. */
function Purpose({ role }: { role: MemberRole }) {
  return (
    <>
      <p>
        With Countersign, AI agents ask before they act. A person or a policy approves or denies
        each request, and a log keeps who decided what.
      </p>
      <p>
        Your role is <strong>{role}</strong>. {ROLE_SUMMARIES[role]}
      </p>
      <details>
        <summary>What the role may do</summary>
        <AbilityList role={role} />
      </details>
    </>
  );
}

const PATH = '/console/invitations/:secret';

export const invitationRoutes = new Hono<AppEnv>()
  .get(PATH, async (c) => {
    const elsewhere = redirectToOwnHost(c);
    if (elsewhere) return elsewhere;
    const found = await findInvitation(c, c.req.param('secret'));
    if (!found) {
      await limitNetwork(c);
      const children = (
        <>
          <p>
            It was used already, has been replaced, or has expired. Ask an owner or admin of the
            account for a new one.
          </p>
          <p>
            If you have joined already, <a href="/console/sign-in">sign in</a>.
          </p>
        </>
      );
      return sendPage(c, {
        title: 'This invitation is over',
        isNarrow: true,
        status: 404,
        children,
      });
    }
    const { row } = found;
    activeAccount(row);
    const action = c.req.path;
    const account = row.accountName ?? row.accountEmail;
    const children = (
      <>
        <Purpose role={row.role} />
        <dl>
          <dt>Invited</dt>
          <dd>
            <Written text={row.email ?? row.id} />
          </dd>
          <dt>Valid until</dt>
          <dd>
            <Time at={formatTime(row.expiresAt ?? 0)} />
          </dd>
        </dl>
        <TextField
          label="Your name"
          name="member_name"
          value={row.name ?? ''}
          maxlength={255}
          autocomplete="name"
          form={c.var.config.oidc?.client ? PROVIDER_FORM : undefined}
          hint="The log and the other members see it with what you decide."
        />
        <TextField
          label="Name of the passkey"
          name="name"
          value={deviceName(c.req.header('User-Agent') ?? '')}
          maxlength={100}
          autocomplete="off"
          required
          hint="To join, make a passkey on this device. You then sign in with it, without a password. The name tells it apart from other passkeys."
        />
        <button type="button" data-passkey="make" data-action={action}>
          Make a passkey and join
        </button>
        <NeedsScript />
        <JoinWithProvider oidc={c.var.config.oidc} email={row.email} action={`${action}/oidc`} />
      </>
    );
    return sendPage(c, {
      title: `Join ${toOneLine(account)}`,
      heading: ['Join ', <Written text={account} />],
      isNarrow: true,
      children,
    });
  })
  .post(`${PATH}/options`, noQuery(), async (c) => {
    const invitation = await requireInvitation(c, c.req.param('secret'));
    const { row, shard } = invitation;
    const user = { shard, account: row.accountId, member: row.id, existing: [] };
    const names = { name: row.email ?? row.id, displayName: row.name ?? row.email ?? row.id };
    return c.json(
      await creationOptions(c.var, purposeOfJoining(invitation), { ...user, ...names }),
    );
  })
  .post(PATH, noQuery(), body(InvitationAcceptance), async (c) => {
    const session = await joinWithPasskey(c, c.req.param('secret'), c.req.valid('json'));
    setSessionCookie(c, session);
    setFlash(c, '/console', 'joined');
    return c.json({ location: '/console' }, 201);
  });
