import type { Child } from 'hono/jsx';
import type { Block, Fact, ListedRequest, Phrase } from './document';
import type { Written } from './written';

const CODE = "font-family:ui-monospace,'Cascadia Mono',Menlo,Consolas,monospace;font-size:13px;";

/** Long words wrap, instead of widening the page; marks above or below a line stay in its box. */
export const WRAP = 'word-break:break-word;overflow-wrap:anywhere;overflow:hidden;';

export function BlockHtml({ block }: { block: Block }) {
  switch (block.kind) {
    case 'paragraph':
      return <p style="margin:0 0 20px;">{block.text}</p>;
    case 'facts':
      return <Facts {...block} />;
    case 'quote':
      return (
        <div style="margin:0 0 20px;">
          <Label>{block.label}</Label>
          <div
            class="inset"
            dir="auto"
            style="padding:8px 12px;border-left:3px solid #868e98;background-color:#f0f2f4;border-radius:0 6px 6px 0;overflow:hidden;"
          >
            {block.lines.map((line, index) => (
              <>
                {index > 0 && <br />}
                {line}
              </>
            ))}
          </div>
        </div>
      );
    case 'requests':
      return (
        <div style="margin:0 0 20px;">
          <Title>{block.title}</Title>
          {block.requests.map((request) => (
            <Request request={request} />
          ))}
        </div>
      );
  }
}

function Facts({ title, hint, rows, more }: Extract<Block, { kind: 'facts' }>) {
  const width = title === undefined ? '84' : '40%';
  return (
    <div style="margin:0 0 20px;">
      {title !== undefined && <Title>{title}</Title>}
      {hint !== undefined && (
        <p class="soft" style="margin:0 0 4px;font-size:14px;line-height:20px;color:#59616b;">
          {hint}
        </p>
      )}
      <table role="presentation" width="100%" cellpadding="0" cellspacing="0" border={0}>
        {rows.map(({ label, value, before }) => (
          <tr>
            <td
              class="soft line"
              width={width}
              valign="top"
              style={`padding:6px 8px 6px 0;border-top:1px solid #dcdfe3;font-size:14px;line-height:24px;color:#59616b;${WRAP}`}
            >
              <Phrases phrases={[label]} />
            </td>
            <td
              class="text line"
              valign="top"
              style={`padding:6px 0;border-top:1px solid #dcdfe3;color:#16191d;${WRAP}`}
            >
              <Phrases phrases={value} />
              <Before before={before} />
            </td>
          </tr>
        ))}
      </table>
      {more !== undefined && (
        <p class="soft" style="margin:4px 0 0;font-size:14px;line-height:20px;color:#59616b;">
          {more}
        </p>
      )}
    </div>
  );
}

function Before({ before }: Pick<Fact, 'before'>) {
  if (before === undefined) return null;
  return (
    <span class="soft" style="color:#59616b;">
      {' '}
      (requested: <Phrases phrases={before} />)
    </span>
  );
}

function Request({
  request: { title, action, resource, agent, state, url },
}: {
  request: ListedRequest;
}) {
  return (
    <div class="line" style="padding:10px 0;border-top:1px solid #dcdfe3;">
      <a class="link" href={url} style="color:#2346c7;font-weight:600;">
        <Phrases phrases={[action, ' on ', resource]} />
      </a>
      {title && (
        <div>
          <span class="soft" style="color:#59616b;">
            Agent says:{' '}
          </span>
          <Phrases phrases={[title]} />
        </div>
      )}
      <div class="soft" style="font-size:14px;line-height:20px;color:#59616b;">
        <Phrases phrases={[agent, ' · ', ...state]} />
      </div>
    </div>
  );
}

function Title({ children }: { children: Child }) {
  return (
    <h2
      class="text"
      style="margin:0 0 4px;font-size:16px;line-height:24px;font-weight:600;color:#16191d;"
    >
      {children}
    </h2>
  );
}

function Label({ children }: { children: Child }) {
  return (
    <p class="soft" style="margin:0 0 4px;font-size:14px;line-height:20px;color:#59616b;">
      {children}
    </p>
  );
}

/**
 * Phrases in one line. What was written elsewhere is isolated from the direction of the text around
 * it.
 */
function Phrases({ phrases }: { phrases: Phrase[] }) {
  return (
    <>
      {phrases.map((phrase) =>
        typeof phrase === 'string' ? phrase : <WrittenHtml phrase={phrase} />,
      )}
    </>
  );
}

function WrittenHtml({ phrase: { written, isCode } }: { phrase: Written }) {
  if (isCode) {
    return (
      <code dir="auto" style={CODE}>
        <Wrapping text={written} />
      </code>
    );
  }
  return (
    <span dir="auto">
      <Wrapping text={written} />
    </span>
  );
}

/** The places behind a separator at which a name or an address may wrap. */
const WRAPS = /(?<=[_@/:]\u2060?)(?=[\p{L}\p{N}])/u;

/**
 * A text whose long words wrap behind a separator if they can: elsewhere they wrap only if they
 * must.
 */
export function Wrapping({ text }: { text: string }) {
  return (
    <>
      {text.split(WRAPS).map((part, index) => (
        <>
          {index > 0 && <wbr />}
          {part}
        </>
      ))}
    </>
  );
}
