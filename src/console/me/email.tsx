import { Hono } from 'hono';
import { getOwnAccount, type OwnAccount } from '../../accounts/me/get';
import { confirmEmail } from '../../accounts/members/confirm-email';
import { Problem } from '../../errors';
import type { AppEnv, MemberRef } from '../../http/context';
import { noQuery, query } from '../../http/input';
import { requirePerson } from '../../identity/sessions/require-person';
import {
  type AddressOwner,
  ConfirmationQuery,
  isConfirmationAddress,
} from '../../receivers/channels/email/confirmation-address';
import { sendConfirmation } from '../../receivers/channels/email/send-confirmation';
import { SendLimits } from '../../receivers/channels/send-limits';
import { sendPage } from '../frame/page';
import { Facts } from '../parts/blocks';
import { Action, Form } from '../parts/form';
import { Written } from '../parts/inline';
import { type ConsoleContext, consoleAccess } from '../session/access';
import { redirectWithFlash } from '../session/flash';

const PATH = '/console/me/email';
const SEND_PATH = `${PATH}/confirmation`;

/**
 * Sends the mail with which a member confirms their e-mail address, and the page to which its link
 * leads.
 */
export const emailRoutes = new Hono<AppEnv>()
  .post(SEND_PATH, noQuery(), consoleAccess('account:read'), send)
  .get(PATH, query(ConfirmationQuery), consoleAccess('account:read'), showConfirmation)
  .post(PATH, query(ConfirmationQuery), consoleAccess('account:read'), confirm);

interface UnprovenProps {
  me: OwnAccount;
  /** Whether somebody signed in as a person, who may confirm the address. */
  isPerson: boolean;
  canSendMail: boolean;
}

/**
 * Tells a member whose e-mail address is not proven that no mail reaches them, and how to change
 * that.
 */
export function UnprovenEmail({ me: { member }, isPerson, canSendMail }: UnprovenProps) {
  if (!member || member.email === null || member.email_proven) return null;
  return (
    <section class="notice waiting" aria-label="Your e-mail address">
      {canSendMail ? (
        <p>You get no mail until you confirm that your e-mail address is yours.</p>
      ) : (
        <p>You get no mail: this service has none set up.</p>
      )}
      {isPerson && canSendMail && <Action action={SEND_PATH} label="Send the confirmation mail" />}
      {canSendMail && !isPerson && (
        <p>To confirm it, sign in with a passkey or at your identity provider.</p>
      )}
    </section>
  );
}

/**
 * The member who is signed in, and their address.
 * @throws Problem `person_required` for a session of a user token; `conflict` for a member without
 *   an address
 */
async function readOwner(
  c: ConsoleContext,
): Promise<{ member: MemberRef; owner: AddressOwner; isProven: boolean }> {
  const { signedIn } = c.var;
  const member = requirePerson(signedIn.context.principal);
  const { principal } = signedIn.context;
  const me = await getOwnAccount(signedIn.context);
  const email = me.member?.email ?? null;
  if (email === null) throw new Problem('conflict', 'You have no e-mail address here.');
  const owner = { account: principal.account.id, member: member.id, email };
  return { member, owner, isProven: me.member?.email_proven === true };
}

async function send(c: ConsoleContext): Promise<Response> {
  const { config, runtime, cost } = c.var;
  const { owner, isProven } = await readOwner(c);
  if (isProven) return c.redirect('/console/me', 303);
  const limits = new SendLimits({ env: c.env, cost, keyring: config.keyring, runtime });
  await sendConfirmation({ config, runtime, limits }, owner);
  const children = (
    <>
      <p>
        A mail is on its way to <Written text={owner.email} />. Open its link in this browser within
        24 hours, and confirm there.
      </p>
      <p class="hint">It may take some minutes. Look for it in spam, too.</p>
    </>
  );
  return sendPage(c, { title: 'Look into your mail', isNarrow: true, children });
}

/**
 * Reads whose address the link is to confirm.
 * @throws Problem `invalid_signature` for a link that was changed, has expired, or is for another
 *   member or address
 */
async function readConfirmation(c: ConsoleContext) {
  const { config, runtime } = c.var;
  const found = await readOwner(c);
  const fields = ConfirmationQuery().parse(c.req.query());
  if (await isConfirmationAddress(config, runtime, fields, found.owner)) return found;
  throw new Problem(
    'invalid_signature',
    'This link has expired, was changed, or was sent for another member than the one who is signed in. Sign in as the ' +
      'member who asked for the mail, or send another one from your own page.',
  );
}

async function showConfirmation(c: ConsoleContext): Promise<Response> {
  const { owner, isProven } = await readConfirmation(c);
  const { signedIn } = c.var;
  const { pathname, search } = new URL(c.req.url);
  const children = (
    <>
      <section class="card" aria-label="What you confirm">
        <Facts
          facts={[
            ['E-mail', <Written text={owner.email} />],
            ['Member', <bdi>{signedIn.names.caller}</bdi>],
            ['Account', <bdi>{signedIn.names.account}</bdi>],
          ]}
        />
      </section>
      {isProven ? (
        <p>This address is confirmed.</p>
      ) : (
        <Form action={pathname + search}>
          <div class="actions">
            <button type="submit">Confirm</button>
          </div>
        </Form>
      )}
    </>
  );
  return sendPage(c, { title: 'Is this your e-mail address?', isNarrow: true, children });
}

/**
 * Records that the member confirmed the address.
 * @throws Problem as {@link readConfirmation}; `conflict` if the address was changed meanwhile
 */
async function confirm(c: ConsoleContext): Promise<Response> {
  const { member, owner, isProven } = await readConfirmation(c);
  if (!isProven) await confirmEmail(c.var.signedIn.context, { member, email: owner.email });
  return redirectWithFlash(c, '/console/me', 'saved');
}
