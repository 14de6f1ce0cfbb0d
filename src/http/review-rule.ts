import * as z from 'zod';
import { MemberRoleField } from '../identity/roles';
import { lazy } from '../lib/lazy';
import { countField, idField } from './response-fields';

/** The rule of a review as the API shows it. */
export const ReviewRuleField = lazy(() => {
  const shownPeople = {
    members: z.array(idField('member')).nullable(),
    roles: z.array(MemberRoleField()).nullable(),
  };
  return z
    .object({
      approvals: countField,
      ...shownPeople,
      allow_self: z.boolean(),
      passkey: z.boolean(),
      escalation: z.object({ after: countField, ...shownPeople }).nullable(),
    })
    .meta({
      id: 'ReviewRule',
      description: 'Who reviews a request, and how many have to approve.',
    });
});
