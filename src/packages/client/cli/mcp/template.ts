import type { Limits } from '../../guard/act.ts';
import { isObject, type Json, type JsonObject } from '../../json.ts';
import { foldName } from './message.ts';

const PLACEHOLDER = /\{([^{}]*)\}/g;
const WHOLE = /^\{([^{}]*)\}$/;

/** Returns the names of the arguments that a template takes. */
export function namesIn(template: string): string[] {
  return [...template.matchAll(PLACEHOLDER)].map(([, name = '']) => name);
}

/**
 * Fills in a text: `{name}` is the value of the argument with this name, a text, number or boolean.
 * @throws TypeError when the call has no such argument, or one of another type
 */
export function fillText(template: string, input: JsonObject): string {
  return template.replaceAll(PLACEHOLDER, (_, name: string) => {
    const value = readArgument(name, input);
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      throw new TypeError(`The argument ${name} must be a text, a number or a boolean.`);
    }
    return String(value);
  });
}

/**
 * Fills in limits. A text that is only `{name}` becomes the value itself, of any type. A limit
 * whose arguments the call does not have is left out, so that no policy with a condition on it
 * approves.
 */
export function fillScope(scope: JsonObject, input: JsonObject): Limits {
  const present = Object.entries(scope).filter(([, value]) => hasArguments(value, input));
  return fillMembers(Object.fromEntries(present), input);
}

function fillMembers(template: JsonObject, input: JsonObject): JsonObject {
  const members = Object.entries(template);
  return Object.fromEntries(members.map(([name, member]) => [name, fillValue(member, input)]));
}

function fillValue(template: Json, input: JsonObject): Json {
  if (Array.isArray(template)) return template.map((member) => fillValue(member, input));
  if (isObject(template)) return fillMembers(template, input);
  if (typeof template !== 'string') return template;
  const [, name] = WHOLE.exec(template) ?? [];
  if (name === undefined) return fillText(template, input);
  return readArgument(name, input);
}

function hasArguments(template: Json, input: JsonObject): boolean {
  if (typeof template === 'string')
    return namesIn(template).every((name) => Object.hasOwn(input, name));
  if (typeof template !== 'object' || template === null) return true;
  return Object.values(template).every((member) => hasArguments(member, input));
}

/**
 * Reads an argument. A server that ignores upper and lower case could take another one for it: that
 * is refused.
 */
function readArgument(name: string, input: JsonObject): Json {
  const alike = Object.entries(input).filter(([key]) => foldName(key) === foldName(name));
  if (alike.length > 1) throw new TypeError(`Several arguments are spelled like ${name}.`);
  const [argument] = alike;
  if (argument?.[0] !== name) throw new TypeError(`The argument ${name} is missing.`);
  return argument[1];
}
