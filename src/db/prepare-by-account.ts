import { type SQL, sql } from 'drizzle-orm';
import type { Reader } from './database';
import { prepareQuery, type Query } from './statements';

/** SQL for a caller that has placeholders, and their values. */
interface Template {
  /** The number of the account. */
  account: SQL<number>;
  /** The id of the agent, member or user token. */
  callerId: SQL;
  values: Record<string, unknown>;
}

const templates = new WeakMap<SQL, Template>();

/**
 * Says that SQL for an account is a template with values for its placeholders. Queries by such an
 * account are prepared once for the template: see {@link prepareByAccount}.
 */
export function setTemplate(account: SQL<number>, template: Template): void {
  templates.set(account, template);
}

/**
 * Prepares a query on the data of an account, which may not be known yet: once for each template,
 * that is for each kind of credential. For other accounts it is built for each request.
 * @param build makes the query; it may have placeholders
 * @returns makes the query for an account with the values of its placeholders, by name, and for the
 *   id of the caller if the query needs it
 */
export function prepareByAccount<Q extends Query>(
  build: (select: Reader['select'], account: SQL<number>, callerId: SQL) => Q,
): (account: number | SQL<number>, values?: Record<string, unknown>, callerId?: SQL) => Q {
  const prepared = new WeakMap<SQL, (values: Record<string, unknown>) => Q>();
  return (account, values = {}, callerId = sql`null`) => {
    const known = typeof account === 'number' ? sql<number>`${account}` : account;
    const template = templates.get(known);
    if (!template) return prepareQuery((select) => build(select, known, callerId))(values);
    const query =
      prepared.get(template.account) ??
      prepareQuery((select) => build(select, template.account, template.callerId));
    prepared.set(template.account, query);
    return query({ ...template.values, ...values });
  };
}
