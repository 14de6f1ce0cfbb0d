import type { RouterRoute } from 'hono/types';
import { type Description, descriptionOf } from '../http/operation';

/** An operation of the API, as all middlewares of its route describe it. */
export interface CollectedOperation {
  /** In lower case. */
  method: string;
  /** In the form of OpenAPI, such as `/v1/agents/{id}`. */
  path: string;
  /** The name of the first parameter in the path; null without one. */
  parameter: string | null;
  description: Description;
}

/**
 * Collects the operations of the API: the routes whose middlewares have descriptions, in the order
 * of the router.
 */
export function collectOperations(routes: readonly RouterRoute[]): CollectedOperation[] {
  const operations = new Map<string, CollectedOperation>();
  for (const { method, path, handler } of routes) {
    const part = descriptionOf(handler);
    // The pages of the console are no API.
    if (!part || path.startsWith('/console')) continue;
    const route = `${method} ${path}`;
    const before = operations.get(route)?.description;
    operations.set(route, {
      method: method.toLowerCase(),
      path: path.replace(/:(\w+)/g, '{$1}'),
      parameter: /:(\w+)/.exec(path)?.[1] ?? null,
      description: {
        ...before,
        ...part,
        problems: [...(before?.problems ?? []), ...(part.problems ?? [])],
      },
    });
  }
  return [...operations.values()];
}
