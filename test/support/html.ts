/**
 * The text of a page as a person reads it: without tags (those of blocks are spaces), with
 * characters instead of entities, spaces collapsed.
 */
export function readText(html: string): string {
  return html
    .replaceAll(/<(script|style|head)\b.*?<\/\1>/gs, ' ')
    .replaceAll(/<\/?(a|bdi|code|mark|span|strong|time|wbr)\b[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ');
}

/** The addresses of the links of a page, in their order. */
export function readLinks(html: string): string[] {
  return [...html.matchAll(/<a\b[^>]*?\bhref="([^"]*)"/g)].map(([, address = '']) =>
    address.replaceAll('&amp;', '&'),
  );
}

/**
 * The hidden fields of the form of a page that is sent to a path, but for those that every form
 * has.
 */
export function readHiddenFields(html: string, action: string): Record<string, string> {
  const [, form = ''] = html.split(`<form method="post" action="${action}"`);
  const fields = [
    ...form
      .slice(0, form.indexOf('</form>'))
      .matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g),
  ];
  const {
    csrf: _,
    sender: __,
    ...others
  } = Object.fromEntries(fields.map(([, name, value]) => [name, value]));
  return others;
}
