import { Countersign } from '../countersign.ts';
import { treatmentOf } from '../rules/rules.ts';
import type { ToolRules } from './options.ts';
import { ToolGuard } from './tool-guard.ts';

/** Returns a function that finds the guard of a tool by the tool's name; undefined for a tool that is allowed. */
export function guardsOf<Context>(rules: ToolRules<Context>): (name: string) => ToolGuard<Context> | undefined {
  const { countersign = new Countersign(), run, refusals = 'result', ...rest } = rules;
  return (name) => {
    const treatment = treatmentOf(name, rest);
    if (treatment === 'allow') return undefined;
    return new ToolGuard(countersign, treatment, { refusals, ...(run !== undefined && { run }) });
  };
}

/** The error for a tool that is not allowed, and that an adapter cannot guard because it runs elsewhere. */
export function notGuardable(name: string): TypeError {
  return new TypeError(`${name} does not run in this program, so it cannot be guarded. Allow it, or leave it out.`);
}
