import type { Child } from 'hono/jsx';
import type { Block, Fact, ListedRequest, MailDocument, Phrase } from './document';
import type { Written } from './written';

// Clients differ in what they support: tables and inline styles work everywhere. The classes carry
// the dark colours, for the clients that read a style sheet; others keep the light ones, or invert
// them on their own.

const FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;";
const CODE = "font-family:ui-monospace,'Cascadia Mono',Menlo,Consolas,monospace;font-size:13px;";
/** Long words wrap, instead of widening the page; marks above or below a line stay in its box. */
const WRAP = 'word-break:break-word;overflow-wrap:anywhere;overflow:hidden;';

const DARK = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
  .back { background-color: #111417 !important; }
  .card { background-color: #1a1e22 !important; border-color: #31363d !important; }
  .inset { background-color: #23282e !important; border-color: #7a828c !important; }
  .line { border-color: #31363d !important; }
  .text { color: #e8eaed !important; }
  .soft { color: #a3abb5 !important; }
  .link { color: #a3b8ff !important; }
  .button { background-color: #a3b8ff !important; color: #0c1740 !important; }
}
@media (max-width: 480px) {
  .outer { padding: 0 !important; }
  .card { border-width: 0 !important; border-radius: 0 !important; padding: 20px 16px !important; }
}`;

/** Renders the HTML part. It has no image, script, font or style sheet of another host. */
export function renderHtml(document: MailDocument): string {
  return `<!DOCTYPE html>${String(<Page document={document} />)}`;
}

function Page({ document: { subject, heading, blocks, link, note } }: { document: MailDocument }) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="supported-color-schemes" content="light dark" />
        <meta
          name="format-detection"
          content="telephone=no, date=no, address=no, email=no, url=no"
        />
        <title>{subject}</title>
        <style dangerouslySetInnerHTML={{ __html: DARK }} />
      </head>
      <body class="back" style="margin:0;padding:0;background-color:#f5f6f8;">
        <table
          role="presentation"
          class="back"
          width="100%"
          cellpadding="0"
          cellspacing="0"
          border={0}
          style="background-color:#f5f6f8;"
        >
          <tr>
            <td class="outer" align="center" style="padding:24px 12px;">
              <table
                role="presentation"
                width="100%"
                cellpadding="0"
                cellspacing="0"
                border={0}
                style="max-width:560px;border-collapse:separate;"
              >
                <tr>
                  <td
                    class="card text"
                    align="left"
                    style={`padding:28px;border:1px solid #dcdfe3;border-radius:8px;background-color:#ffffff;color:#16191d;font-size:16px;line-height:24px;${FONT}${WRAP}`}
                  >
                    <p
                      class="soft"
                      style="margin:0 0 4px;font-size:14px;line-height:20px;color:#59616b;"
                    >
                      Countersign
                    </p>
                    <h1
                      class="text"
                      style="margin:0 0 20px;font-size:22px;line-height:28px;font-weight:600;color:#16191d;"
                    >
                      {heading}
                    </h1>
                    {blocks.map((block) => (
                      <BlockHtml block={block} />
                    ))}
                    <Button link={link} />
                    <p
                      class="soft line"
                      style="margin:24px 0 0;padding-top:16px;border-top:1px solid #dcdfe3;font-size:14px;line-height:20px;color:#59616b;"
                    >
                      {note}
                    </p>
                  </td>
                </tr>
              </table>
            </td>
          </tr>
        </table>
      </body>
    </html>
  );
}

/**
 * The link as a button, with its address as text, for clients that show no button and for readers
 * who check it.
 */
function Button({ link: { label, url } }: { link: MailDocument['link'] }) {
  return (
    <>
      <p style="margin:24px 0 12px;">
        <a
          class="button"
          href={url}
          style="display:inline-block;padding:12px 24px;border-radius:8px;background-color:#2346c7;color:#ffffff;font-weight:600;text-decoration:none;"
        >
          {label}
        </a>
      </p>
      <p style="margin:0;font-size:14px;line-height:20px;">
        <a class="link" href={url} style="color:#2346c7;">
          <Wrapping text={url} />
        </a>
      </p>
    </>
  );
}

function BlockHtml({ block }: { block: Block }) {
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
function Wrapping({ text }: { text: string }) {
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
