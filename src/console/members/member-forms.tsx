import type { Child } from 'hono/jsx';
import type { MemberDetails } from '../../accounts/members/get';
import type { Member } from '../../accounts/members/member';
import { grantableRoles, hasRankOver } from '../../accounts/members/rank';
import type { UserPrincipal } from '../../http/context';
import { formatTime } from '../../lib/time';
import { type Refusal, type RefusedForm, refusalAt, ShownState } from '../frame/form';
import { usePage } from '../frame/page-context';
import { Facts, PlainList, Section } from '../parts/blocks';
import { TextField } from '../parts/fields';
import { Form, Submit } from '../parts/form';
import { Code, Named, Time, Written } from '../parts/inline';
import { SignInAgain } from '../parts/sign-in-again';
import { DECIDING_ROLES } from '../policies/deciders';
import { type Reviewing, ReviewingFields } from './reviewing';
import { RoleChoice } from './roles';
import { memberName } from './words';

/** A form of a member's page that was refused. */
export type RefusedMemberForm = RefusedForm<'change' | 'status' | 'removal' | 'invitation'>;

/**
 * The forms that the page of a member shows to a caller. People can neither suspend nor remove
 * themselves there, so that nobody does it by mistake.
 */
export function shownForms(
  member: Pick<Member, 'id' | 'role' | 'status'>,
  principal: UserPrincipal,
): RefusedMemberForm['form'][] {
  const { id, role, status } = member;
  const mayChange = principal.scopes.includes('account:write') && hasRankOver(principal, role);
  if (!mayChange || status === 'removed') return [];
  if (id === principal.member?.id) return ['change'];
  return ['change', status === 'invited' ? 'invitation' : 'status', 'removal'];
}

interface MemberFormsProps {
  member: MemberDetails;
  principal: UserPrincipal;
  /** The member's duties as a reviewer; null if they are not known. */
  reviewing: Reviewing | null;
  /** Which forms are shown. */
  shown: RefusedMemberForm['form'][];
  refused: RefusedMemberForm | undefined;
  /** When the last invitation expires or ended; null if there is none, or the member has joined. */
  invitationExpiresAt: number | null;
  /** Whether the last invitation ended before it expired, because of who had made it. */
  isInvitationEnded: boolean;
}

/** The forms that change a member. */
export function MemberForms({
  member,
  principal,
  reviewing,
  shown,
  refused,
  invitationExpiresAt,
  isInvitationEnded,
}: MemberFormsProps) {
  const { id } = member;
  const path = `/console/members/${id}`;
  const isSuspended = member.status === 'suspended';
  const statusForm = shown.includes('status') && (
    <StatusForm member={member} reviewing={reviewing} refusal={refusalAt(refused, 'status')} />
  );
  return (
    <>
      <SignInAgain page={path} purpose="To change a member" />
      {shown.includes('invitation') && (
        <Section name="invitation" title="Invitation">
          <InvitationState expiresAt={invitationExpiresAt} isEnded={isInvitationEnded} />
          <Form action={`${path}/invitation`} refusal={refusalAt(refused, 'invitation')}>
            <Submit label="Make a new invitation" />
          </Form>
        </Section>
      )}
      {isSuspended && statusForm}
      <Section name="change" title="Name and role">
        <Form action={path} refusal={refusalAt(refused, 'change')}>
          <ShownState updatedAt={member.updated_at} />
          <TextField
            label="Name"
            name="name"
            value={member.name ?? ''}
            autocomplete="off"
            maxlength={255}
          />
          <RoleChoice roles={grantableRoles(principal)} value={member.role} />
          {reviewing && DECIDING_ROLES.includes(member.role) && (
            <div class="if-undeciding">
              <ReviewingFields reviewing={reviewing} form="change" />
            </div>
          )}
          <Submit label="Save" />
        </Form>
      </Section>
      {!isSuspended && statusForm}
      {shown.includes('removal') && (
        <RemovalForm
          member={member}
          reviewing={reviewing}
          refusal={refusalAt(refused, 'removal')}
        />
      )}
      {id === principal.member?.id && (
        <p class="soft">Another owner or admin can suspend or remove you.</p>
      )}
    </>
  );
}

function InvitationState({ expiresAt, isEnded }: { expiresAt: number | null; isEnded: boolean }) {
  if (expiresAt === null || expiresAt > usePage().now) {
    return (
      <p>
        This person has not joined yet
        {expiresAt !== null && [', and can join until ', <Time at={formatTime(expiresAt)} />]}. If
        the address got lost, make a new invitation. The old one then no longer works.
      </p>
    );
  }
  return (
    <p>
      The invitation {isEnded ? 'ended' : 'expired'} on <Time at={formatTime(expiresAt)} />, before
      this person joined. Make a new one to let them in.
    </p>
  );
}

interface MemberFormProps {
  member: Member;
  reviewing: Reviewing | null;
  refusal: Refusal | undefined;
}

const SUSPENSION = {
  title: 'Suspend',
  about:
    'Takes away their access until somebody gives it back. Their sessions and user tokens end at once and for good, and so do the open invitations that they made.',
  next: 'suspended',
  button: { label: 'Suspend', kind: 'danger' },
} as const;

const ACTIVATION = {
  title: 'Suspended',
  about:
    'They have no access. Once active again, they sign in as before. Their old user tokens stay deleted.',
  next: 'active',
  button: { label: 'Activate' },
} as const;

function StatusForm({ member, reviewing, refusal }: MemberFormProps) {
  const { title, about, next, button } = member.status === 'suspended' ? ACTIVATION : SUSPENSION;
  return (
    <Section name="status" title={title}>
      <p>{about}</p>
      <Form action={`/console/members/${member.id}/status`} refusal={refusal}>
        <ShownState updatedAt={member.updated_at} />
        <input type="hidden" name="status" value={next} />
        {reviewing && next === 'suspended' && (
          <ReviewingFields reviewing={reviewing} form="status" />
        )}
        <Submit {...button} />
      </Form>
    </Section>
  );
}

/**
 * The things that stay when the member goes, by kind: the words before the list, and the path of
 * each thing's page.
 */
const LEFT = [
  ['webhooks', 'Webhooks', '/console/webhooks'],
  ['channels', 'Channels', '/console/channels'],
  ['connections', 'Connections', '/console/connections'],
  ['policies', 'Policies', '/console/policies'],
] as const;

/** Lists the things of the member that stay, with links, so that somebody looks after them. */
function Left({ leaves }: Pick<MemberDetails, 'leaves'>) {
  const kinds = LEFT.filter(([kind]) => leaves[kind].length > 0);
  if (kinds.length === 0 && leaves.tokens.length === 0) return null;
  return (
    <>
      <p>What they made stays and still works. Look after it, or delete it:</p>
      <Facts
        facts={[
          ...kinds.map(([kind, title, path]): [string, Child] => [
            title,
            <PlainList
              items={leaves[kind].map((id) => (
                <a href={`${path}/${id}`}>
                  <Named id={id} />
                </a>
              ))}
            />,
          ]),
          leaves.tokens.length > 0 && [
            'Tokens of the account',
            <PlainList items={leaves.tokens.map((id) => <Code text={id} />)} />,
          ],
        ]}
      />
    </>
  );
}

interface RemovalFormProps extends MemberFormProps {
  member: MemberDetails;
}

function RemovalForm({ member, reviewing, refusal }: RemovalFormProps) {
  return (
    <section class="card">
      <details open={refusal !== undefined}>
        <summary>Remove from the account</summary>
        <div class="folded">
          <p>
            This is for good. Their sessions, user tokens, passkeys and any open invitation end at
            once, and so do the open invitations that they made. Their decisions stand, and the log
            still names them.
          </p>
          <Left leaves={member.leaves} />
          <Form action={`/console/members/${member.id}/remove`} refusal={refusal}>
            {reviewing && <ReviewingFields reviewing={reviewing} form="removal" />}
            <TextField
              label="To confirm, type their name or e-mail"
              name="confirm"
              hint={<Written text={member.email ?? memberName(member)} />}
              autocomplete="off"
              required
            />
            <Submit label="Remove" kind="danger" />
          </Form>
        </div>
      </details>
    </section>
  );
}
