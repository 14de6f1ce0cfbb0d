import { grantableRoles, hasRankOver, type Member } from '../../accounts/members/member';
import type { Refusal, Typed } from '../frame/form';
import { ShownState } from '../frame/shown-state';
import { Form, TextField } from '../parts/form';
import { Written } from '../parts/text';
import type { SignedIn } from '../session/access';
import { RoleChoice } from './roles';
import { memberName } from './words';

/** A form of a member's page that was refused. */
export interface RefusedForm {
  form: 'change' | 'status' | 'removal' | 'invitation';
  refusal: Refusal;
  typed?: Typed;
}

/**
 * The forms that the page of a member shows to a caller. People can neither suspend nor remove themselves there, so that
 * nobody does it by mistake.
 */
export function shownForms(member: Member, principal: SignedIn['context']['principal']): RefusedForm['form'][] {
  const { id, role, status } = member;
  const mayChange = principal.scopes.includes('account:write') && hasRankOver(principal, role);
  if (!mayChange || status === 'removed') return [];
  if (id === principal.member?.id) return ['change'];
  return ['change', status === 'invited' ? 'invitation' : 'status', 'removal'];
}

interface MemberFormsProps {
  member: Member;
  principal: SignedIn['context']['principal'];
  /** Which forms are shown. */
  shown: RefusedForm['form'][];
  refused: RefusedForm | undefined;
}

/** The forms that change a member. */
export function MemberForms({ member, principal, shown, refused }: MemberFormsProps) {
  const { id } = member;
  const path = `/console/members/${id}`;
  const refusalAt = (form: RefusedForm['form']) => (refused?.form === form ? refused.refusal : undefined);
  const change = refusalAt('change');
  const typed = change && refused?.typed;
  return (
    <>
      {shown.includes('invitation') && (
        <section class="card" aria-labelledby="invitation-title">
          <h2 id="invitation-title">Invitation</h2>
          <p>This person has not joined yet. If the address got lost, make a new one: the old one ends.</p>
          <Form action={`${path}/invitation`} refusal={refusalAt('invitation')}>
            <div class="actions">
              <button type="submit">Make a new invitation</button>
            </div>
          </Form>
        </section>
      )}
      <section class="card" aria-labelledby="change-title">
        <h2 id="change-title">Name and role</h2>
        <Form action={path} refusal={change}>
          <ShownState updatedAt={member.updated_at} />
          <TextField
            label="Name"
            name="name"
            value={typed?.name ?? member.name ?? ''}
            autocomplete="off"
            maxlength={255}
            refusal={change}
          />
          <RoleChoice roles={grantableRoles(principal)} value={typed?.role ?? member.role} refusal={change} />
          <div class="actions">
            <button type="submit">Save</button>
          </div>
        </Form>
      </section>
      {shown.includes('status') && <StatusForm path={path} member={member} refusal={refusalAt('status')} />}
      {shown.includes('removal') && (
        <RemovalForm path={path} member={member} refusal={refusalAt('removal')} typed={refused?.typed} />
      )}
      {id === principal.member?.id && <p class="soft">Another owner or admin can suspend or remove you.</p>}
    </>
  );
}

interface StatusFormProps {
  path: string;
  member: Member;
  refusal: Refusal | undefined;
}

function StatusForm({ path, member, refusal }: StatusFormProps) {
  const isSuspended = member.status === 'suspended';
  return (
    <section class="card" aria-labelledby="status-title">
      <h2 id="status-title">{isSuspended ? 'Suspended' : 'Suspend'}</h2>
      <p>
        {isSuspended
          ? 'They have no access. Once active again, they sign in as before. Their old user tokens stay deleted.'
          : 'Takes away their access until somebody gives it back. Their sessions and user tokens end at once, for good.'}
      </p>
      <Form action={`${path}/status`} refusal={refusal}>
        <ShownState updatedAt={member.updated_at} />
        <input type="hidden" name="status" value={isSuspended ? 'active' : 'suspended'} />
        <div class="actions">
          <button type="submit" class={isSuspended ? undefined : 'danger'}>
            {isSuspended ? 'Activate' : 'Suspend'}
          </button>
        </div>
      </Form>
    </section>
  );
}

interface RemovalFormProps {
  path: string;
  member: Member;
  refusal: Refusal | undefined;
  typed: Typed | undefined;
}

function RemovalForm({ path, member, refusal, typed }: RemovalFormProps) {
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
          <Form action={`${path}/remove`} refusal={refusal}>
            <TextField
              label="To confirm, type their name or e-mail"
              name="confirm"
              hint={<Written text={member.email ?? memberName(member)} />}
              value={refusal && typed?.confirm}
              autocomplete="off"
              refusal={refusal}
              required
            />
            <div class="actions">
              <button type="submit" class="danger">
                Remove
              </button>
            </div>
          </Form>
        </div>
      </details>
    </section>
  );
}
