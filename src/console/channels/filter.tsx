import type { Child } from 'hono/jsx';
import { Code, joinElements } from '../parts/inline';

/** How many patterns the text of a filter has. */
const MAX_PATTERNS = 3;

interface Filter {
  actions?: readonly string[] | null | undefined;
  agent_ids?: readonly string[] | null | undefined;
}

/**
 * What a filter accepts, in a few words, such as `payment.*, 2 agents`; null if it accepts
 * everything.
 */
export function filterText(filter: Filter | null | undefined): Child {
  const patterns = filter?.actions ?? [];
  const others = patterns.length - MAX_PATTERNS;
  const agents = filter?.agent_ids?.length ?? 0;
  const limits = [
    ...patterns.slice(0, MAX_PATTERNS).map((pattern) => <Code text={pattern} />),
    ...(others > 0 ? [others === 1 ? '1 more pattern' : `${others} more patterns`] : []),
    ...(agents > 0 ? [agents === 1 ? '1 agent' : `${agents} agents`] : []),
  ];
  return limits.length > 0 ? joinElements(limits) : null;
}
