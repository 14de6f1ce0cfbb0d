import type { RouterRoute } from 'hono/types';
import { type Description, descriptionOf } from '../http/operation';

/** An operation of the API: where it is found, and all that its middlewares say of it. */
export interface CollectedOperation {
  method: string;
  /** As OpenAPI writes it: `/v1/agents/{id}`. */
  path: string;
  /** The name of the path's parameter, where it has one. */
  parameter: string | null;
  description: Description;
}

/** Puts together what the middlewares of each route say of it, in the order of the router's list. */
export function collectOperations(routes: readonly RouterRoute[]): CollectedOperation[] {
  const operations = new Map<string, CollectedOperation>();
  for (const { method, path, handler } of routes) {
    const part = descriptionOf(handler);
    if (!part) continue;
    const route = `${method} ${path}`;
    const before = operations.get(route)?.description;
    operations.set(route, {
      method: method.toLowerCase(),
      path: path.replace(/:(\w+)/g, '{$1}'),
      parameter: /:(\w+)/.exec(path)?.[1] ?? null,
      description: { ...before, ...part, problems: [...(before?.problems ?? []), ...(part.problems ?? [])] },
    });
  }
  return [...operations.values()];
}
