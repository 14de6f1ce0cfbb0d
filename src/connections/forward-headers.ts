import { invalidRequest } from '../errors';
import { listOf, plainText } from '../http/fields';
import { lazy } from '../lib/lazy';
import { HEADER_NAME, isNeverForwarded } from './header-names';

const MAX_HEADERS = 50;
const MAX_NAME_LENGTH = 128;

export const DEFAULT_FORWARD_HEADERS = ['Accept', 'Content-Type'];

/** The headers of agents that a connection sends on. */
export const forwardHeadersField = lazy(() =>
  listOf(
    plainText(MAX_NAME_LENGTH)
      .regex(HEADER_NAME, { error: 'must be the name of a header', abort: true })
      .refine((name) => !isNeverForwarded(name), 'is a header that is never sent on'),
    MAX_HEADERS,
    0,
  )
    .refine(
      (names) => new Set(names.map((name) => name.toLowerCase())).size === names.length,
      'must name each header once',
    )
    .meta({
      description:
        'The headers of the agent that are sent on. Not allowed are headers that hold a credential, frame the message or ' +
        'concern one connection only.',
    }),
);

/**
 * Refuses to send on a header of agents in which the connection sends its credential.
 * @throws Problem `invalid_request`
 */
export function requireNotCredential(names: readonly string[], authHeader: string | null): void {
  const header = authHeader?.toLowerCase();
  const errors = names.flatMap((name, i) => {
    if (name.toLowerCase() !== header) return [];
    return [
      {
        path: `body.forward_headers.${i}`,
        message: 'is the header of the connection’s credential',
      },
    ];
  });
  if (errors.length > 0) throw invalidRequest(errors);
}
