import type { Preview } from '../../permissions/preview';
import { toOneLine, Written, WrittenText } from '../parts/inline';

type Block = NonNullable<Preview['blocks']>[number];

/** Whether a preview says anything but the title, which is the heading of the card. */
export function hasMoreThanTitle({ summary, fields = [], blocks = [] }: Preview): boolean {
  return Boolean(summary) || fields.length > 0 || blocks.length > 0;
}

/** The texts that the agent wrote for the person who decides, labelled as the agent's words. */
export function PreviewCard({ preview }: { preview: Preview }) {
  const { summary, fields = [], blocks = [] } = preview;
  return (
    <section class="card" aria-labelledby="preview-title">
      <div class="bar">
        <h2 id="preview-title">What the agent says it will do</h2>
        <span class="badge neutral">Nobody checked it</span>
      </div>
      {summary && <WrittenText text={summary} label="Summary" />}
      {fields.length > 0 && (
        <dl class="preview-fields">
          {fields.map(({ label, value, kind = 'text' }) => (
            <>
              <dt>
                <Written text={label} />
              </dt>
              <dd class={kind}>
                <WrittenText text={value} label={toOneLine(label)} />
              </dd>
            </>
          ))}
        </dl>
      )}
      {blocks.map((block, index) => (
        <PreviewBlock block={block} label={toOneLine(block.title ?? `Text ${index + 1}`)} />
      ))}
    </section>
  );
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
