import { type MemberRow, requireMember } from '../../accounts/members/member';
import { removeMember } from '../../accounts/members/remove';
import { MemberUpdate, updateMember } from '../../accounts/members/update';
import { invalidRequest } from '../../errors';
import { formatTime } from '../../lib/time';
import {
  readForm,
  refusalOf,
  requireUnchanged,
  requireUnchangedToActivate,
  type SentForm,
  validate,
} from '../frame/form';
import { DECIDING_ROLES } from '../policies/deciders';
import { type PreloadedContext, requireScopes } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { sendMember } from './member';
import type { RefusedMemberForm } from './member-forms';
import { type preloadReviewer, type ReviewingForm, replacementOf } from './reviewing';

type MemberContext = PreloadedContext<typeof preloadReviewer>;

/**
 * Changes the name and the role of a member. Fields with the stored value do not count as changed.
 * A form that was loaded earlier does not restore a role that was taken away meanwhile. With a role
 * that may not decide, somebody else may become reviewer in the member's place.
 */
export async function changeMember(c: MemberContext): Promise<Response> {
  return changeAs(c, 'change', async (member, form) => {
    const name = form.text('name').trim();
    const role = form.text('role');
    const fields = {
      ...(name !== (member.name ?? '') && { name }),
      ...(form.has('role') && role !== member.role && { role }),
    };
    if (Object.keys(fields).length === 0) return;
    const present = { name: member.name ?? '', role: member.role };
    requireUnchanged('member', form, formatTime(member.updatedAt), present, fields);
    const update = validate(MemberUpdate(), fields);
    const stops =
      DECIDING_ROLES.includes(member.role) && !DECIDING_ROLES.includes(update.role ?? member.role);
    const further = stops ? replacement(c, form, 'change') : null;
    await updateMember(c.var.signedIn.context, { member, ...update, further });
  });
}

/** Suspends a member, or makes a suspended one active again: the latter not from an old page. */
export async function changeStatus(c: MemberContext): Promise<Response> {
  return changeAs(c, 'status', async (member, form) => {
    const { status } = validate(MemberUpdate(), { status: form.text('status') });
    if (status === 'active')
      requireUnchangedToActivate('member', form, formatTime(member.updatedAt));
    const further = status === 'suspended' ? replacement(c, form, 'status') : null;
    await updateMember(c.var.signedIn.context, { member, status, further });
  });
}

/** Removes a member whose name or e-mail the form repeats. */
export async function remove(c: MemberContext): Promise<Response> {
  return changeAs(c, 'removal', async (member, form) => {
    const confirmation = fold(form.text('confirm'));
    const names = [member.name, member.email, member.id].flatMap((name) =>
      name === null ? [] : fold(name),
    );
    if (!names.includes(confirmation)) {
      throw invalidRequest([
        { path: 'body.confirm', message: 'is neither the name nor the e-mail of this member' },
      ]);
    }
    const further = replacement(c, form, 'removal');
    await removeMember(c.var.signedIn.context, { member, further });
  });
}

/**
 * The change of the policies that name the member in the path, if the form says who reviews
 * instead.
 * @throws Problem `insufficient_scope` for a caller who may not change policies
 */
function replacement(c: MemberContext, form: SentForm, of: ReviewingForm) {
  const { context } = c.var.signedIn;
  const { member, named = [] } = c.var.loaded;
  const further = replacementOf(context, form, { member: requireMember(member), named, of });
  if (further) requireScopes(context.principal, 'policies:write');
  return further;
}

function fold(text: string): string {
  return text.trim().toLowerCase();
}

/**
 * Does what a form of a member's page says, and shows the member again; if it is refused, with the
 * reason at the form.
 */
async function changeAs(
  c: MemberContext,
  name: RefusedMemberForm['form'],
  change: (member: MemberRow, form: SentForm) => Promise<void>,
): Promise<Response> {
  const member = requireMember(c.var.loaded.member);
  const form = await readForm(c);
  try {
    await change(member, form);
  } catch (error) {
    const refused = { form: name, refusal: refusalOf(error, form) };
    return sendMember(c, await c.var.reload(), refused);
  }
  return redirectWithFlash(c, `/console/members/${member.id}`, 'saved');
}
