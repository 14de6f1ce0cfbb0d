import { checkOptions, type OptionList } from '../check-options.ts';
import { checkValues, GUARD_OPTIONS, type GuardOptions } from '../guard/guard.ts';

/**
 * The arguments of a tool call. What they are is for the tool to say, so a rule may read any field
 * of them.
 */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type ToolArguments = any;

/** The options of a rule that asks about the calls of a tool. */
export type AskRule = Partial<Omit<GuardOptions<ToolArguments>, 'externalId'>>;

/** How the calls of a tool are guarded: run them, ask, refuse them, or ask for exactly this. */
export type Rule = 'allow' | 'ask' | 'deny' | AskRule;

/** Settings of every rule that asks; a rule replaces them by its own. */
export type RuleDefaults = Pick<
  AskRule,
  'mode' | 'wait' | 'abandoned' | 'expiresIn' | 'tokenTtl' | 'hideInput' | 'onPending' | 'onShadow'
>;

/** How the calls of many tools are guarded. */
export interface Rules extends RuleDefaults {
  /**
   * The rule of each tool by its name. `*` in a name stands for any characters. The exact name
   * counts first, then the longest name with `*`, of equally long ones the strictest. A tool that
   * no name fits is asked for.
   */
  tools?: Record<string, Rule>;
}

/** The options of `Rules`. */
export const RULES_OPTIONS: OptionList<Rules> = {
  tools: true,
  mode: true,
  wait: true,
  abandoned: true,
  expiresIn: true,
  tokenTtl: true,
  hideInput: true,
  onPending: true,
  onShadow: true,
};

const { externalId: _, ...ASK_RULE_OPTIONS } = GUARD_OPTIONS;

/** The options of a rule that asks. A call names itself by its own id. */
export { ASK_RULE_OPTIONS };

/**
 * Checks the rules of all tools.
 * @throws TypeError that names a value or an option which no rule has
 */
export function checkRules({ tools = {}, ...defaults }: Rules): void {
  checkValues(defaults);
  for (const [tool, rule] of Object.entries(tools)) {
    if (rule === 'allow' || rule === 'ask' || rule === 'deny') continue;
    if (typeof rule !== 'object' || rule === null) throw notARule(tool);
    checkOptions(rule, ASK_RULE_OPTIONS, `The rule of ${tool}`);
    checkValues(rule);
  }
}

function notARule(tool: string): TypeError {
  return new TypeError(`The rule of ${tool} is not allow, ask, deny or an object.`);
}

/**
 * The treatment of the calls of one tool: run them, refuse them, or guard them with these options.
 */
export type Treatment = 'allow' | 'deny' | GuardOptions<ToolArguments>;

/**
 * Finds how the calls of a tool are guarded. A rule that names no action or resource asks for
 * `tool.<name>` on `tool:<name>`.
 * @throws TypeError if the value for the tool is not a rule
 */
export function treatmentOf(tool: string, rules: Rules): Treatment {
  const { tools = {}, ...defaults } = rules;
  const rule = findRule(tool, tools);
  if (rule === 'allow' || rule === 'deny') return rule;
  if (rule !== 'ask' && (typeof rule !== 'object' || rule === null)) throw notARule(tool);
  const options = { action: defaultAction(tool), resource: `tool:${tool}`, ...defaults };
  if (rule === 'ask') return options;
  return { ...options, ...rule };
}

function findRule(tool: string, tools: Record<string, Rule>): Rule {
  const rules = Object.entries(tools).map(([name, rule]) => ({ name, rule }));
  const picked = pickRule(rules.filter(({ name }) => toRegExp(name).test(tool)));
  return picked ? picked.rule : 'ask';
}

/**
 * Picks the rule that counts among those that fit: the one without `*` first, then the one with the
 * longest name, of equally long ones the strictest.
 */
export function pickRule<R extends { name: string; rule: Rule }>(fitting: R[]): R | undefined {
  const isExact = ({ name }: R) => !name.includes('*');
  const [best] = fitting.sort(
    (one, other) =>
      Number(isExact(other)) - Number(isExact(one)) ||
      other.name.length - one.name.length ||
      strictness(other.rule) - strictness(one.rule),
  );
  return best;
}

/** Orders rules: a larger number lets less pass without a person. */
export function strictness(rule: Rule | Treatment): number {
  if (rule === 'allow') return 0;
  if (rule === 'deny') return 2;
  return 1;
}

function toRegExp(pattern: string): RegExp {
  const literals = pattern.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&'));
  return new RegExp(`^${literals.join('.*')}$`, 's');
}

/** Actions are lower-case, and at most 128 characters. */
function defaultAction(tool: string): string {
  return `tool.${tool.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '_')}`.slice(0, 128);
}
