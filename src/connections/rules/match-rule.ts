import type { SeriesTerms, StoredConnectionRule } from '../../db/schema';
import { invalidRequest, Problem } from '../../errors';
import { isJsonObject, type Json, type JsonObject, jsonDepth, jsonSize } from '../../lib/json';
import { matchesPattern } from '../../lib/pattern';
import { shorten } from '../../lib/text';
import { hasSeen } from '../../lib/unseen';
import { MAX_RESOURCE_LENGTH } from '../../permissions/permission-fields';
import { MAX_CONTENT_BYTES, type Preview } from '../../permissions/preview';
import { pointerTo } from '../../permissions/restated-argument';
import type { ConnectionRow } from '../connection';
import type { ParsedCall } from '../proxy/parse-call';
import { FIELD_REFERENCES, fieldOfReference } from './template';

const MAX_SCOPE_BYTES = 2 * 1024;
const MAX_SCOPE_LEVELS = 10;
/** The longest value of a field in a title, and the longest field of a preview, in characters. */
const MAX_TITLE_VALUE = 200;
const MAX_FIELD_VALUE = 1_000;

/** The permission that a call asks for, by the rule that fits it. */
export interface AskMatch {
  effect: 'ask';
  action: string;
  resource: string;
  scope: JsonObject;
  preview: Preview;
  series: SeriesTerms | undefined;
}

/** How a call is treated. */
export type Match = { effect: 'deny' } | { effect: 'allow' } | AskMatch;

/** The settings of a connection that decide how a call is treated. */
type RuleSettings = Pick<ConnectionRow, 'slug' | 'rules'>;

/**
 * Says what happens with a call, by the first rule that fits it. A call that none fits is denied.
 * @throws Problem `invalid_request` if a field that the rule reads stands twice, or if the call
 *   makes no valid request; `payload_too_large` if the rule wants the whole input, and it is too
 *   large
 */
export function matchRule({ slug, rules }: RuleSettings, call: ParsedCall): Match {
  const rule = rules.find((each) => fits(each, call));
  if (!rule || rule.effect === 'deny') return { effect: 'deny' };
  if (rule.effect === 'allow') return { effect: 'allow' };
  if (rule.whole_input && !call.isWholeInput) {
    throw new Problem(
      'payload_too_large',
      'The rule of this call refuses inputs of more than 16 KiB, because people could not see them in full.',
    );
  }
  const { host, pathname } = new URL(call.url);
  return {
    effect: 'ask',
    action: rule.action ?? `${slug}.${call.method.toLowerCase()}`,
    resource: rule.resource ?? defaultResource(host + pathname),
    scope: readScope(rule, call),
    preview: describeCall(rule, call, host + pathname),
    series: rule.series,
  };
}

function fits({ methods, paths }: StoredConnectionRule, { method, path }: ParsedCall): boolean {
  const isMethod = methods === undefined || methods.includes(method);
  return isMethod && (paths === undefined || paths.some((each) => matchesPattern(each, path)));
}

function defaultResource(place: string): string {
  const resource = `url:${place}`;
  if (resource.length <= MAX_RESOURCE_LENGTH) return resource;
  throw invalidRequest([
    {
      path: 'path',
      message: `is too long for a resource of ${MAX_RESOURCE_LENGTH} characters: give the rule of this call a resource`,
    },
  ]);
}

/** The scope of a call: the fields that the rule names and the call has. */
function readScope({ scope = {} }: StoredConnectionRule, call: ParsedCall): JsonObject {
  const found = Object.entries(scope).flatMap(([key, reference]): [string, Json][] => {
    const value = call.field(fieldOfReference(reference) ?? '');
    return value === undefined ? [] : [[key, value]];
  });
  const read: JsonObject = Object.fromEntries(found);
  if (jsonSize(read) > MAX_SCOPE_BYTES || jsonDepth(read) > MAX_SCOPE_LEVELS) {
    const message = `gives a scope of more than ${MAX_SCOPE_BYTES / 1024} KiB or ${MAX_SCOPE_LEVELS} levels`;
    throw invalidRequest([{ path: 'body', message }]);
  }
  return read;
}

/**
 * The title of a rule with the fields of a call; without one, or if nothing is seen of it, the
 * call's address.
 */
function titleOf(rule: StoredConnectionRule, call: ParsedCall, place: string): string {
  const written = rule.title?.replace(FIELD_REFERENCES, (_, name: string) => {
    const value = call.field(name);
    return value === undefined ? '(none)' : shorten(asText(value), MAX_TITLE_VALUE);
  });
  if (written !== undefined && hasSeen(written)) return shorten(written, MAX_FIELD_VALUE);
  return `${call.method} ${shorten(place, MAX_FIELD_VALUE)}`;
}

/** Describes a call to people in the words of the service. Leaves out fields that are too long. */
function describeCall(rule: StoredConnectionRule, call: ParsedCall, place: string): Preview {
  const title = titleOf(rule, call, place);
  const fields: NonNullable<Preview['fields']> = [
    { label: 'Method', value: call.method, of: '/method' },
  ];
  if (call.url.length <= MAX_FIELD_VALUE)
    fields.push({ label: 'Address', value: call.url, kind: 'url', of: '/url' });
  for (const [key, reference] of Object.entries(rule.scope ?? {})) {
    const name = fieldOfReference(reference) ?? '';
    const value = call.field(name);
    const of = placeInBody(call.input.body, name);
    if (value === undefined || of === null) continue;
    const text = asText(value);
    if (text.length <= MAX_FIELD_VALUE) fields.push({ label: key, value: text, of });
  }
  const summary = call.isWholeInput
    ? {}
    : { summary: 'The body is too large to be shown: it stands here by its size and digest.' };
  const preview = { title, ...summary, fields };
  while (jsonSize(preview) > MAX_CONTENT_BYTES) fields.pop();
  return preview;
}

/** The JSON Pointer to a field of the body in the input; null if it is not there by its name. */
function placeInBody(body: Json | undefined, dottedName: string): string | null {
  if (!isJsonObject(body)) return null;
  const [first = '', ...rest] = dottedName.split('.');
  const formName = first + rest.map((part) => `[${part}]`).join('');
  if (Object.hasOwn(body, formName)) return pointerTo(['body', formName]);
  return Object.hasOwn(body, first) ? pointerTo(['body', first, ...rest]) : null;
}

function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
