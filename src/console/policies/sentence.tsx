import type { Child } from 'hono/jsx';
import { duration } from '../../lib/duration';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json';
import type { NumberFormat } from '../../lib/number-format';
import { SECOND } from '../../lib/time';
import { valueText } from '../../permissions/limit-texts';
import { usePage } from '../frame/page-context';
import { Code, Count, joinElements, Named, Written } from '../parts/inline';
import { pluralOf } from '../parts/words';
import { BudgetSentence } from './budget';
import { OPERATOR_WORDS } from './conditions';
import type { ShownPolicy } from './values';

const VERBS = { approve: 'Approves', deny: 'Denies', review: 'Asks reviewers about' };

/** How many members of a list the sentence has. */
const MAX_LISTED = 3;

interface PolicySentenceProps {
  policy: Omit<ShownPolicy, 'is_active' | 'name' | 'priority' | 'reason'>;
  /** Whether it has a further condition that is not complete. */
  isOpen?: boolean;
}

/**
 * A policy as a sentence: which requests it matches, and what it does with them. What a form does
 * not name yet is `…`.
 */
export function PolicySentence({ policy, isOpen = false }: PolicySentenceProps) {
  const { effect, actions, resources, agent_ids: agents, review } = policy;
  const { formatNumber } = usePage();
  const conditions: Child[] = Object.entries(policy.conditions).map(([key, condition]) => [
    <Code text={key} />,
    ' ',
    <Written text={conditionText(condition, formatNumber)} />,
  ]);
  if (isOpen) conditions.push('…');
  return (
    <p class="written">
      {VERBS[effect]} <Patterns patterns={actions} every="every action" /> on{' '}
      <Patterns patterns={resources} every="every resource" /> by {agents === null && 'every agent'}
      {agents && (agents.length > 0 ? list(agents.map((id) => <Named id={id} />)) : '…')}
      {effect === 'approve' && conditions.length === 0 && ', whatever the limits are'}
      {conditions.length > 0 && ', if '}
      {list(conditions, 'and', conditions.length)}.{review && <ReviewSentence review={review} />}
      {effect !== 'deny' && <CapSentence policy={policy} />}
      <BudgetSentence policy={policy} />
    </p>
  );
}

/** The actions or resources that match patterns. */
function Patterns({ patterns, every }: { patterns: string[]; every: string }) {
  if (patterns.length === 0) return <>…</>;
  if (patterns.includes('*')) return <>{every}</>;
  return <>{list(patterns.map((text) => <Code text={text} />))}</>;
}

/**
 * Joins list members with commas and a last word. Beyond {@link MAX_LISTED} the rest is a count,
 * such as `4 more`.
 */
function list(members: Child[], word = 'or', limit = MAX_LISTED): Child[] {
  const last = ` ${word} `;
  if (members.length <= limit) return joinElements(members, last);
  const shown = members.slice(0, limit - 1);
  return joinElements(
    [...shown, <Count of={members.length - shown.length} one="more" many="more" />],
    last,
  );
}

/** A condition in words. Two bounds are one range. */
function conditionText(condition: Json, formatNumber: NumberFormat): string {
  if (!isJsonObject(condition)) return JSON.stringify(condition);
  const { min, max, ...others } = condition;
  if (min === undefined || max === undefined) {
    return operatorTexts(condition, formatNumber).join(' and ') || 'is anything';
  }
  const range = `is from ${valueText(min, formatNumber)} to ${valueText(max, formatNumber)}`;
  return [range, ...operatorTexts(others, formatNumber)].join(' and ');
}

function operatorTexts(operators: JsonObject, formatNumber: NumberFormat): string[] {
  const words: Record<string, string> = OPERATOR_WORDS;
  return Object.entries(operators).map(
    ([operator, value]) => `${words[operator] ?? operator} ${valueText(value, formatNumber)}`,
  );
}

function ReviewSentence({ review }: { review: NonNullable<ShownPolicy['review']> }) {
  const { approvals, passkey, escalation } = review;
  const reviewers = people(review);
  const anybody = `${pluralOf(approvals, 'person', 'people')} who may decide`;
  const who = reviewers.length > 0 ? 'of these' : anybody;
  return (
    <>
      {' '}
      {approvals} {who} {pluralOf(approvals, 'has', 'have')} to approve
      {passkey && ', with a passkey'}
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
  const { formatNumber } = usePage();
  if (ttl === null && uses === null) return null;
  const parts: string[] = [];
  if (ttl !== null) parts.push(`is valid for at most ${duration(ttl * SECOND)}`);
  if (uses !== null) parts.push(`allows at most ${formatNumber(uses)} ${pluralOf(uses, 'use')}`);
  return <> The token {parts.join(' and ')}.</>;
}
