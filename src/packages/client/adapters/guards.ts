import { checkOptions } from '../check-options.ts';
import { Countersign } from '../countersign.ts';
import { checkValues } from '../guard/guard.ts';
import { present } from '../present.ts';
import { checkRules, treatmentOf } from '../rules/rules.ts';
import {
  TOOL_OPTIONS,
  TOOL_RULES,
  type ToolCallOptions,
  type ToolOptions,
  type ToolRules,
} from './options.ts';
import { ToolGuard } from './tool-guard.ts';

/**
 * Makes the guard of one tool from the options of `guardTool`.
 * @throws TypeError for an option that does not exist, or a value that it cannot have
 */
export function makeToolGuard<Context>(
  countersign: Countersign,
  options: ToolOptions<Context>,
  defaults: ToolCallOptions<Context> = {},
): ToolGuard<Context> {
  checkOptions(options, TOOL_OPTIONS, 'guardTool()');
  const { run, refusals, ...treatment } = options;
  checkValues(treatment);
  return new ToolGuard(countersign, treatment, { ...defaults, ...present({ run, refusals }) });
}

/**
 * Returns a function that finds the guard of a tool by the tool's name; undefined for a tool that
 * is allowed.
 * @throws TypeError for an option or a rule that does not exist, or a value that it cannot have
 */
export function makeGuardLookup<Context>(
  rules: ToolRules<Context>,
): (name: string) => ToolGuard<Context> | undefined {
  checkOptions(rules, TOOL_RULES, 'wrapTools()');
  const { countersign = new Countersign(), run, refusals = 'result', ...rest } = rules;
  checkRules(rest);
  return (name) => {
    const treatment = treatmentOf(name, rest);
    if (treatment === 'allow') return undefined;
    return new ToolGuard(countersign, treatment, { refusals, ...(run !== undefined && { run }) });
  };
}

/**
 * The error for a tool that is not allowed, and that an adapter cannot guard because it runs
 * elsewhere.
 */
export function notGuardable(name: string): TypeError {
  return new TypeError(
    `${name} does not run in this program, so it cannot be guarded. Allow it, or leave it out.`,
  );
}
