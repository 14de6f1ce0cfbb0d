/** The text of a page as a person reads it: without tags (those of blocks are spaces), with characters instead of entities, spaces collapsed. */
export function readText(html: string): string {
  return html
    .replaceAll(/<(script|style|head)\b.*?<\/\1>/gs, ' ')
    .replaceAll(/<\/?(a|bdi|code|mark|span|strong|time)\b[^>]*>/g, '')
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
  return [...html.matchAll(/<a\b[^>]*?\bhref="([^"]*)"/g)].map(([, address = '']) => address.replaceAll('&amp;', '&'));
}
