import { notFound } from '../errors';
import { type Id, type Prefix, parseId } from '../lib/typeid';

/**
 * Reads the identifier that `:id` in the path stands for.
 * @param noun what the refusal calls the thing
 * @throws Problem `not_found` for a text that is not an identifier of this kind
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
