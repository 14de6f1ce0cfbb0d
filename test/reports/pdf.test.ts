import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { composePages } from '../../src/reports/pdf/document';
import { FontCoverage } from '../../src/reports/pdf/fonts';
import { renderPdf } from '../../src/reports/pdf/render';
import { splitIntoRuns } from '../../src/reports/pdf/text-runs';
import { depth } from '../support/depth';
import { plainReport, sampleReport } from '../support/sample-report';

/** Loads fonts as the service does, and records their names. */
function fontLoader() {
  const files: string[] = [];
  const load = async (file: string) => {
    files.push(file);
    const response = await env.ASSETS.fetch(`https://assets/fonts/${file}`);
    expect([file, response.status]).toEqual([file, 200]);
    return response.arrayBuffer();
  };
  return { files, load };
}

async function runsOf(text: string) {
  const runs = splitIntoRuns(text, await FontCoverage.load(fontLoader().load));
  return runs.map(({ text, font }) => [font, text]);
}

it.runIf(depth.isDeep)(
  'a PDF is smaller than 1 MB and loads each font once',
  { timeout: 120_000 },
  async () => {
    const { files, load } = fontLoader();
    const pdf = await renderPdf(sampleReport(), load);
    expect(new TextDecoder('latin1').decode(pdf.subarray(0, 5))).toBe('%PDF-');
    expect(pdf.length).toBeLessThan(1_000_000);
    expect(files.length).toBeLessThanOrEqual(8);
    expect(new Set(files).size).toBe(files.length);
  },
);

it.runIf(depth.isDeep)('a PDF has the same bytes for the same report', async () => {
  const { load } = fontLoader();
  const report = { ...plainReport(), agents: sampleReport().agents.slice(0, 12) };
  const pdf = await renderPdf(report, load);
  expect(Buffer.compare(await renderPdf(structuredClone(report), load), pdf)).toBe(0);
  const later = { ...report, generated_at: '2026-11-21T00:00:00.000Z' };
  expect(Buffer.compare(await renderPdf(later, load), pdf)).not.toBe(0);
});

it('a PDF loads only the fonts of the scripts in the report', async () => {
  const { files, load } = fontLoader();
  await renderPdf(plainReport(), load);
  expect(files).toEqual(['coverage.json', 'latin-regular.ttf', 'latin-bold.ttf']);
});

it('text of every script uses a font that supports the script', async () => {
  expect(await runsOf('Zoë Ωμέγα Żółć Юрий Đặng')).toEqual([['latin', 'Zoë Ωμέγα Żółć Юрий Đặng']]);
  expect(await runsOf('A 北京 カナ ひら 한국 B')).toEqual([
    ['latin', 'A '],
    ['han', '北京'],
    ['latin', ' '],
    ['han', 'カナ'],
    ['latin', ' '],
    ['han', 'ひら'],
    ['latin', ' '],
    ['hangul', '한국'],
    ['latin', ' B'],
  ]);
  expect(await runsOf('한국'.normalize('NFD'))).toEqual([['hangul', '한국']]);
});

it('right-to-left text is put in visual order', async () => {
  expect(await runsOf('אב (גד)')).toEqual([
    ['latin', '('],
    ['hebrew', 'גד'],
    ['latin', ')\u00a0'],
    ['hebrew', 'אב'],
  ]);
  expect(await runsOf('By شركة ABC today')).toEqual([
    ['latin', 'By '],
    ['arabic', 'شركة'],
    ['latin', ' ABC today'],
  ]);
  expect(await runsOf('شركة للتجارة ABC 7')).toEqual([
    ['latin', 'ABC\u00a07'],
    ['latin', '\u00a0'],
    ['arabic', 'للتجارة'],
    ['latin', '\u00a0'],
    ['arabic', 'شركة'],
  ]);
});

it('characters that are invisible or in no font are replaced with their code points', async () => {
  expect(await runsOf('a 🚀 ❤️ b')).toEqual([['latin', 'a [U+1F680] [U+2764] b']]);
  expect(await runsOf('pay\u202Eslip\u0000\u200b\ud800')).toEqual([
    ['latin', 'pay[U+202E]slip[U+0000][U+200B][U+D800]'],
  ]);
  expect(await runsOf('two\nlines\tand\u3000spaces')).toEqual([['latin', 'two lines and spaces']]);
});

it('a PDF lists the first 60 exceptions and says how many more there are', () => {
  const [exception] = sampleReport().exceptions;
  if (!exception) throw new Error('the sample has no exceptions');
  const count = (text: string) => text.split(exception.text).length - 1;
  const many = JSON.stringify(
    composePages({ ...plainReport(), exceptions: Array(206).fill(exception) }),
  );
  expect(count(many)).toBe(60);
  expect(many).toContain(
    'The first 60 are listed. The JSON form of this report has 146 more exceptions.',
  );
  const few = JSON.stringify(
    composePages({ ...plainReport(), exceptions: Array(60).fill(exception) }),
  );
  expect([count(few), few.includes('are listed')]).toEqual([60, false]);
});

it('invisible characters of names are shown as code points, except joiners in Arabic', async () => {
  expect(await runsOf('\u3164\u2800\u115f')).toEqual([['latin', '[U+3164][U+2800][U+115F]']]);
  expect(await runsOf('ad\u200cmin\u200d')).toEqual([['latin', 'ad[U+200C]min[U+200D]']]);
  expect(await runsOf('می\u200cخواهم')).toEqual([['arabic', 'می\u200cخواهم']]);
});

it.each([
  ['thai', 'ภาษาไทย'],
  ['bengali', 'বাংলা'],
  ['tamil', 'தமிழ்'],
  ['georgian', 'ქართული'],
  ['armenian', 'Հայերեն'],
])('text in %s is shown in its own font', async (font, text) => {
  expect(await runsOf(`A ${text}`)).toEqual([
    ['latin', 'A '],
    [font, text],
  ]);
});

it('the Thai vowel am is written in two parts, with the tone mark above the ring', async () => {
  expect(await runsOf('น้ำ กำ')).toEqual([
    ['thai', 'น\u0e4d้\u0e32'],
    ['latin', ' '],
    ['thai', 'ก\u0e4d\u0e32'],
  ]);
});

it('a joiner inside a word of Bengali stays', async () => {
  expect(await runsOf('র\u200d্য')).toEqual([['bengali', 'র\u200d্য']]);
});

it('text in a script without a font is shown as code points', async () => {
  expect(await runsOf('తె')).toEqual([['latin', '[U+0C24][U+0C46]']]);
});

it('a letter keeps at most four combining marks', async () => {
  const [[, text]] = (await runsOf(`Zoë e${'\u0316'.repeat(9)}`)) as [[string, string]];
  expect(text).toBe(`Zoë e${'\u0316'.repeat(4)}${'[U+0316]'.repeat(5)}`);
});
