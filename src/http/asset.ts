import { Problem } from '../errors';
import type { RequestContext } from './context';

/**
 * Answers with a static file, or with 304 if the client has its current version.
 * @throws Problem `not_found`
 */
export async function sendAsset(
  c: RequestContext,
  url: URL,
  headers: Record<string, string>,
): Promise<Response> {
  const known = c.req.header('If-None-Match');
  const asset = await c.env.ASSETS.fetch(url, {
    headers: { ...(known !== undefined && { 'If-None-Match': known }) },
    redirect: 'manual',
  });
  if (asset.status !== 200 && asset.status !== 304)
    throw new Problem('not_found', 'There is nothing at this path.');
  const answer = new Response(asset.body, { status: asset.status, headers });
  for (const name of asset.status === 304 ? ['ETag'] : ['ETag', 'Content-Type']) {
    const value = asset.headers.get(name);
    if (value !== null) answer.headers.set(name, value);
  }
  return answer;
}
