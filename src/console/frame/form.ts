import type * as z from 'zod';
import { type FieldError, invalidRequest, PROBLEMS, Problem } from '../../errors';
import type { ConsoleContext } from '../session/access';

/** The texts that somebody typed into a form, by the name of the field. */
export type Typed = Record<string, string>;

/** A form that was sent. */
export interface Form {
  /** The text of a field; empty if the form has no such field. */
  text(name: string): string;
  /** All texts of a field that may occur several times, such as check boxes. */
  list(name: string): string[];
  has(name: string): boolean;
  /** The first text of each field, to show the form again. */
  typed: Typed;
}

/** Reads the form of a request. */
export async function readForm(c: Pick<ConsoleContext, 'req'>): Promise<Form> {
  const body = await c.req.parseBody({ all: true });
  const all = (name: string) => [body[name] ?? []].flat().filter((value) => typeof value === 'string');
  return {
    text: (name) => all(name)[0] ?? '',
    list: all,
    has: (name) => all(name).length > 0,
    typed: Object.fromEntries(Object.keys(body).map((name) => [name, all(name)[0] ?? ''])),
  };
}

/**
 * Checks what a form says with the schema of the API call that does the same.
 * @throws Problem `invalid_request` with the invalid fields, named as in the API
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidRequest(
    result.error.issues.map(({ path, message }) => ({ path: ['body', ...path.map(String)].join('.'), message })),
  );
}

/** Why a form was refused. */
export interface Refusal {
  detail: string;
  status: number;
  /** The reason by the name of the field, as the API names it, such as `scope.amount`. */
  faults: Map<string, string>;
}

/** The problem with which an action failed, so that the form can be shown again; other errors are thrown. */
export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof Problem)) throw error;
  const { status } = PROBLEMS[error.code];
  if (status === 401 || status >= 500) throw error;
  const errors: FieldError[] = error.options.errors ?? [];
  return {
    detail: error.code === 'invalid_request' ? 'Nothing was changed. Correct what is marked.' : error.detail,
    status,
    faults: new Map(errors.map(({ path, message }) => [path.replace(/^(body|query)\.?/, ''), message])),
  };
}
