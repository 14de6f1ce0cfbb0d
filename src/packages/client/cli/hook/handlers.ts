import { basename } from 'node:path';
import { isObject, type Json, type JsonObject } from '../../json.ts';
import type { Settings } from './settings.ts';
import type { CodingTool } from './tool.ts';

/** The events that the hook answers, by the tool. Codex has no event of its own for a failure. */
const EVENTS: Record<CodingTool, string[]> = {
  'claude-code': ['PreToolUse', 'PostToolUse', 'PostToolUseFailure'],
  codex: ['PreToolUse', 'PostToolUse'],
  cursor: ['preToolUse', 'postToolUse', 'postToolUseFailure'],
};

/** Adds the handler to every event. */
export function addHandlers(
  settings: Settings,
  tool: CodingTool,
  words: string[],
  timeout: number,
): void {
  if (tool === 'cursor' && settings.value.version === undefined) settings.set(['version'], 1);
  for (const event of EVENTS[tool]) {
    const isBefore = event === EVENTS[tool][0];
    const handler = handlerFor(tool, words, timeout, isBefore);
    const entry = tool === 'cursor' ? handler : { matcher: '*', hooks: [handler] };
    const list = listOf(settings, event);
    if (list) settings.set(['hooks', event, list.length], entry);
    else settings.set(['hooks', event], [entry]);
  }
}

/** Takes the handlers of Countersign out, and what they leave empty. */
export function removeHandlers(settings: Settings, tool: CodingTool): void {
  for (const event of EVENTS[tool]) {
    const list = listOf(settings, event);
    if (!list) continue;
    for (const [index, entry] of [...list.entries()].reverse()) {
      removeFrom(settings, tool, ['hooks', event, index], entry);
    }
    if (list.length > 0 && listOf(settings, event)?.length === 0) {
      settings.remove(['hooks', event]);
      const { hooks } = settings.value;
      if (isObject(hooks) && Object.keys(hooks).length === 0) settings.remove(['hooks']);
    }
  }
}

function removeFrom(
  settings: Settings,
  tool: CodingTool,
  path: (string | number)[],
  entry: Json,
): void {
  const handlers = isObject(entry) && Array.isArray(entry.hooks) ? entry.hooks : [];
  const ours = [...handlers.entries()].filter(([, handler]) => isOurs(handler, tool));
  const isEmptied = ours.length > 0 && ours.length === handlers.length;
  if (isOurs(entry, tool) || isEmptied) {
    settings.remove(path);
    return;
  }
  for (const [index] of ours.reverse()) settings.remove([...path, 'hooks', index]);
}

/** Every handler fails closed as far as its tool can. */
function handlerFor(
  tool: CodingTool,
  words: string[],
  timeout: number,
  isBefore: boolean,
): JsonObject {
  const [command = '', ...args] = words;
  if (tool === 'claude-code') {
    const handler = { type: 'command', command, args, timeout };
    return isBefore ? { ...handler, onFailure: 'block' } : handler;
  }
  const line = words.map(quote).join(' ');
  if (tool === 'cursor') return { command: line, timeout, ...(isBefore && { failClosed: true }) };
  // Codex lets a call pass whose hook ends with another code than 2, or says nothing on stderr.
  const closed = `${line} || { echo 'Countersign gave no answer.' >&2; exit 2; }`;
  return { type: 'command', command: isBefore ? closed : line, timeout };
}

/** Whether a handler runs this command for the tool. */
function isOurs(handler: Json, tool: CodingTool): boolean {
  if (!isObject(handler) || typeof handler.command !== 'string') return false;
  const args = Array.isArray(handler.args) ? handler.args.map(String) : [];
  const words = [...unquote(handler.command), ...args];
  const place = words.findIndex((word, index) => word === 'hook' && words[index + 1] === tool);
  const program = basename(words[place - 1] ?? '');
  return place > 0 && /^(countersign(\.\w+)?|main\.[jt]s)$/.test(program);
}

/** Quotes a word for a POSIX shell. */
function quote(word: string): string {
  if (/^[\w./:=-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** The words of a line that {@link quote} wrote. */
function unquote(line: string): string[] {
  const words = line.match(/(?:'[^']*'|\\'|[^\s'\\])+/g) ?? [];
  return words.map((word) => word.replaceAll(/'([^']*)'|\\'/g, (_, inner = "'") => inner));
}

function listOf({ value }: Settings, event: string): Json[] | null {
  const list = isObject(value.hooks) ? value.hooks[event] : undefined;
  return Array.isArray(list) ? list : null;
}
