import { formatTimeOrNull } from '../../lib/time';
import { policyFields } from '../../policies/fields';
import {
  EMPTY_POLICY,
  type PolicyDraft,
  type PolicyValues,
  policyInput,
  type ShownPolicy,
} from './values';

/** The policy that a form describes so far. */
export interface Sketch {
  policy: ShownPolicy;
  /** Whether the form has a condition that is incomplete or invalid, and so left out. */
  isOpen: boolean;
  /** The other parts that are left out as incomplete or invalid, in words. */
  missing: string[];
}

/** The fields whose absence the sentence cannot show, in words. */
const PARTS: Partial<Record<keyof PolicyDraft, string>> = {
  review: 'who decides',
  token_ttl: 'the token lifetime',
  max_uses: 'the uses of a token',
  budget: 'the budget',
  expires_at: 'when it expires',
};

/** Makes a policy of what a form says, however little of it is filled in. */
export function sketchOf(values: PolicyValues): Sketch {
  const { policy: input, faults } = policyInput(values);
  const read = Object.entries(policyFields())
    .filter(([name]) => input[name] !== undefined)
    .map(([name, schema]) => ({ name, result: schema.safeParse(input[name]) }));
  const valid = read.flatMap(({ name, result }) => (result.success ? [[name, result.data]] : []));
  const fields = Object.fromEntries(valid) as Partial<PolicyDraft>;
  const agents = { agent_ids: input.agent_ids === null ? null : [] };
  const policy = shownDraft({ ...EMPTY_POLICY, ...agents, expires_at: null, ...fields });
  const invalid = read.filter(({ result }) => !result.success).map(({ name }) => name);
  const isOpen = faults.length > 0 || invalid.includes('conditions');
  const missing = Object.entries(PARTS).filter(([name]) => invalid.includes(name));
  return { policy, isOpen, missing: missing.map(([, words]) => words) };
}

/** A draft as the API would show it. */
export function shownDraft(draft: PolicyDraft): ShownPolicy {
  return { ...draft, expires_at: formatTimeOrNull(draft.expires_at) };
}
