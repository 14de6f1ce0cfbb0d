import * as z from 'zod';
import type { ReviewRule } from '../../db/schema';
import { idText, listOf, wholeNumber } from '../../http/fields';
import { MemberRoleField } from '../../identity/roles';
import { lazy } from '../../lib/lazy';
import { MAX_DURATION_SECONDS } from '../permission-fields';

/** Maximum number of approvals that a review can demand. */
export const MAX_APPROVALS = 5;

const MAX_NAMED = 100;

const exampleReview = { approvals: 2, roles: ['approver' as const] };

const people = lazy(() => ({
  members: listOf(idText('member', 'must be the id of a member'), MAX_NAMED)
    .nullable()
    .default(null),
  roles: listOf(MemberRoleField(), MAX_NAMED).nullable().default(null),
}));

/** The rule of a review as clients send it, with the defaults of what they leave out. */
export const ReviewInput = lazy(() =>
  z
    .strictObject({
      approvals: wholeNumber(1, MAX_APPROVALS)
        .default(1)
        .meta({ description: 'How many people have to approve.' }),
      ...people(),
      allow_self: z
        .boolean()
        .default(false)
        .meta({ description: "Whether the agent's owner may approve." }),
      passkey: z
        .boolean()
        .default(false)
        .meta({ description: 'Whether every approval has to be signed with a passkey.' }),
      escalation: z
        .strictObject({
          after: wholeNumber(60, MAX_DURATION_SECONDS).meta({ description: 'Seconds.' }),
          ...people(),
        })
        .refine(
          ({ members, roles }) => members !== null || roles !== null,
          'must name members or roles',
        )
        .nullable()
        .default(null)
        .meta({ description: 'Who becomes a reviewer too, so many seconds after the request.' }),
    })
    .meta({
      id: 'ReviewInput',
      description:
        'Reviewers are the named members and the members with a named role; without either, all who may decide.',
      examples: [exampleReview],
    }),
);

/**
 * The rule of a policy that sends requests to reviewers without saying more: one approval, by
 * anybody who may decide.
 */
export const DEFAULT_RULE: ReviewRule = {
  approvals: 1,
  members: null,
  roles: null,
  allow_self: false,
  passkey: false,
  escalation: null,
};
