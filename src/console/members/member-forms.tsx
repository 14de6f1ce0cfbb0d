import { grantableRoles, hasRankOver, type Member } from '../../accounts/members/member';
import type { UserPrincipal } from '../../http/context';
import { type Refusal, type RefusedForm, refusalAt, ShownState } from '../frame/form';
import { Section } from '../parts/blocks';
import { Form, Submit, TextField } from '../parts/form';
import { Written } from '../parts/inline';
import { RoleChoice } from './roles';
import { memberName } from './words';

/** A form of a member's page that was refused. */
export type RefusedMemberForm = RefusedForm<'change' | 'status' | 'removal' | 'invitation'>;

/**
 * The forms that the page of a member shows to a caller. People can neither suspend nor remove themselves there, so that
 * nobody does it by mistake.
 */
export function shownForms(member: Member, principal: UserPrincipal): RefusedMemberForm['form'][] {
  const { id, role, status } = member;
  const mayChange = principal.scopes.includes('account:write') && hasRankOver(principal, role);
  if (!mayChange || status === 'removed') return [];
  if (id === principal.member?.id) return ['change'];
  return ['change', status === 'invited' ? 'invitation' : 'status', 'removal'];
}

interface MemberFormsProps {
  member: Member;
  principal: UserPrincipal;
  /** Which forms are shown. */
  shown: RefusedMemberForm['form'][];
  refused: RefusedMemberForm | undefined;
}

/** The forms that change a member. */
export function MemberForms({ member, principal, shown, refused }: MemberFormsProps) {
  const { id } = member;
  const path = `/console/members/${id}`;
  return (
    <>
      {shown.includes('invitation') && (
        <Section name="invitation" title="Invitation">
          <p>This person has not joined yet. If the address got lost, make a new one: the old one ends.</p>
          <Form action={`${path}/invitation`} refusal={refusalAt(refused, 'invitation')}>
            <Submit label="Make a new invitation" />
          </Form>
        </Section>
      )}
      <Section name="change" title="Name and role">
        <Form action={path} refusal={refusalAt(refused, 'change')}>
          <ShownState updatedAt={member.updated_at} />
          <TextField label="Name" name="name" value={member.name ?? ''} autocomplete="off" maxlength={255} />
          <RoleChoice roles={grantableRoles(principal)} value={member.role} />
          <Submit label="Save" />
        </Form>
      </Section>
      {shown.includes('status') && <StatusForm member={member} refusal={refusalAt(refused, 'status')} />}
      {shown.includes('removal') && <RemovalForm member={member} refusal={refusalAt(refused, 'removal')} />}
      {id === principal.member?.id && <p class="soft">Another owner or admin can suspend or remove you.</p>}
    </>
  );
}

interface MemberFormProps {
  member: Member;
  refusal: Refusal | undefined;
}

function StatusForm({ member, refusal }: MemberFormProps) {
  const isSuspended = member.status === 'suspended';
  return (
    <Section name="status" title={isSuspended ? 'Suspended' : 'Suspend'}>
      <p>
        {isSuspended
          ? 'They have no access. Once active again, they sign in as before. Their old user tokens stay deleted.'
          : 'Takes away their access until somebody gives it back. Their sessions and user tokens end at once, for good.'}
      </p>
      <Form action={`/console/members/${member.id}/status`} refusal={refusal}>
        <ShownState updatedAt={member.updated_at} />
        <input type="hidden" name="status" value={isSuspended ? 'active' : 'suspended'} />
        <Submit label={isSuspended ? 'Activate' : 'Suspend'} kind={isSuspended ? undefined : 'danger'} />
      </Form>
    </Section>
  );
}

function RemovalForm({ member, refusal }: MemberFormProps) {
  return (
    <section class="card">
      <details open={refusal !== undefined}>
        <summary>Remove from the account</summary>
        <div class="folded">
          {' '}
          <p>
            This is for good. Their sessions, user tokens, passkeys and any open invitation end at once. What they
            decided stands, and the log still names them.
          </p>
          <Form action={`/console/members/${member.id}/remove`} refusal={refusal}>
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
