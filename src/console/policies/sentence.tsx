import type { Child } from 'hono/jsx';
import { duration } from '../../lib/duration';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json';
import { SECOND } from '../../lib/time';
import { valueText } from '../../permissions/limit-texts';
import { Code, joinElements, Named, Written } from '../parts/inline';
import { OPERATOR_WORDS } from './conditions';
import type { ShownPolicy } from './values';

const VERBS = { approve: 'Approves', deny: 'Denies', review: 'Asks reviewers about' };

/** How many members of a list the sentence has. */
const MAX_LISTED = 3;

/** A policy as a sentence: which requests it matches, and what it does with them. */
export function PolicySentence({
  policy,
}: {
  policy: Omit<ShownPolicy, 'is_active' | 'name' | 'priority' | 'reason'>;
}) {
  const { effect, actions, resources, agent_ids: agents, review } = policy;
  const conditions = Object.entries(policy.conditions as JsonObject);
  return (
    <p class="written">
      {VERBS[effect]}{' '}
      {isAny(actions) ? 'every action' : list(actions.map((text) => <Code text={text} />))} on{' '}
      {isAny(resources) ? 'every resource' : list(resources.map((text) => <Code text={text} />))} by{' '}
      {agents === null ? 'every agent' : list(agents.map((id) => <Named id={id} />))}
      {effect === 'approve' && conditions.length === 0 && ', whatever the limits are'}
      {conditions.length > 0 && ', if '}
      {list(
        conditions.map(([key, condition]) => [
          <Code text={key} />,
          ' ',
          <Written text={conditionText(condition as Json)} />,
        ]),
        'and',
        conditions.length,
      )}
      .{review && <ReviewSentence review={review} />}
      {effect !== 'deny' && <CapSentence policy={policy} />}
    </p>
  );
}

function isAny(patterns: string[]): boolean {
  return patterns.includes('*');
}

/**
 * Joins list members with commas and a last word. Beyond {@link MAX_LISTED} the rest is a count,
 * such as `4 more`.
 */
function list(members: Child[], word = 'or', limit = MAX_LISTED): Child[] {
  const shown = members.length > limit ? members.slice(0, limit - 1) : members;
  const rest = members.length - shown.length;
  const all: Child[] = rest > 0 ? [...shown, `${rest} more`] : shown;
  return joinElements(all, ` ${word} `);
}

/** A condition in words. Two bounds are one range. */
function conditionText(condition: Json): string {
  if (!isJsonObject(condition)) return JSON.stringify(condition);
  const { min, max, ...others } = condition;
  const isRange = min !== undefined && max !== undefined;
  const words: Record<string, string> = OPERATOR_WORDS;
  const operators = Object.entries(isRange ? others : condition);
  const parts = operators.map(
    ([operator, value]) => `${words[operator] ?? operator} ${valueText(value)}`,
  );
  if (isRange) parts.unshift(`is from ${valueText(min)} to ${valueText(max)}`);
  return parts.length > 0 ? parts.join(' and ') : 'is anything';
}

function ReviewSentence({ review }: { review: NonNullable<ShownPolicy['review']> }) {
  const { approvals, passkey, escalation } = review;
  const reviewers = people(review);
  const isOne = approvals === 1;
  const who = reviewers.length > 0 ? 'of these' : `${isOne ? 'person' : 'people'} who may decide`;
  return (
    <>
      {' '}
      {approvals} {who} {isOne ? 'has' : 'have'} to approve{passkey && ', with a passkey'}
      {reviewers.length > 0 && <>: {reviewers}</>}
      {escalation && [
        '; after ',
        duration(escalation.after * SECOND),
        ' also ',
        people(escalation),
      ]}
      .
    </>
  );
}

/** Reviewers by role and by name. */
function people({ members, roles }: { members: string[] | null; roles: string[] | null }): Child[] {
  const named = (members ?? []).map((id) => <Named id={id} />);
  return list([...(roles ?? []).map((role) => `every ${role}`), ...named], 'and');
}

function CapSentence({
  policy: { token_ttl: ttl, max_uses: uses },
}: {
  policy: Pick<ShownPolicy, 'token_ttl' | 'max_uses'>;
}) {
  if (ttl === null && uses === null) return null;
  const parts = [
    ttl !== null && `is valid for at most ${duration(ttl * SECOND)}`,
    uses !== null && `allows at most ${uses} ${uses === 1 ? 'use' : 'uses'}`,
  ].filter((part) => part !== false);
  return <> The token {parts.join(' and ')}.</>;
}
