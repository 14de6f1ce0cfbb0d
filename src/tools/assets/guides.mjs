import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Marked } from 'marked';
import { write } from './write.mjs';

/** The guide that lists the others, in the order in which the navigation shows them. */
const INDEX = 'README';

/**
 * @typedef {object} Guide
 * @property {string} name the name of its file, without `.md`
 * @property {string} title
 * @property {string} summary its first paragraph, as plain text
 * @property {{ id: string, text: string }[]} sections its second-level headings
 * @property {Set<string>} anchors the ids of all its headings
 * @property {import('marked').Token[]} tokens
 */

/**
 * Renders the guides of src/docs/guides as the pages at /docs/guides.
 * @param {string} root the project's folder
 * @param {string} assets the folder of the assets
 * @param {string} folder the path at which the service serves the style sheet
 * @throws Error when a guide links to a guide or a heading that does not exist, or holds HTML
 */
export function makeGuides(root, assets, folder) {
  const source = join(root, 'src/docs/guides');
  const target = join(assets, 'docs');
  const template = readFileSync(join(root, 'src/docs/page/guide.html'), 'utf8').replaceAll(
    '%FOLDER%',
    folder,
  );
  const names = readdirSync(source).map((file) => basename(file, '.md'));
  const guides = new Map(names.map((name) => [name, readGuide(source, name)]));
  const order = listOrder(guides);

  mkdirSync(join(target, 'guides'), { recursive: true });
  for (const guide of guides.values()) {
    const page = renderPage(template, guide, order, rendererOf(guide, guides));
    write(join(target, fileOf(guide)), Buffer.from(page));
  }
  for (const file of readdirSync(join(target, 'guides'))) {
    if (!guides.has(basename(file, '.html'))) rmSync(join(target, 'guides', file));
  }
}

/** @param {Guide} guide */
function fileOf({ name }) {
  return name === INDEX ? 'guides.html' : `guides/${name}.html`;
}

/**
 * @param {string} source
 * @param {string} name
 * @returns {Guide}
 */
function readGuide(source, name) {
  const tokens = new Marked().lexer(readFileSync(join(source, `${name}.md`), 'utf8'));
  const [title, summary] = tokens.filter(({ type }) => type !== 'space');
  if (title?.type !== 'heading' || summary?.type !== 'paragraph') {
    throw new Error(`${name}.md does not begin with a title and a paragraph`);
  }
  const headings = tokens.flatMap((token) =>
    token.type === 'heading'
      ? [{ depth: token.depth, id: idOf(token.text), text: plain(token.text) }]
      : [],
  );
  return {
    name,
    title: plain(title.text),
    summary: plain(summary.text.replaceAll('\n', ' ')),
    sections: headings.filter(({ depth }) => depth === 2),
    anchors: new Set(headings.map(({ id }) => id)),
    tokens,
  };
}

/**
 * The guides in the order in which the index links to them.
 * @param {Map<string, Guide>} guides
 * @returns {Guide[]}
 */
function listOrder(guides) {
  /** @type {Set<string>} */
  const names = new Set();
  new Marked().walkTokens(guides.get(INDEX)?.tokens ?? [], (token) => {
    const [, name] = (token.type === 'link' && /^([\w-]+)\.md$/.exec(token.href)) || [];
    if (name) names.add(name);
  });
  const missing = [...guides.keys()].filter((name) => name !== INDEX && !names.has(name));
  if (missing.length > 0) throw new Error(`${INDEX}.md does not link to ${missing.join(', ')}`);
  return [...names].flatMap((name) => guides.get(name) ?? []);
}

/**
 * @param {string} template
 * @param {Guide} guide
 * @param {Guide[]} order
 * @param {Marked} renderer
 * @returns {string}
 */
function renderPage(template, guide, order, renderer) {
  const { name, title, summary, sections, tokens } = guide;
  const start = tokens.findIndex(({ type }) => type === 'paragraph') + 1;
  const parts = {
    TITLE: name === INDEX ? 'Countersign guides' : `${escapeHtml(title)} · Countersign guides`,
    SUMMARY: escapeHtml(summary),
    LEAD: renderer.parser(tokens.slice(0, start)),
    SECTIONS: sections
      .map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`)
      .join(''),
    BODY: renderer.parser(tokens.slice(start)),
    GUIDES: order
      .map((other) => {
        const mark = other === guide ? ' aria-current="page"' : '';
        return `<li><a href="/docs/guides/${other.name}"${mark}>${escapeHtml(other.title)}</a></li>`;
      })
      .join(''),
  };
  return template.replace(
    /%([A-Z]+)%/g,
    (_, part) => parts[/** @type {keyof typeof parts} */ (part)],
  );
}

/**
 * Renders Markdown as HTML: headings get the ids that GitHub gives them, and links between guides
 * lead to their pages. Other relative links lead to files of the repository, which the service does
 * not serve: only their text is kept.
 * @param {Guide} guide
 * @param {Map<string, Guide>} guides
 * @returns {Marked}
 */
function rendererOf(guide, guides) {
  return new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${idOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      // A long name may break after its separators.
      codespan({ text }) {
        return `<code>${escapeHtml(text).replaceAll(/[./_:](?=\w)/g, '$&<wbr>')}</code>`;
      },
      // What scrolls can be focused, so that the keyboard scrolls it too.
      code({ text }) {
        return `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`;
      },
      table({ header, rows }) {
        const cells = (/** @type {typeof header} */ row, /** @type {'th' | 'td'} */ tag) =>
          `<tr>${row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`;
        const body = rows.map((row) => cells(row, 'td')).join('\n');
        const table = `<table><thead>${cells(header, 'th')}</thead><tbody>${body}</tbody></table>`;
        return `<div class="table" tabindex="0">${table}</div>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const address = resolveLink(href, guide, guides);
        return address === null ? text : `<a href="${escapeHtml(address)}">${text}</a>`;
      },
      html({ text }) {
        throw new Error(`${guide.name}.md holds HTML: ${text}`);
      },
    },
  });
}

/**
 * Where a link of a guide leads when it is served; null for a file that is only in the repository.
 * @param {string} href
 * @param {Guide} guide
 * @param {Map<string, Guide>} guides
 * @returns {string | null}
 */
function resolveLink(href, guide, guides) {
  if (/^https?:/.test(href)) return href;
  const [, path = '', anchor] = /^([^#]*)(?:#(.*))?$/.exec(href) ?? [];
  const other = path === '' ? guide : guides.get(path.replace(/\.md$/, ''));
  if (other && anchor !== undefined && !other.anchors.has(anchor)) {
    throw new Error(`${guide.name}.md links to a heading that does not exist: ${href}`);
  }
  if (other)
    return path === ''
      ? href
      : `/docs/guides/${other.name === INDEX ? '' : other.name}${href.slice(path.length)}`;
  if (path.endsWith('.md') && !path.includes('/'))
    throw new Error(`${guide.name}.md links to no guide: ${href}`);
  return null;
}

/**
 * The id that GitHub gives to a heading.
 * @param {string} markdown
 */
function idOf(markdown) {
  return plain(markdown)
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/**
 * The text of inline Markdown: without the marks of code, emphasis and links.
 * @param {string} markdown
 */
function plain(markdown) {
  return markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[`*]/g, '');
}

/** @param {string} text */
function escapeHtml(text) {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
