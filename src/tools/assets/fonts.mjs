import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { create } from 'fontkit';
import decompress from 'wawoff2/decompress.js';
import { write } from './write.mjs';

/**
 * The fonts of PDF reports. None has all of these scripts, and a report loads only the files that
 * its texts need.
 */
const FONTS = {
  'latin-regular.ttf': '@embedpdf/fonts-latin/fonts/NotoSans-Regular.ttf',
  'latin-bold.ttf': '@embedpdf/fonts-latin/fonts/NotoSans-SemiBold.ttf',
  'han.otf': '@librescore/fonts/SourceHanSansCN.min.woff2',
  'hangul.otf': '@librescore/fonts/SourceHanSansKR.min.woff2',
  'arabic.ttf': '@embedpdf/fonts-arabic/fonts/NotoNaskhArabic-Regular.ttf',
  'hebrew.ttf': '@embedpdf/fonts-hebrew/fonts/NotoSansHebrew-Regular.ttf',
  'thai.ttf': '@fontsource/noto-sans-thai/files/noto-sans-thai-thai-400-normal.woff2',
  'bengali.ttf': '@fontsource/noto-sans-bengali/files/noto-sans-bengali-bengali-400-normal.woff2',
  'tamil.ttf': '@fontsource/noto-sans-tamil/files/noto-sans-tamil-tamil-400-normal.woff2',
  'georgian.ttf':
    '@fontsource/noto-sans-georgian/files/noto-sans-georgian-georgian-400-normal.woff2',
  'armenian.ttf':
    '@fontsource/noto-sans-armenian/files/noto-sans-armenian-armenian-400-normal.woff2',
};

/**
 * Writes the fonts to the assets, with their licence and with coverage.json: the characters that
 * each font has, as the first and the last of every range.
 * @param {string} root the project's folder
 * @param {string} assets the folder of the assets
 */
export async function makeFonts(root, assets) {
  const target = join(assets, 'fonts');
  mkdirSync(target, { recursive: true });
  /** @type {Map<string, Uint8Array>} */
  const files = new Map();
  /** @type {Record<string, number[]>} */
  const coverage = {};
  const notices = new Set();
  for (const [name, path] of Object.entries(FONTS)) {
    const source = readFileSync(join(root, 'node_modules', path));
    const content = path.endsWith('.woff2') ? Buffer.from(await decompress(source)) : source;
    const font = create(content);
    files.set(name, content);
    coverage[name] = ranges(font.characterSet);
    notices.add(font.copyright);
  }
  files.set('coverage.json', Buffer.from(JSON.stringify(coverage)));
  const licence = readFileSync(join(root, 'node_modules/@embedpdf/fonts-latin/LICENSE'), 'utf8');
  files.set('LICENSE.txt', Buffer.from([...notices, '', licence].join('\n')));
  for (const [name, content] of files) write(join(target, name), content);
  for (const name of readdirSync(target)) if (!files.has(name)) rmSync(join(target, name));
}

/**
 * @param {number[]} characters
 * @returns {number[]}
 */
function ranges(characters) {
  /** @type {number[]} */
  const bounds = [];
  for (const character of [...new Set(characters)].sort((a, b) => a - b)) {
    if (bounds.at(-1) === character - 1) bounds[bounds.length - 1] = character;
    else bounds.push(character, character);
  }
  return bounds;
}
