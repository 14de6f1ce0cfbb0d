import type { MailDocument } from './document';
import { BlockHtml, WRAP, Wrapping } from './render-blocks';

// Clients differ in what they support: tables and inline styles work everywhere. The classes carry
// the dark colours, for the clients that read a style sheet; others keep the light ones, or invert
// them on their own.

const FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;";

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
