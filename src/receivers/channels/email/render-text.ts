import type { Block, Fact, ListedRequest, MailDocument, Phrase } from './document';
import type { Written } from './written';

/**
 * Renders the plain-text part. Nothing that was written elsewhere can start a line, except behind
 * `> `.
 */
export function renderText({ heading, blocks, link, note }: MailDocument): string {
  const parts = [heading, ...blocks.map(blockText), `${link.label}:\n${link.url}`, note];
  return `${parts.join('\n\n')}\n`;
}

/** Phrases as plain text. */
function plain(phrases: Phrase[]): string {
  return phrases
    .map((phrase) => (typeof phrase === 'string' ? phrase : writtenText(phrase)))
    .join('');
}

function writtenText({ written, isCode }: Written): string {
  if (isCode) return `\`${written}\``;
  return written;
}

function blockText(block: Block): string {
  switch (block.kind) {
    case 'paragraph':
      return block.text;
    case 'facts':
      return factsText(block);
    case 'quote':
      return [`${block.label}:`, ...block.lines.map((line) => `> ${line}`.trimEnd())].join('\n');
    case 'requests':
      return [block.title, ...block.requests.map(requestText)].join('\n\n');
  }
}

function factsText({ title, hint, rows, more }: Extract<Block, { kind: 'facts' }>): string {
  const lines: string[] = [];
  if (title !== undefined) lines.push(`${title}:`);
  if (hint !== undefined) lines.push(hint);
  const indent = title === undefined ? '' : '  ';
  for (const row of rows) lines.push(indent + factText(row));
  if (more !== undefined) lines.push(indent + more);
  return lines.join('\n');
}

function factText({ label, value, before }: Fact): string {
  const text = `${plain([label])}: ${plain(value)}`;
  if (before === undefined) return text;
  return `${text} (requested: ${plain(before)})`;
}

function requestText({ title, action, resource, agent, state, url }: ListedRequest): string {
  const lines = [`* ${action.written} on ${resource.written}`, `  Agent: ${agent.written}`];
  if (title) lines.push(`  Agent says: ${title.written}`);
  return [...lines, `  ${plain(state)}`, `  ${url}`].join('\n');
}
