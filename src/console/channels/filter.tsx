import type { Child } from 'hono/jsx';
import { Code, joinElements } from '../parts/inline';
import { pluralOf } from '../parts/words';

/** How many patterns the text of a filter has. */
const MAX_PATTERNS = 3;

interface Filter {
  actions?: readonly string[] | null | undefined;
  agent_ids?: readonly string[] | null | undefined;
}

/**
 * Describes what a filter accepts in a few words, such as `payment.*, 2 agents`; null if it accepts
 * everything.
 */
export function filterText(filter: Filter | null | undefined): Child {
  const patterns = filter?.actions ?? [];
  const others = patterns.length - MAX_PATTERNS;
  const agents = filter?.agent_ids?.length ?? 0;
  const limits: Child[] = patterns.slice(0, MAX_PATTERNS).map((pattern) => <Code text={pattern} />);
  if (others > 0) limits.push(`${others} more ${pluralOf(others, 'pattern')}`);
  if (agents > 0) limits.push(`${agents} ${pluralOf(agents, 'agent')}`);
  if (limits.length === 0) return null;
  return joinElements(limits);
}
