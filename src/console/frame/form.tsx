import type * as z from 'zod';
import { type FieldError, invalidRequest, PROBLEMS, Problem } from '../../errors';
import type { Page } from '../../http/page';
import { roundingFault } from '../../lib/exact-json';
import { equalJson, type Json } from '../../lib/json';
import { toOneLine } from '../parts/inline';
import type { ConsoleContext } from '../session/access';

/** The texts that were typed into a form, by the name of the field. */
export type Typed = Record<string, string>;

/** A form that was sent. */
export interface SentForm {
  /** The text of a field; empty if the form has no such field. */
  text(name: string): string;
  /** All texts of a field that may occur several times, such as check boxes. */
  list(name: string): string[];
  has(name: string): boolean;
  /** The first text of each field, to show the form again. */
  typed: Typed;
}

/** Reads the form of a request. */
export async function readForm(c: Pick<ConsoleContext, 'req'>): Promise<SentForm> {
  const body = await c.req.parseBody({ all: true });
  // Browsers send each line break as CR LF.
  const all = (name: string) => {
    const values = [body[name] ?? []].flat();
    const texts = values.filter((value) => typeof value === 'string');
    return texts.map((text) => text.replaceAll('\r\n', '\n'));
  };
  return {
    text: (name) => all(name)[0] ?? '',
    list: all,
    has: (name) => all(name).length > 0,
    typed: Object.fromEntries(Object.keys(body).map((name) => [name, all(name)[0] ?? ''])),
  };
}

/** The fields in the address of a page, as those of a form. */
export function readAddress({
  req,
}: Pick<ConsoleContext, 'req'>): Pick<SentForm, 'text' | 'list' | 'has'> {
  return {
    text: (name) => req.query(name) ?? '',
    list: (name) => req.queries(name) ?? [],
    has: (name) => req.query(name) !== undefined,
  };
}

/** The text of a field; `otherwise` if the form has no such field, as before it was sent. */
export function textOr(
  form: Pick<SentForm, 'text' | 'has'>,
  name: string,
  otherwise: string,
): string {
  return form.has(name) ? form.text(name) : otherwise;
}

/** A list as the API takes it, for which null means everything: null if nothing is in it. */
export function nullIfEmpty<T>(list: T[]): T[] | null {
  return list.length > 0 ? list : null;
}

/**
 * Checks what a form says with the schema of the API call that does the same.
 * @param faults what is wrong with fields that only the form has
 * @throws Problem `invalid_request` with the invalid fields, named as in the API
 */
export function validate<S extends z.ZodType>(
  schema: S,
  value: unknown,
  faults: FieldError[] = [],
): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success && faults.length === 0) return result.data;
  const issues = result.error?.issues ?? [];
  throw invalidRequest([
    ...faults,
    ...issues.map(({ path, message }) => ({
      path: ['body', ...path.map(String)].join('.'),
      message,
    })),
  ]);
}

/**
 * Reads a typed number. Returns any other text unchanged, and a number that a double would round:
 * the API's schema then refuses it.
 */
export function readNumber(text: string): number | string {
  const typed = text.trim();
  if (typed === '' || roundingFault(typed) !== null) return text;
  return Number(typed);
}

/** Says that a double would round a typed number; null for every other text. */
export function typedRoundingFault(text: string): string | null {
  if (Number.isNaN(Number(text))) return null;
  return roundingFault(text.trim());
}

/** Why a form was refused. */
export interface Refusal {
  detail: string;
  status: number;
  /** The reason by the name of the field, as the API names it, such as `scope.amount`. */
  faults: Map<string, string>;
  /** The typed texts, which the fields of the form then show again. */
  typed: Typed;
}

/** The refused form of a page that has several forms. */
export interface RefusedForm<Name extends string> {
  form: Name;
  refusal: Refusal;
}

/** Why the form with this name was refused; undefined if it is not the one that was sent. */
export function refusalAt<Name extends string>(refused: RefusedForm<Name> | undefined, form: Name) {
  return refused?.form === form ? refused.refusal : undefined;
}

/**
 * Loads a page of a list. If its filters are refused, the page is empty.
 * @throws Problem `invalid_cursor` if the list has no such page
 */
export async function listOrRefusal<T>(
  list: () => Promise<Page<T>>,
): Promise<{ page: Page<T>; refusal?: Refusal }> {
  try {
    return { page: await list() };
  } catch (error) {
    return { page: { data: [], has_more: false, next_cursor: null }, refusal: refusalOf(error) };
  }
}

/**
 * The problem with which an action failed, so that the form can be shown again; other errors are
 * thrown.
 * @param form the form, if its fields are to show what was typed
 */
export function refusalOf(error: unknown, form?: SentForm): Refusal {
  if (!(error instanceof Problem)) throw error;
  const { status } = PROBLEMS[error.code];
  if (status === 401 || status >= 500 || error.code === 'invalid_cursor') throw error;
  const errors: FieldError[] = error.options.errors ?? [];
  const faults = new Map<string, string>();
  for (const { path, message } of errors) {
    faults.set(path.replace(/^(body|query)\.?/, ''), message);
  }
  const isInvalid = error.code === 'invalid_request';
  return {
    detail: isInvalid ? 'Nothing was changed. Correct the marked fields.' : error.detail,
    status,
    faults,
    typed: form?.typed ?? {},
  };
}

/**
 * A hidden field with the state that a form shows, so that {@link requireUnchanged} notices a later
 * change.
 */
export function ShownState({ updatedAt }: { updatedAt: string }) {
  return <input type="hidden" name="updated_at" value={updatedAt} />;
}

/**
 * The fields that differ, as they are after a change. The order of a list has no meaning: check
 * boxes have none.
 */
export function changedFields<F extends Record<string, Json>>(before: F, after: F): Partial<F> {
  const isChanged = ([name, value]: [string, Json]) =>
    !equalJson(sorted(value), sorted(before[name] ?? null));
  return Object.fromEntries(Object.entries<Json>(after).filter(isChanged)) as Partial<F>;
}

function sorted(value: Json): Json {
  return Array.isArray(value) ? value.toSorted() : value;
}

/**
 * Refuses a form that was loaded before somebody else changed the object, so that it does not undo
 * that change unnoticed. The caller then shows the form again, and it can be sent once more.
 * @param updatedAt when the object was last changed
 * @param present the present values of the fields, in words
 * @param changes the fields that the form would change
 * @throws Problem `conflict`, which says what each field is now that the form would change
 */
export function requireUnchanged(
  what: string,
  form: SentForm,
  updatedAt: string,
  present: Record<string, string>,
  changes: object,
): void {
  if (form.text('updated_at') === updatedAt) return;
  const differing = Object.entries(present).filter(([name]) => Object.hasOwn(changes, name));
  throw new Problem('conflict', `${changedMeanwhile(what)} Check your changes and save again.`, {
    errors: differing.map(([name, text]) => ({
      path: `body.${name}`,
      message: text === '' ? 'is now empty' : `is now: ${toOneLine(text)}`,
    })),
  });
}

/**
 * Refuses to switch an object on if it was changed after the page with the button was loaded:
 * somebody may have switched it off for a reason that the page does not show. Switching off is
 * allowed from any page.
 * @throws Problem `conflict`
 */
export function requireUnchangedToActivate(what: string, form: SentForm, updatedAt: string): void {
  if (form.text('updated_at') === updatedAt) return;
  throw new Problem(
    'conflict',
    `${changedMeanwhile(what)} You see its present state: check it, and then do it again.`,
  );
}

function changedMeanwhile(what: string): string {
  return `The ${what} was changed since you opened the page.`;
}
