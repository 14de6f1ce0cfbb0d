import type { Json } from '../../lib/json';
import { shorten } from '../../lib/text';
import { type Contradiction, findContradictions } from '../../permissions/contradictions';
import type { Preview } from '../../permissions/preview';
import { compareRestated, type Restatement } from '../../permissions/restated-argument';
import { usePage } from '../frame/page-context';
import { Code, toOneLine, Written, WrittenText } from '../parts/inline';
import { MAX_IN_LIST } from '../parts/request';
import { argumentText, fieldText } from './argument-text';

type Block = NonNullable<Preview['blocks']>[number];

/** Whether a preview says anything but the title, which is the heading of the card. */
export function hasMoreThanTitle({ summary, fields = [], blocks = [] }: Preview): boolean {
  return Boolean(summary) || fields.length > 0 || blocks.length > 0;
}

interface PreviewProps {
  preview: Preview;
  /** Undefined if the service does not have the arguments. */
  input: Json | undefined;
  /** Whether a connection made the request, so that the texts are made by its rule. */
  isOfConnection: boolean;
}

/**
 * The texts for the person who decides, compared with the arguments that they restate. Those of an
 * agent are labelled as the agent's words.
 */
export function PreviewCard({ preview, input, isOfConnection }: PreviewProps) {
  const { summary, fields = [], blocks = [] } = preview;
  const isCompared = fields.some(({ of }) => of !== undefined);
  return (
    <section class="card" aria-labelledby="preview-title">
      <div class="bar">
        <h2 id="preview-title">
          {isOfConnection ? 'What Countersign will send' : 'What the agent says it will do'}
        </h2>
        <span class="badge neutral">
          {isOfConnection ? 'By the connection’s rule' : 'Nobody checked it'}
        </span>
      </div>
      {summary && <WrittenText text={summary} label="Summary" />}
      {fields.length > 0 && (
        <dl class="preview-fields">
          {fields.map((field) => (
            <PreviewField field={field} input={input} isCompared={isCompared} />
          ))}
        </dl>
      )}
      {blocks.map((block, index) => (
        <PreviewBlock block={block} label={toOneLine(block.title ?? `Text ${index + 1}`)} />
      ))}
    </section>
  );
}

/** How many contradictions the top of a card names. */
const MAX_NAMED = 3;

/**
 * Says at the top of a card that fields of the preview differ from the arguments that they restate;
 * nothing if none does.
 */
export function Contradictions({ preview, input, isOfConnection }: PreviewProps) {
  const differing = findContradictions(preview, input);
  if (differing.length === 0) return null;
  return (
    <div class="notice bad">
      <p>
        <strong>
          {isOfConnection ? 'The words of the rule differ' : 'The agent’s words differ'} from what
          is binding.
        </strong>
      </p>
      <ul>
        {differing.slice(0, MAX_NAMED).map((contradiction) => (
          <ContradictionLine {...contradiction} />
        ))}
      </ul>
      {differing.length > MAX_NAMED && <p>And {differing.length - MAX_NAMED} more.</p>}
    </div>
  );
}

function ContradictionLine({ field, result }: Contradiction) {
  const { formatNumber } = usePage();
  const argument = result.kind === 'differs' ? result.argument : undefined;
  return (
    <li>
      <Short text={field.label} />: said <Short text={fieldText(field, argument, formatNumber)} />
      {argument === undefined && ', not an argument'}
      {argument !== undefined && [
        ', binding ',
        <Short text={argumentText(argument, formatNumber)} />,
      ]}
    </li>
  );
}

/** A text in one short line. */
function Short({ text }: { text: string }) {
  return <Written text={shorten(toOneLine(text), MAX_IN_LIST)} />;
}

interface PreviewFieldProps {
  field: NonNullable<Preview['fields']>[number];
  input: Json | undefined;
  /** Whether any field of the preview restates an argument. */
  isCompared: boolean;
}

function PreviewField({ field, input, isCompared }: PreviewFieldProps) {
  const { label, value, kind = 'text', of } = field;
  const result =
    of === undefined || input === undefined ? undefined : compareRestated(value, of, input);
  const argument = result && result.kind !== 'absent' ? result.argument : undefined;
  const shown = fieldText(field, argument, usePage().formatNumber);
  return (
    <>
      <dt>
        <Written text={label} />
      </dt>
      <dd class={kind}>
        <WrittenText text={shown} label={toOneLine(label)} />
        {isCompared && <Comparison of={of} result={result} />}
      </dd>
    </>
  );
}

/**
 * How a field compares with the argument that it says it restates.
 * @param props.result undefined if there is nothing to compare it with
 */
function Comparison({ of, result }: { of: string | undefined; result: Restatement | undefined }) {
  const { formatNumber } = usePage();
  if (of === undefined) return <span class="hint compared">not compared</span>;
  const name = <Code text={of} />;
  if (result === undefined)
    return <span class="hint compared">not compared with {name}, which nobody has seen</span>;
  switch (result.kind) {
    case 'same':
      return <span class="hint compared">same as {name}</span>;
    case 'absent':
      return <strong class="fault compared">names {name}, which is not an argument</strong>;
    case 'differs':
      return (
        <strong class="fault compared">
          differs from {name}, which is{' '}
          <Written text={toOneLine(argumentText(result.argument, formatNumber))} />
        </strong>
      );
  }
}

function PreviewBlock({ block, label }: { block: Block; label: string }) {
  return (
    <div class="block">
      {block.title && (
        <h3>
          <Written text={block.title} />
        </h3>
      )}
      <section class="scrolls" tabindex={0} aria-label={label}>
        <pre class={block.kind}>
          {block.kind === 'diff' && <Diff text={block.text} />}
          {block.kind !== 'diff' && <Written text={block.text} hasLines />}
        </pre>
      </section>
    </div>
  );
}

const LINE_CLASSES: Record<string, string> = { '+': 'line good', '-': 'line bad' };

/** The lines of a diff. The sign at the start says what changed; the colour only repeats it. */
function Diff({ text }: { text: string }) {
  return (
    <>
      {text.split('\n').map((line) => (
        <span class={LINE_CLASSES[line.charAt(0)] ?? 'line'}>
          <Written text={line} hasLines />
        </span>
      ))}
    </>
  );
}
