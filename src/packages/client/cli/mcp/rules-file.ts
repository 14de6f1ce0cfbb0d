import { type Duration, MAX_LIFETIME_SECONDS, parseDuration } from '../../duration.ts';
import { messageOf } from '../../errors.ts';
import { findJsonLoss } from '../../exact-json.ts';
import { isObject, type JsonObject, ownValue } from '../../json.ts';
import { present } from '../../present.ts';
import type { AskRule, Rule, Rules } from '../../rules/rules.ts';
import { foldName, MAX_NAME } from './message.ts';
import { fillScope, fillText, namesIn } from './template.ts';
import { McpToolRules } from './tool-rules.ts';

/** The rules file is not valid. The message names the field. */
export class RulesError extends Error {}

type Effect = 'allow' | 'ask' | 'deny';

/** How long requests and approvals live. */
interface Lives {
  expires_in?: Duration;
  token_ttl?: Duration;
}

/** The content of a file. */
interface RulesFile extends Lives {
  default?: Effect;
  wait?: Duration;
  tools?: JsonObject;
}

/** The rule of a tool in a file. */
interface FileRule extends Lives {
  effect?: Effect;
  action?: string;
  resource?: string;
  scope?: JsonObject;
  reason?: string;
  hide_input?: boolean;
}

/** Whether the value of a field is valid. */
type Check = (value: unknown) => boolean;

/** The checks of fields, and the forms that they have to have, for the error. */
type Fields<T> = Record<keyof T, [Check, string]>;

/** Reads a number of seconds, or a text such as `30m`; null for anything else. */
function readSeconds(value: unknown): number | null {
  if (typeof value === 'string') return parseDuration(value);
  if (typeof value !== 'number' || !Number.isInteger(value)) return null;
  return value;
}

function duration(least: number, most: number, example: string): [Check, string] {
  const isDuration = (value: unknown) => {
    const seconds = readSeconds(value);
    return seconds !== null && seconds >= least && seconds <= most;
  };
  return [isDuration, `whole seconds from ${least} to ${most}, or a text such as "${example}"`];
}

const isTemplate = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && !namesIn(value).includes('');

const isScope: Check = (value) => isObject(value) && Object.values(value).every(hasValidNames);

const EFFECT: [Check, string] = [isEffect, '"allow", "ask" or "deny"'];
const LIVES: Fields<Lives> = {
  expires_in: duration(60, MAX_LIFETIME_SECONDS, '30m'),
  token_ttl: duration(30, MAX_LIFETIME_SECONDS, '30m'),
};

const FILE_FIELDS: Fields<RulesFile> = {
  default: EFFECT,
  wait: duration(0, 3600, '5m'),
  ...LIVES,
  tools: [isObject, 'an object: a rule by the name of a tool'],
};

const RULE_FIELDS: Fields<FileRule> = {
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
    (value) => isTemplate(value) && /^[a-z0-9_-]+:.*[^\p{Z}\p{C}\u2800]$/su.test(value),
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
  return new McpToolRules(readRulesFile(text));
}

/**
 * Reads the content of a rules file.
 * @throws RulesError that names the field which is wrong or unknown
 */
export function readRulesFile(text: string): Rules {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw new RulesError(`The rules are not JSON: ${messageOf(error)}`);
  }
  const loss = findJsonLoss(text);
  if (loss !== null) throw new RulesError(`The rules cannot be read as they are written. ${loss}`);
  if (!isObject(file)) throw new RulesError('The rules are not a JSON object.');
  const fields = readFields(file, FILE_FIELDS, '');
  const { default: fallback = 'ask', tools = {}, token_ttl = DEFAULT_TOKEN_TTL } = fields;
  const rules = Object.entries(tools).map(([tool, rule]) => [tool, readRule(rule, tool)]);
  return {
    tools: { '*': fallback, ...Object.fromEntries(rules) },
    wait: (readSeconds(fields.wait) ?? DEFAULT_WAIT) * 1000,
    tokenTtl: token_ttl,
    ...present({ expiresIn: fields.expires_in }),
  };
}

function readRule(rule: unknown, tool: string): Rule {
  const place = `tools[${JSON.stringify(tool)}]`;
  if (!canNameTool(tool))
    throw new RulesError(`${place} can match no tool: a name has 1 to ${MAX_NAME} characters.`);
  if (isEffect(rule)) return rule;
  if (!isObject(rule))
    throw new RulesError(`${place} must be "allow", "ask", "deny" or an object.`);
  const { effect = 'ask', ...fields } = readFields(rule, RULE_FIELDS, `${place}.`);
  if (effect === 'ask') return readAskRule(fields);
  const [other] = Object.keys(fields);
  if (other) throw new RulesError(`${place}.${other} needs the effect "ask".`);
  return effect;
}

function readAskRule({ resource, scope, reason, ...fields }: FileRule): AskRule {
  const rule: AskRule = present({
    action: fields.action,
    hideInput: fields.hide_input,
    expiresIn: fields.expires_in,
    tokenTtl: fields.token_ttl,
  });
  if (resource !== undefined) rule.resource = (input) => fillText(resource, input);
  if (scope !== undefined) rule.scope = (input) => fillScope(scope, input);
  if (reason !== undefined) rule.reason = (input) => fillText(reason, input);
  return rule;
}

/** Whether a name of a rule, in which `*` stands for any characters, matches at least one tool. */
function canNameTool(name: string): boolean {
  const length = foldName(name).replaceAll('*', '').length;
  return length <= MAX_NAME && (length > 0 || name.includes('*'));
}

/** @throws RulesError for a field that is unknown, or has another form */
function readFields<T>(value: JsonObject, fields: Fields<T>, place: string): T {
  for (const [name, member] of Object.entries(value)) {
    const [isValid, form] = ownValue<[Check, string]>(fields, name) ?? [];
    if (!isValid) {
      const known = Object.keys(fields).join(', ');
      throw new RulesError(`${place}${name} is unknown. Known are: ${known}.`);
    }
    if (!isValid(member)) throw new RulesError(`${place}${name} must be ${form}.`);
  }
  return value as T;
}

function hasValidNames(value: unknown): boolean {
  if (typeof value === 'string') return !namesIn(value).includes('');
  return typeof value !== 'object' || value === null || Object.values(value).every(hasValidNames);
}

function isEffect(value: unknown): value is Effect {
  return value === 'allow' || value === 'ask' || value === 'deny';
}
