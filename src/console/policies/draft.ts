import type * as z from 'zod';
import { PolicyCreation } from '../../permissions/policies/create';
import { readNumber, validate } from '../frame/form';
import { readConditions } from './conditions';
import { readPatterns } from './patterns';
import type { PeopleValues, PolicyValues } from './values';

/** A valid policy that is not stored yet. */
export type PolicyDraft = z.output<ReturnType<typeof PolicyCreation>>;

/**
 * Makes the policy that a form describes, in the words of the API. What the chosen effect does not use is left out.
 * @throws Problem `invalid_request` with the invalid fields, named as in the API; the rows of conditions by their index
 */
export function draftOf(values: PolicyValues): PolicyDraft {
  const { name, effect, reason, isActive } = values;
  const others = values.others.filter(({ isKept }) => isKept).map(({ condition }) => condition);
  const { conditions, faults } = readConditions(values.rows, others);
  const limits =
    effect === 'deny' ? {} : { token_ttl: optional(values.token_ttl), max_uses: optional(values.max_uses) };
  const policy = {
    ...{ name, effect, conditions, is_active: isActive, ...limits },
    actions: readPatterns(values.actions),
    resources: readPatterns(values.resources),
    agent_ids: values.agents === 'some' ? values.agentIds : null,
    reason: reason.trim() || null,
    priority: readNumber(values.priority),
    review: effect === 'review' ? reviewOf(values) : null,
  };
  return validate(PolicyCreation(), policy, faults);
}

function reviewOf({ approvals, reviewers, allowSelf, passkey, escalation_after: after, escalation }: PolicyValues) {
  const people = peopleOf(escalation);
  const escalates = after.trim() !== '' || people.members !== null || people.roles !== null;
  return {
    approvals: readNumber(approvals),
    ...peopleOf(reviewers),
    allow_self: allowSelf,
    passkey,
    escalation: escalates ? { after: readNumber(after), ...people } : null,
  };
}

function peopleOf({ members, roles }: PeopleValues) {
  return { members: members.length > 0 ? members : null, roles: roles.length > 0 ? roles : null };
}

/** A field that may stay empty. */
function optional(text: string): number | string | null {
  return text.trim() === '' ? null : readNumber(text);
}
