import { resolve } from 'node:path';
import { command } from '../command.ts';
import { note } from '../print.ts';
import { addHandlers, removeHandlers } from './handlers.ts';
import { readRules } from './hook.ts';
import { readTool } from './read-tool.ts';
import { Settings } from './settings.ts';
import { settingsFile } from './settings-place.ts';
import { type CodingTool, TOOLS } from './tool.ts';

/** How much longer than the wait for a person the tool's timeout is, in seconds. */
const GRACE = 15;

export const install = command({
  name: 'hook install',
  description:
    'Puts a coding agent behind Countersign: writes its hooks, after it showed the change.',
  args: {
    tool: { type: 'positional', description: TOOLS.join(', ') },
    rules: {
      type: 'string',
      description: 'JSON file of rules',
      valueHint: 'file',
      isRequired: true,
    },
    project: { type: 'boolean', description: 'For the project in this folder, not for all' },
    yes: { type: 'boolean', description: 'Write without a question' },
  },
  notes: [
    'The options that fail closed are set where the tool has them. Run it again after changing `wait` in the rules, or after ' +
      'moving the rules or this program.',
  ],
  examples: ['countersign hook install claude-code --rules ~/.config/countersign/rules.json'],
  async run({ args, session }) {
    const tool = readTool(args.tool);
    const rulesFile = resolve(args.rules);
    const timeout = Math.ceil(readRules(rulesFile).wait / 1000) + GRACE;
    const project = args.project ? process.cwd() : null;
    const settings = new Settings(settingsFile(tool, project, session.io));
    removeHandlers(settings, tool);
    addHandlers(settings, tool, wordsFor(tool, rulesFile, timeout), timeout);
    const isWritten = await settings.write(session, args.yes);
    if (isWritten && tool === 'codex') {
      await note(session, 'Start Codex and trust the hooks with /hooks: until then it skips them.');
    }
  },
});

/** The command of the hook, by full paths: an agent may change what a name stands for. */
function wordsFor(tool: CodingTool, rulesFile: string, timeout: number): string[] {
  const program = [process.execPath, resolve(process.argv[1] ?? '')];
  return [...program, 'hook', tool, '--rules', rulesFile, '--timeout', String(timeout)];
}
