import {
  type Rule,
  type Rules,
  strictness,
  type Treatment,
  treatmentOf,
} from '../../rules/rules.ts';
import { foldName } from './message.ts';

/** How the tools of a server are guarded. */
export class McpToolRules {
  readonly #rules: Rules;
  readonly #folded: Rules;

  constructor(rules: Rules) {
    this.#rules = rules;
    const folded = new Map<string, Rule>();
    for (const [tool, rule] of Object.entries(rules.tools ?? {})) {
      const name = foldName(tool);
      folded.set(name, stricter(folded.get(name) ?? rule, rule));
    }
    this.#folded = { ...rules, tools: Object.fromEntries(folded) };
  }

  /**
   * Finds how the calls of a tool are guarded. A server may take a name that differs from a rule's
   * in case or Unicode spelling for the same tool: unless a rule has exactly this name, the
   * stricter of the rules for both spellings counts.
   */
  treatmentOf(tool: string): Treatment {
    const exact = treatmentOf(tool, this.#rules);
    if (Object.hasOwn(this.#rules.tools ?? {}, tool)) return exact;
    const name = foldName(tool);
    const folded = treatmentOf(name, this.#folded);
    // Of two rules that ask, the one that names the tool counts, not a pattern or the default.
    if (Object.hasOwn(this.#folded.tools ?? {}, name)) return stricter(folded, exact);
    return stricter(exact, folded);
  }
}

/** Returns the stricter one; the first if they are equal. */
function stricter<T extends Rule | Treatment>(one: T, other: T): T {
  if (strictness(other) > strictness(one)) return other;
  return one;
}
