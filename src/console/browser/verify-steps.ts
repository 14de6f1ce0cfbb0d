import type { Finding, Step } from './verify-finding';

/** Runs a step. It fails if the data are malformed, so that the check throws. */
export async function runStep(title: string, check: () => Promise<Finding>): Promise<Step> {
  try {
    return { title, ...(await check()) };
  } catch (error) {
    return { title, state: 'failed', text: `The data are malformed: ${(error as Error).message}` };
  }
}

const STATES = {
  passed: ['good', 'Passed'],
  failed: ['bad', 'Failed'],
  open: ['waiting', 'Not checked'],
} as const;

/** Shows a step. A failed one shows at once what differs. */
export function renderStep({ state, title, text, evidence = [] }: Step): HTMLElement {
  const [tone, word] = STATES[state];
  const item = make('li', '', make('p', `${word}: ${title}`), make('p', text));
  item.className = tone;
  item.dataset.state = state;
  if (evidence.length > 0) {
    const facts = make(
      'dl',
      '',
      ...evidence.flatMap(([name, value]) => [make('dt', name), make('dd', '', make('code', value))]),
    );
    const details = make('details', '', make('summary', 'What was compared'), facts) as HTMLDetailsElement;
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

function summaryOf(steps: readonly Step[]): [tone: string, text: string] {
  const has = (state: Step['state']) => steps.some((step) => step.state === state);
  const proven = 'The entry is in the signed log, unchanged since it was sealed.';
  if (has('failed')) {
    const advice = 'keep what you see here, and ask the operator of the service.';
    return ['bad', `This entry is not proven. Do not rely on it: ${advice}`];
  }
  if (!has('open')) return ['good', proven];
  const isProven = steps[0]?.state === 'passed';
  return ['waiting', isProven ? `${proven} Not everything else could be checked.` : NOT_YET];
}

const NOT_YET = 'Nothing is wrong, but the entry cannot be proven now.';

function make(name: string, text: string, ...children: Node[]): HTMLElement {
  const element = document.createElement(name);
  element.append(text, ...children);
  return element;
}
