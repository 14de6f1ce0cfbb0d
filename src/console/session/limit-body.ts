import { invalidRequest, Problem } from '../../errors';
import type { RequestContext } from '../../http/context';
import { readText } from '../../http/input';

const MAX_FORM_FIELDS = 5_000;

/**
 * Refuses a body that would cost too much, before anything parses it. Others can be read
 * afterwards.
 * @throws Problem `payload_too_large` over 1 MiB; `invalid_request` for a form with more than 5,000
 *   fields; `unsupported_media_type` for a form in several parts, which no page sends
 */
export async function limitBody(c: RequestContext): Promise<void> {
  const { url, method, headers, body } = c.req.raw;
  if (!body) return;
  const text = await readText(c.req.raw);
  const type = headers.get('Content-Type')?.split(';')[0]?.trim().toLowerCase();
  if (type === 'multipart/form-data') {
    throw new Problem(
      'unsupported_media_type',
      'Send the form as `application/x-www-form-urlencoded`.',
    );
  }
  const isForm = type === 'application/x-www-form-urlencoded';
  if (isForm && text.split('&', MAX_FORM_FIELDS + 1).length > MAX_FORM_FIELDS) {
    throw invalidRequest([{ path: 'body', message: 'must have at most 5,000 fields' }]);
  }
  c.req.raw = new Request(url, { method, headers, body: text });
}
