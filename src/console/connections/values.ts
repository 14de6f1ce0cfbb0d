import type { Connection } from '../../connections/connection';
import { DEFAULT_FORWARD_HEADERS } from '../../connections/forward-headers';
import type { ConnectionRule } from '../../connections/rules/rule';
import type { FieldError } from '../../errors';
import { isJsonObject, type Json } from '../../lib/json';
import { readNumber, type SentForm } from '../frame/form';
import {
  type DurationValue,
  readDuration,
  secondsOf,
  writeDuration,
} from '../parts/duration-field';

/** The texts of the fields of a rule, and what is checked. */
export interface RuleValues {
  methods: string[];
  /** A pattern in each line. */
  paths: string;
  effect: string;
  action: string;
  resource: string;
  /** A limit in each line: `amount = {amount}`. */
  scope: string;
  title: string;
  /** Empty, as is the time, if the rule offers no series. */
  seriesRequests: string;
  seriesTime: DurationValue;
  /** Separated by commas. */
  seriesVaries: string;
  isWhole: boolean;
}

/** The texts of the fields of a connection, and what is checked. */
export interface ConnectionValues {
  name: string;
  slug: string;
  base_url: string;
  authType: string;
  header: string;
  prefix: string;
  /** Never filled in by the service. */
  secret: string;
  agent_ids: string[];
  /** Separated by commas. */
  forward_headers: string;
  wait: DurationValue;
  timeout: DurationValue;
  repeat_after: DurationValue;
  rules: RuleValues[];
}

/** The form of a connection that is not made yet. */
export const NEW_VALUES: ConnectionValues = {
  ...{ name: '', slug: '', base_url: '', secret: '' },
  ...{ authType: 'header', header: 'Authorization', prefix: 'Bearer ' },
  agent_ids: [],
  forward_headers: DEFAULT_FORWARD_HEADERS.join(', '),
  wait: writeDuration(25, 'second'),
  timeout: writeDuration(60, 'second'),
  repeat_after: writeDuration(600, 'second'),
  rules: [],
};

/** The form of a connection as it is. */
export function valuesOf(connection: Connection): ConnectionValues {
  const { auth } = connection;
  return {
    name: connection.name,
    slug: connection.slug,
    base_url: connection.base_url,
    authType: auth.type,
    header: auth.type === 'header' ? auth.header : NEW_VALUES.header,
    prefix: auth.type === 'header' ? auth.prefix : NEW_VALUES.prefix,
    secret: '',
    agent_ids: connection.agent_ids,
    forward_headers: connection.forward_headers.join(', '),
    wait: writeDuration(connection.wait, 'second'),
    timeout: writeDuration(connection.timeout, 'second'),
    repeat_after: writeDuration(connection.repeat_after, 'minute'),
    rules: connection.rules.map(ruleValuesOf),
  };
}

export function ruleValuesOf(rule: ConnectionRule): RuleValues {
  const { series } = rule;
  return {
    methods: rule.methods ?? [],
    paths: (rule.paths ?? []).join('\n'),
    effect: rule.effect,
    action: rule.action ?? '',
    resource: rule.resource ?? '',
    scope: writeScope(rule.scope ?? {}),
    title: rule.title ?? '',
    seriesRequests: series ? String(series.requests) : '',
    seriesTime: writeDuration(series?.expires_in ?? null, 'minute'),
    seriesVaries: (series?.varies ?? []).join(', '),
    isWhole: rule.whole_input,
  };
}

/** A rule that nobody has filled in. */
export const EMPTY_RULE = ruleValuesOf({ effect: 'ask', whole_input: false });

/** Reads the sent form. */
export function readValues(form: SentForm): ConnectionValues {
  return {
    name: form.text('name'),
    slug: form.text('slug').trim(),
    base_url: form.text('base_url').trim(),
    authType: form.text('auth_type'),
    header: form.text('header').trim(),
    // Not trimmed: the blank behind `Bearer` counts.
    prefix: form.text('prefix'),
    secret: form.text('secret'),
    agent_ids: form.list('agent_ids'),
    forward_headers: form.text('forward_headers'),
    wait: readDuration(form, 'wait'),
    timeout: readDuration(form, 'timeout'),
    repeat_after: readDuration(form, 'repeat_after'),
    rules: form.list('rule').map((at) => readRule(form, at)),
  };
}

/** @param at the number of the rule in the names of its fields */
function readRule(form: SentForm, at: string): RuleValues {
  const text = (name: string) => form.text(`${name}-${at}`);
  return {
    methods: form.list(`methods-${at}`),
    paths: text('paths'),
    effect: text('effect'),
    action: text('action').trim(),
    resource: text('resource').trim(),
    scope: text('scope'),
    title: text('title').trim(),
    seriesRequests: text('series_requests').trim(),
    seriesTime: readDuration(form, `series_time-${at}`),
    seriesVaries: text('series_varies'),
    isWhole: form.has(`whole-${at}`),
  };
}

/**
 * The fields as the API takes them, without what is empty, and the faults of texts that stand for
 * no value of the API.
 */
export function inputOf(values: ConnectionValues) {
  const { authType: type, header, prefix, secret } = values;
  const faults: FieldError[] = [];
  const input = {
    name: values.name,
    base_url: values.base_url,
    auth: type === 'header' ? { type, header, prefix } : { type },
    ...(secret !== '' && { secret }),
    agent_ids: values.agent_ids,
    forward_headers: splitList(values.forward_headers),
    wait: secondsOf(values.wait),
    timeout: secondsOf(values.timeout),
    repeat_after: secondsOf(values.repeat_after),
    rules: values.rules.map((rule, at) => ruleInputOf(rule, at, faults)),
  };
  return { input, faults };
}

function ruleInputOf(rule: RuleValues, at: number, faults: FieldError[]) {
  const paths = splitLines(rule.paths);
  const { scope, fault } = readScope(rule.scope);
  if (fault !== null) faults.push({ path: `body.rules.${at}.scope`, message: fault });
  const { methods, action, resource, title } = rule;
  const optional = { methods, paths, action, resource, scope, title, series: seriesInputOf(rule) };
  return { ...withoutEmpty(optional), effect: rule.effect, whole_input: rule.isWhole };
}

/** The series as the API takes it; empty if nothing is typed. */
function seriesInputOf({ seriesRequests, seriesTime, seriesVaries }: RuleValues): object {
  if (seriesRequests === '' && seriesTime.amount === '') return {};
  return {
    requests: readNumber(seriesRequests),
    expires_in: secondsOf(seriesTime),
    varies: splitList(seriesVaries),
  };
}

/** Leaves out empty texts, lists and objects. */
function withoutEmpty(fields: Record<string, string | object>): Record<string, string | object> {
  const filled = Object.entries(fields).filter(([, value]) => !isEmpty(value));
  return Object.fromEntries(filled);
}

function isEmpty(value: string | object): boolean {
  if (typeof value === 'string') return value === '';
  return Object.keys(value).length === 0;
}

function splitLines(text: string): string[] {
  return splitAt(text, '\n');
}

function splitList(text: string): string[] {
  return splitAt(text, ',');
}

/** The parts of a text that are not blank, trimmed. */
function splitAt(text: string, separator: string): string[] {
  const parts = text.split(separator).map((part) => part.trim());
  return parts.filter((part) => part !== '');
}

/** Writes a scope line by line; as JSON if a key would be read as another one again. */
function writeScope(scope: Record<string, string>): string {
  const lines = Object.entries(scope).map(([key, reference]) => `${key} = ${reference}`);
  const text = lines.join('\n');
  const readAgain = Object.entries(readScope(text).scope);
  const isSame = JSON.stringify(readAgain) === JSON.stringify(Object.entries(scope));
  return isSame ? text : JSON.stringify(scope);
}

function readScope(text: string): { scope: Record<string, Json>; fault: string | null } {
  if (text.trim().startsWith('{"')) return readScopeJson(text);
  const scope: Record<string, Json> = {};
  for (const line of splitLines(text)) {
    const [, key = '', reference = ''] = /^([^={}]+?)\s*=\s*(\{.*\})$/.exec(line) ?? [];
    if (key === '') return { scope, fault: 'needs lines such as amount = {amount}' };
    if (Object.hasOwn(scope, key)) return { scope, fault: `names ${key} twice` };
    scope[key] = reference;
  }
  return { scope, fault: null };
}

function readScopeJson(text: string): ReturnType<typeof readScope> {
  try {
    const scope: unknown = JSON.parse(text);
    if (isJsonObject(scope)) return { scope, fault: null };
  } catch {
    // Told below.
  }
  return { scope: {}, fault: 'is not a JSON object' };
}
