import { UsageError } from '../failures.ts';
import { escapeText } from '../terminal/escape.ts';
import { type CodingTool, TOOLS } from './tool.ts';

/** @throws UsageError for the name of another tool */
export function readTool(name: string): CodingTool {
  const tool = TOOLS.find((known) => known === name);
  if (tool) return tool;
  throw new UsageError(`There is no hook for ${escapeText(name)}, only for ${TOOLS.join(', ')}.`);
}
