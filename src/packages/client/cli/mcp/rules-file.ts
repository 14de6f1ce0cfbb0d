import { parseDuration } from '../../duration.ts';
import { findJsonLoss } from '../../exact-json.ts';
import { present } from '../../present.ts';
import type { AskRule, Rule } from '../../rules/rules.ts';
import { foldName, isObject, type JsonObject, MAX_NAME } from './message.ts';
import { fillScope, fillText, namesIn } from './template.ts';
import { McpToolRules } from './tool-rules.ts';

/** The rules file is not valid. The message names the field. */
export class RulesError extends Error {}

type Effect = 'allow' | 'ask' | 'deny';

/** Whether the value of a field is valid. */
type Check = (value: unknown) => boolean;

/** Reads a number of seconds, or a text such as `30m`; null for anything else. */
function readSeconds(value: unknown): number | null {
  if (typeof value === 'string') return parseDuration(value);
  return Number.isInteger(value) ? (value as number) : null;
}

const isDuration =
  (least: number, most: number): Check =>
  (value) => {
    const seconds = readSeconds(value);
    return seconds !== null && seconds >= least && seconds <= most;
  };

const isTemplate: Check = (value) =>
  typeof value === 'string' && value !== '' && !namesIn(value).includes('');

const isScope: Check = (value) => isObject(value) && Object.values(value).every(hasValidNames);

const EFFECT: [Check, string] = [isEffect, '"allow", "ask" or "deny"'];
const LIVES: Record<string, [Check, string]> = {
  expires_in: [isDuration(60, 604_800), 'whole seconds from 60 to 604800, or a text such as "30m"'],
  token_ttl: [isDuration(30, 604_800), 'whole seconds from 30 to 604800, or a text such as "30m"'],
};

const FILE_FIELDS: Record<string, [Check, string]> = {
  default: EFFECT,
  wait: [isDuration(0, 3600), 'whole seconds from 0 to 3600, or a text such as "5m"'],
  ...LIVES,
  tools: [isObject, 'an object: a rule by the name of a tool'],
};

const RULE_FIELDS: Record<string, [Check, string]> = {
  effect: EFFECT,
  action: [
    (value) =>
      typeof value === 'string' &&
      /^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(value) &&
      value.length <= 128,
    'two or more parts of a-z, 0-9, _ and -, with dots between them, such as "file.write"',
  ],
  resource: [
    // The kind is literal, so that no argument can change it.
    (value) => isTemplate(value) && /^[a-z0-9_-]+:.*[^\p{Z}\p{C}\u2800]$/su.test(value as string),
    'a kind and an identifier, such as "file:{path}"',
  ],
  scope: [isScope, 'an object of limits, such as {"amount": "{amount}"}'],
  reason: [isTemplate, 'a text, with {name} for an argument'],
  hide_input: [(value) => typeof value === 'boolean', 'true or false'],
  ...LIVES,
};

/** How long a call waits for a person, in seconds. Many MCP clients give up after 60. */
const DEFAULT_WAIT = 45;

/** How long an approval can be used, in seconds: long enough for the model to call again. */
const DEFAULT_TOKEN_TTL = 3600;

/**
 * Reads the rules of a file.
 * @throws RulesError that names the field which is wrong or unknown
 */
export function parseRules(text: string): McpToolRules {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw new RulesError(`The rules are not JSON: ${(error as Error).message}`);
  }
  const loss = findJsonLoss(text);
  if (loss !== null) throw new RulesError(`The rules cannot be read as they are written. ${loss}`);
  if (!isObject(file)) throw new RulesError('The rules are not a JSON object.');
  checkFields(file, FILE_FIELDS, '');
  const {
    default: fallback = 'ask',
    wait = DEFAULT_WAIT,
    tools = {},
    expires_in,
    token_ttl,
  } = file;
  const rules = Object.entries(tools as JsonObject).map(
    ([tool, rule]) => [tool, readRule(rule, tool)] as const,
  );
  return new McpToolRules({
    tools: { '*': fallback as Effect, ...Object.fromEntries(rules) },
    wait: (readSeconds(wait) as number) * 1000,
    tokenTtl: DEFAULT_TOKEN_TTL,
    ...(present({ expiresIn: expires_in, tokenTtl: token_ttl }) as AskRule),
  });
}

function readRule(rule: unknown, tool: string): Rule {
  const place = `tools[${JSON.stringify(tool)}]`;
  if (!canNameTool(tool))
    throw new RulesError(`${place} can match no tool: a name has 1 to ${MAX_NAME} characters.`);
  if (isEffect(rule)) return rule;
  if (!isObject(rule))
    throw new RulesError(`${place} must be "allow", "ask", "deny" or an object.`);
  checkFields(rule, RULE_FIELDS, `${place}.`);
  const {
    effect = 'ask',
    action,
    resource,
    scope,
    reason,
    hide_input,
    expires_in,
    token_ttl,
  } = rule;
  if (effect !== 'ask') {
    const [other] = Object.keys(rule).filter((name) => name !== 'effect');
    if (other) throw new RulesError(`${place}.${other} needs the effect "ask".`);
    return effect as Rule;
  }
  return present({
    ...{ action, hideInput: hide_input, expiresIn: expires_in, tokenTtl: token_ttl },
    resource:
      resource === undefined
        ? undefined
        : (input: JsonObject) => fillText(resource as string, input),
    scope:
      scope === undefined
        ? undefined
        : (input: JsonObject) => fillScope(scope as JsonObject, input),
    reason:
      reason === undefined ? undefined : (input: JsonObject) => fillText(reason as string, input),
  }) as AskRule;
}

/** Whether a name of a rule, in which `*` stands for any characters, matches at least one tool. */
function canNameTool(name: string): boolean {
  const length = foldName(name).replaceAll('*', '').length;
  return name.includes('*') ? length <= MAX_NAME : length > 0 && length <= MAX_NAME;
}

function checkFields(
  value: JsonObject,
  fields: Record<string, [Check, string]>,
  place: string,
): void {
  for (const [name, member] of Object.entries(value)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (!field)
      throw new RulesError(
        `${place}${name} is unknown. Known are: ${Object.keys(fields).join(', ')}.`,
      );
    const [isValid, form] = field;
    if (!isValid(member)) throw new RulesError(`${place}${name} must be ${form}.`);
  }
}

function hasValidNames(value: unknown): boolean {
  if (typeof value === 'string') return !namesIn(value).includes('');
  return typeof value !== 'object' || value === null || Object.values(value).every(hasValidNames);
}

function isEffect(value: unknown): value is Effect {
  return value === 'allow' || value === 'ask' || value === 'deny';
}
