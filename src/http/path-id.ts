import { notFound } from '../errors';
import { type Id, type Prefix, parseId } from '../lib/typeid';

/**
 * Reads the identifier `:id` in the path of a request.
 * @param noun what the problem calls the resource
 * @throws Problem `not_found` for a text that is not an identifier with this prefix
 */
export function pathId<P extends Prefix>(
  c: { req: { param(name: 'id'): string | undefined } },
  prefix: P,
  noun: string = prefix,
): Id<P> {
  const id = parseId(prefix, c.req.param('id') ?? '');
  if (!id) throw notFound(noun);
  return id;
}
