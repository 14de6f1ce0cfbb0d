import { createInterface } from 'node:readline/promises';
import { styleText } from 'node:util';
import { escapeText } from '../../packages/client/cli/terminal/escape.ts';

/** How a step ended. */
type Outcome = 'exists' | 'made' | 'planned' | 'waits' | 'failed';

const MARKS = { exists: '✓', made: '+', planned: '+', waits: '·', failed: '✗' } as const;
const COLOURS = {
  exists: 'green',
  made: 'cyan',
  planned: 'cyan',
  waits: 'yellow',
  failed: 'red',
} as const;

/** The width of the column that says what kind of thing a line is about. */
const WIDTH = 15;

/** Prints one line about a step. Colours only on a terminal that shows them. */
export function printStep(outcome: Outcome, kind: string, text: string): void {
  const mark = styleText(COLOURS[outcome], MARKS[outcome], { stream: process.stdout });
  console.log(`${mark} ${kind.padEnd(WIDTH)} ${escapeText(text)}`.trimEnd());
}

/** Whether somebody can be asked. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true;
}

/** Asks for a line. */
export async function ask(question: string, signal: AbortSignal): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return (await terminal.question(question, { signal })).trim();
  } finally {
    terminal.close();
  }
}

/** Asks which of several answers is meant, until one is chosen; returns its place. */
export async function choose(
  question: string,
  answers: string[],
  signal: AbortSignal,
): Promise<number> {
  console.log(question);
  answers.forEach((answer, place) => {
    console.log(`  ${place + 1}  ${escapeText(answer)}`);
  });
  for (;;) {
    const place = Number(await ask(`1 to ${answers.length}: `, signal)) - 1;
    if (answers[place] !== undefined) return place;
  }
}
