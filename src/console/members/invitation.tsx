import type { Invitation } from '../../accounts/members/invitation';
import { inviteMember, MemberInvitation } from '../../accounts/members/invite';
import { type Member, requireMember } from '../../accounts/members/member';
import { grantableRoles } from '../../accounts/members/rank';
import { renewInvitation } from '../../accounts/members/renew-invitation';
import { type Refusal, readForm, refusalOf, validate } from '../frame/form';
import { type PageRequest, sendPage } from '../frame/page';
import { LinkButton } from '../parts/blocks';
import { TextField } from '../parts/fields';
import { Form, Submit } from '../parts/form';
import { Time, Written } from '../parts/inline';
import { AfterSecret, Secret } from '../parts/secret';
import { SignInAgain } from '../parts/sign-in-again';
import type { ConsoleContext, PreloadedContext } from '../session/access';
import { sendMember } from './member';
import type { preloadReviewer } from './reviewing';
import { RoleChoice } from './roles';
import { memberName } from './words';

type MemberContext = PreloadedContext<typeof preloadReviewer>;

/** Shows the form that invites a person. */
export async function showInvite(c: ConsoleContext): Promise<Response> {
  return sendInvite(c);
}

/** Invites a person, and shows the address of the invitation. */
export async function invite(c: ConsoleContext): Promise<Response> {
  const form = await readForm(c);
  const name = form.text('name').trim();
  const role = form.text('role') || undefined;
  try {
    const input = validate(MemberInvitation(), {
      email: form.text('email'),
      role,
      ...(name !== '' && { name }),
    });
    const { invitation, ...member } = await c.var.once((context) => inviteMember(context, input));
    return sendInvitation(c, member, invitation);
  } catch (error) {
    return sendInvite(c, refusalOf(error, form));
  }
}

/** Makes a new invitation for the member in the path, and shows its address. */
export async function inviteAgain(c: MemberContext): Promise<Response> {
  const member = requireMember(c.var.loaded.member);
  try {
    return sendInvitation(c, member, await renewInvitation(c.var.signedIn.context, { member }));
  } catch (error) {
    return sendMember(c, await c.var.reload(), { form: 'invitation', refusal: refusalOf(error) });
  }
}

function sendInvite(c: ConsoleContext, refusal?: Refusal): Response {
  const children = (
    <>
      <SignInAgain page="/console/members/new" purpose="To invite somebody" />
      <Form action="/console/members" class="card" refusal={refusal} creates>
        <TextField
          label="E-mail"
          name="email"
          type="email"
          autocomplete="off"
          maxlength={254}
          required
        />
        <TextField
          label="Name"
          name="name"
          autocomplete="off"
          maxlength={255}
          hint="Optional. The log and the other members see it."
        />
        <RoleChoice roles={grantableRoles(c.var.signedIn.context.principal)} />
        <Submit label="Make the invitation" cancel="/console/members" />
        <p class="hint">
          You then get an address to send to the person. Countersign sends no e-mail.
        </p>
      </Form>
    </>
  );
  return sendPage(c, {
    title: 'Invite a member',
    isNarrow: true,
    status: refusal?.status,
    children,
  });
}

function sendInvitation(
  c: PageRequest,
  member: Pick<Member, 'id' | 'name' | 'email' | 'role'>,
  { url, expires_at }: Invitation,
): Response {
  const children = (
    <>
      <Secret
        title="The address of the invitation"
        text={url}
        purpose={
          <>
            Send it to <Written text={memberName(member)} />, for example by e-mail: Countersign
            does not send it. Anybody who has it can join as {member.role}.
          </>
        }
      >
        <p>
          It works once, until <Time at={expires_at} />. If it gets lost, make a new one on the page
          of the member.
        </p>
      </Secret>
      <AfterSecret next={`/console/members/${member.id}`}>
        <LinkButton href="/console/members/new" label="Invite another" kind="quiet" />
      </AfterSecret>
    </>
  );
  return sendPage(c, { title: 'The invitation', isNarrow: true, children });
}
