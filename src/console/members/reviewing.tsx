import { type MemberRow, preloadMember } from '../../accounts/members/member';
import { invalidRequest } from '../../errors';
import type { Reader, RequestContext, UserContext } from '../../http/context';
import type { CallerSql } from '../../identity/credentials';

import { parseId } from '../../lib/typeid';
import { listShortWithout, type ShortPolicy } from '../../policies/list-short';
import type { PolicyRow } from '../../policies/policy';
import { replaceReviewer, selectPoliciesNaming } from '../../policies/replace-reviewer';
import type { SentForm } from '../frame/form';
import { PlainList } from '../parts/blocks';
import { type Options, SelectField } from '../parts/fields';
import { toOneLine, WrittenLink } from '../parts/inline';
import { loadDeciders } from '../policies/deciders';
import { reviewersText } from '../policies/short';
import { memberName } from './words';

/** Preloads the member in the path, and the policies that name the member as a reviewer. */
export async function preloadReviewer(c: RequestContext, reader: Reader, caller: CallerSql) {
  const id = parseId('member', c.req.param('id') ?? '');
  return {
    ...(await preloadMember(c, reader, caller)),
    named: id && selectPoliciesNaming(reader, caller.account, id),
  };
}

/** The duties of a member as a reviewer. */
export interface Reviewing {
  /** The policies that name the member. */
  named: readonly PolicyRow[];
  /** The policies that have too few reviewers without the member. */
  short: readonly ShortPolicy[];
  /** Who can be named instead. */
  others: Options;
}

/** Loads what a member does as a reviewer; null for a caller who may not read policies. */
export async function loadReviewing(
  context: UserContext,
  { member, named }: { member: MemberRow; named: readonly PolicyRow[] },
): Promise<Reviewing | null> {
  const { scopes } = context.principal;
  if (!scopes.includes('policies:read')) return null;
  const mayReplace = named.length > 0 && scopes.includes('policies:write');
  const [short, deciders] = await Promise.all([
    listShortWithout(context, { member: member.id }),
    mayReplace ? loadDeciders(context) : null,
  ]);
  const others = (deciders ?? [])
    .filter(({ id }) => id !== member.id)
    .map((other) => {
      const name = toOneLine(memberName(other));
      return [other.id, other.status === 'invited' ? `${name} (invited)` : name] as const;
    });
  return { named, short, others };
}

/** The forms of a member's page that can take a reviewer away. */
export type ReviewingForm = 'change' | 'status' | 'removal';

/** The name of the field in which a form asks who reviews instead. */
const fieldOf = (form: ReviewingForm) => `${form}_replacement`;

/**
 * Says which policies have too few reviewers without the member, and asks who reviews instead;
 * nothing for a member whom no policy needs.
 */
export function ReviewingFields({
  reviewing: { named, short, others },
  form,
}: {
  reviewing: Reviewing;
  form: ReviewingForm;
}) {
  const shortIds = short.map(({ id }) => id);
  const whole = named.filter(({ id }) => !shortIds.includes(id));
  return (
    <>
      {short.length > 0 && (
        <div class="notice bad">
          <p>Without this member, too few reviewers are left in:</p>
          <PlainList items={short.map((policy) => [link(policy), ': ', reviewersText(policy)])} />
        </div>
      )}
      {whole.length > 0 && (
        <>
          <p>Policies that name this member as a reviewer:</p>
          <PlainList items={whole.map(link)} />
        </>
      )}
      {others.length > 0 && (
        <SelectField
          label="Who reviews instead"
          name={fieldOf(form)}
          path="replacement"
          options={[['', 'Nobody'], ...others]}
          hint="For later requests, this person replaces the member in every policy that names the member."
        />
      )}
    </>
  );
}

function link({ id, name }: { id: string; name: string }) {
  return <WrittenLink href={`/console/policies/${id}`} text={name} />;
}

/**
 * The change that names the member of the form in place of a reviewer who goes, or may not decide
 * any more; null if the form names nobody.
 * @throws Problem `invalid_request` for somebody who cannot be named
 */
export function replacementOf(
  context: UserContext,
  form: SentForm,
  { member, named, of }: { member: MemberRow; named: readonly PolicyRow[]; of: ReviewingForm },
): ReturnType<typeof replaceReviewer> | null {
  const text = form.text(fieldOf(of));
  if (text === '') return null;
  const replacement = parseId('member', text);
  if (!replacement || replacement === member.id) {
    throw invalidRequest([{ path: 'body.replacement', message: 'must be another member' }]);
  }
  return replaceReviewer(context, { named, reviewer: member.id, replacement });
}
