import { execFileSync, spawnSync } from 'node:child_process';
import { sayUntested } from './say-untested';

const TOOLS = { qpdf: '--version', pdftotext: '-v' };

/** Whether the programs of qpdf and poppler-utils are installed; says so if they are not. */
export function hasPdfTools(): boolean {
  const missing = Object.entries(TOOLS)
    .filter(([tool, option]) => spawnSync(tool, [option]).error !== undefined)
    .map(([tool]) => tool);
  if (missing.length === 0) return true;
  sayUntested(`the PDF of a report: ${missing.join(' and ')} not installed`);
  return false;
}

/** Runs a program that reads PDFs, and returns what it prints. */
export function runTool(tool: string, ...args: string[]): string {
  return execFileSync(tool, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
}

/** The text of a PDF, as a reader sees it. */
export function readPdfText(file: string, mode: '-layout' | '-raw'): string {
  return runTool('pdftotext', '-enc', 'UTF-8', mode, file, '-');
}
