import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderPdf } from '../../src/reports/pdf/render';
import { hasPdfTools, readPdfText, runTool } from '../support/local/pdf-tools';
import { plainReport, sampleReport } from '../support/sample-report';

const root = join(import.meta.dirname, '../..');

const load = async (file: string) =>
  new Uint8Array(readFileSync(join(root, 'dist/assets/fonts', file))).buffer;

describe.runIf(hasPdfTools())('the PDF of a report', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-pdf-'));
  const [full, plain] = [join(folder, 'full.pdf'), join(folder, 'plain.pdf')];
  let pages: string[] = [];

  beforeAll(async () => {
    execFileSync(process.execPath, ['src/tools/build-assets.mjs'], { cwd: root });
    writeFileSync(full, await renderPdf(sampleReport(), load));
    writeFileSync(plain, await renderPdf(plainReport(), load));
    pages = readPdfText(full, '-layout').split('\f').slice(0, -1);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(['full', 'plain'])('is well-formed: %s', (name) => {
    expect(runTool('qpdf', '--check', join(folder, `${name}.pdf`))).toContain(
      'No syntax or stream encoding errors found',
    );
  });

  it('embeds a subset of every font', () => {
    const fonts = runTool('pdffonts', full).split('\n').slice(2, -1);
    expect(fonts).toHaveLength(6);
    for (const font of fonts) expect(font).toMatch(/^[A-Z]{6}\+.* yes yes yes /);
  });

  it('names the account on the title page, and says that the report is not an attestation', () => {
    const report = sampleReport();
    expect(runTool('pdfinfo', full)).toMatch(
      `Compliance report ${report.framework}, 2025-11-01 to 2026-10-31`,
    );
    expect(runTool('qpdf', '--json', full)).toContain('"/Lang": "u:en"');
    for (const fact of [
      report.framework,
      report.account.name,
      report.account.id,
      report.report_id,
    ]) {
      expect(pages[0]).toContain(fact);
    }
    expect(pages[0]).toContain('Evidence, not attestation');
    expect(pages[0]).toContain('2026-11-20 17:56:12 UTC');
  });

  it('has the report id and the page number on every page', () => {
    pages.forEach((page, at) => {
      expect(page).toMatch(
        new RegExp(`${sampleReport().report_id} +Page ${at + 1} of ${pages.length}\\s*$`),
      );
    });
  });

  it('has a table of contents with the right page of every section', () => {
    const entries = [...(pages[1] ?? '').matchAll(/^ *(\d(?:\.\d)?) +(\S.*?) +(\d+)$/gm)];
    expect(entries).toHaveLength(9 + sampleReport().controls.length);
    for (const [, number, title, page] of entries) {
      expect(pages[Number(page) - 1]?.replace(/ +/g, ' ')).toContain(
        `${number} ${title?.replace(/ +/g, ' ')}`,
      );
    }
  });

  it('repeats the header of a table on every page', () => {
    const sample = pages.findIndex(
      (page) => page.includes('9 Sample for testing') && page !== pages[1],
    );
    expect(pages.length - sample).toBeGreaterThan(2);
    for (const page of pages.slice(sample))
      expect(page).toContain('Entry, agent and permission; details');
  });

  it('contains every text and id of the report', () => {
    const [report, text] = [sampleReport(), withoutBreaks(readPdfText(full, '-raw'))];
    const facts = [
      ...report.agents.slice(0, 200).map(({ agent_id: id }) => id),
      ...report.deciders.map(({ decided_by: id }) => id),
      ...report.controls.flatMap(({ evidence }) =>
        evidence.flatMap(({ text, entry_ids: ids }) => [text, ...ids]),
      ),
      ...report.controls.map(({ not_covered: text }) => text),
      ...report.exceptions.flatMap(({ entry_ids: ids }) => ids),
      ...report.activity.key_rotations.map(({ id }) => id),
      ...report.activity.configuration_changes.flatMap(({ id, changes }) => [id, ...changes]),
      ...report.sample.flatMap(({ id, agent_id: agent }) => [id, agent]),
      'The JSON form of this report has 100 more agents.',
    ];
    expect(facts.filter((fact) => !text.includes(withoutBreaks(fact)))).toEqual([]);
    expect(text).not.toContain(withoutBreaks('Agent 200 of'));
  });

  it('shows names in many scripts', () => {
    const text = withoutBreaks(readPdfText(full, '-raw'));
    for (const name of [
      'Ελληνικός βοηθός',
      'Помощник бухгалтера №2',
      '请假审批助手（上海）',
      'カスタマーサポート',
      '한국어 고객 지원',
    ]) {
      expect(text).toContain(withoutBreaks(name));
    }
    expect(text).toContain('Launch[U+1F680]bot[U+2764]');
    expect(text).toMatch(/[\u0600-\u06ff\ufe70-\ufeff]/);
    expect(text).toMatch(/[\u05d0-\u05ea]/);
  });

  it('breaks content that is higher than a page instead of cutting it off', async () => {
    const report = plainReport();
    const [agent, record] = [sampleReport().agents[0], sampleReport().activity.key_rotations[0]];
    if (!agent || !record) throw new Error('the sample has neither');
    report.agents = [{ ...agent, name: '😀'.repeat(255) }, agent];
    report.activity.key_rotations = [
      { ...record, changes: Array<string>(60).fill('😀'.repeat(300)) },
      record,
    ];
    const file = join(folder, 'high.pdf');
    writeFileSync(file, await renderPdf(report, load));
    const text = withoutBreaks(readPdfText(file, '-raw'));
    expect(text).toContain('(175morecharactersintheJSONform)');
    expect(text.match(/\[U\+1F600\]/g)).toHaveLength(80 + 12 * 300);
    expect(text).toContain('48morechangesintheJSONform');
    expect(text.split(record.id)).toHaveLength(3);
  });
});

/**
 * Removes page footers and all white space, because long words break across lines and text across
 * pages.
 */
function withoutBreaks(text: string): string {
  return text.replace(/\S+\s+Page \d+ of \d+/g, '').replace(/\s+/g, '');
}
