import type { Treatment } from '../../rules/rules.ts';
import type { HookRules } from './hook-rules.ts';
import { filesNamedIn, namesProtected } from './protected-files.ts';
import { type CodingTool, type HookCall, SHELL } from './tool.ts';

/** Where a call would run. */
interface Place {
  tool: CodingTool;
  platform: NodeJS.Platform;
  /** The files that guard the agent, such as the rules. */
  protectedFiles: string[];
}

/**
 * Finds how a call is guarded. A call that names a file which guards the agent asks at least, by
 * the rule of its tool.
 */
export async function decide(call: HookCall, rules: HookRules, place: Place): Promise<Treatment> {
  const { protectedFiles } = place;
  if (call.tool !== SHELL) {
    const treatment = rules.treatmentOf(call.tool);
    const isGuard = namesProtected(filesNamedIn(call.input), call.cwd, protectedFiles);
    return treatment === 'allow' && isGuard ? rules.askTreatmentOf(call.tool) : treatment;
  }
  const { command } = call.input;
  // Codex and Cursor start another shell on Windows.
  const isPosix = place.platform !== 'win32' || place.tool === 'claude-code';
  if (typeof command !== 'string' || !isPosix) return rules.askTreatmentOf(SHELL);
  const { parseCommand } = await import('./parse-command.ts');
  const parsed = parseCommand(command);
  const treatment = rules.treatmentOfCommand(parsed);
  const isGuard = namesProtected(parsed.commands.flat(), call.cwd, protectedFiles);
  return treatment === 'allow' && isGuard ? rules.askTreatmentOf(SHELL) : treatment;
}
