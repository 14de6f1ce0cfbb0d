import { command } from '../command.ts';
import { removeHandlers } from './handlers.ts';
import { readTool } from './read-tool.ts';
import { Settings } from './settings.ts';
import { settingsFile } from './settings-place.ts';
import { TOOLS } from './tool.ts';

export const uninstall = command({
  name: 'hook uninstall',
  description: 'Takes the hooks of Countersign out of a coding agent, and nothing else.',
  args: {
    tool: { type: 'positional', description: TOOLS.join(', ') },
    project: { type: 'boolean', description: 'Of the project in this folder' },
    yes: { type: 'boolean', description: 'Write without a question' },
  },
  examples: ['countersign hook uninstall claude-code'],
  async run({ args, session }) {
    const tool = readTool(args.tool);
    const project = args.project ? process.cwd() : null;
    const settings = new Settings(settingsFile(tool, project, session.io));
    removeHandlers(settings, tool);
    await settings.write(session, args.yes);
  },
});
