import { UnsupportedAlgorithm } from '../../packages/verify/core/signature.ts';
import type { Finding, Step } from './verify-finding';

const ELSEWHERE = 'Use another browser, or the command line: see “Verify with the command line”.';

/** A step that is about to be checked. */
type Question = Pick<Step, 'title' | 'isOfLog'>;

/**
 * Runs a step. It stays open if this browser cannot check it, and fails if the data are malformed.
 */
export async function runStep(question: Question, check: () => Promise<Finding>): Promise<Step> {
  try {
    return { ...question, ...(await check()) };
  } catch (error) {
    const limit = limitOf(error);
    if (limit !== null) return { ...question, state: 'open', text: limit, instead: ELSEWHERE };
    const reason = error instanceof Error ? error.message : String(error);
    return { ...question, state: 'failed', text: `The data are malformed: ${reason}` };
  }
}

/** Why this browser cannot check something, as a sentence; null if that is not what went wrong. */
function limitOf(error: unknown): string | null {
  if (!crypto.subtle) return 'Browsers offer cryptography only to pages at https addresses.';
  if (!(error instanceof UnsupportedAlgorithm)) return null;
  return `This browser cannot check signatures with ${error.algorithm}.`;
}

const STATES = {
  passed: ['good', 'Passed'],
  failed: ['bad', 'Failed'],
  open: ['waiting', 'Not checked'],
} as const;

/** Shows a step. A failed one shows at once what differs. */
export function renderStep({ state, title, text, instead, evidence = [] }: Step): HTMLElement {
  const [tone, word] = STATES[state];
  const item = make(
    'li',
    '',
    make('p', `${word}: ${title}`),
    make('p', [text, instead].join(' ').trim()),
  );
  item.className = tone;
  item.dataset.state = state;
  if (evidence.length > 0) {
    const facts = make(
      'dl',
      '',
      ...evidence.flatMap(([name, value]) => [
        make('dt', name),
        make('dd', '', make('code', value)),
      ]),
    );
    const details = document.createElement('details');
    details.append(make('summary', 'What was compared'), facts);
    details.open = state === 'failed';
    item.append(details);
  }
  return item;
}

/** Shows what all steps together mean. */
export function renderSummary(steps: readonly Step[]): HTMLElement {
  const [tone, text] = summaryOf(steps);
  const summary = make('p', text);
  summary.className = `verdict notice ${tone}`;
  return summary;
}

/**
 * The verdict says that the entry is proven only if each step of the log has passed, the signature
 * of its head included.
 */
function summaryOf(steps: readonly Step[]): [tone: string, text: string] {
  if (steps.some(({ state }) => state === 'failed')) {
    const advice = 'keep what you see here, and ask the operator of the service.';
    return ['bad', `This entry is not proven. Do not rely on it: ${advice}`];
  }
  const open = steps.filter(({ state }) => state === 'open');
  const proven = 'The entry is in the signed log, unchanged since it was sealed.';
  if (open.length === 0) return ['good', proven];
  const start = open.some(({ isOfLog }) => isOfLog)
    ? 'Nothing is wrong, but the entry is not proven.'
    : proven;
  const titles = open.map(({ title }) => `“${title}”`).join(', ');
  const instead = new Set(open.flatMap((step) => step.instead ?? []));
  return ['waiting', [start, `Not checked: ${titles}.`, ...instead].join(' ')];
}

function make(name: string, text: string, ...children: Node[]): HTMLElement {
  const element = document.createElement(name);
  element.append(text, ...children);
  return element;
}
